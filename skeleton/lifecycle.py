"""What does a look at the traffic do to the skeleton that we have? forming -> trusted -> degraded -> stale.

Two structures *agree* when one has all edges of the other: more evidence resolves more, and what is not resolved is
kept as further pairs. Of two that agree the one with more edges is believed.
- Nothing is trusted on one look: two in a row must agree, on growing evidence, with enough confidence.
- A trusted skeleton stands while looks agree with it. It gives way to one with fewer edges, or to another that it
  does not agree with, only after two looks in a row agree on that.
- Traffic that has drifted away from it, and looks that find no rhythm, degrade it. Without support for ``stale_s`` it
  is stale: dropped, and evidence starts anew.
- Once trusted, it takes a little more to lose trust than it took to gain it, so that it does not flap.
"""

from __future__ import annotations

from dataclasses import replace

from schemas.instants import micros
from skeleton.inference import Inference, Structure
from skeleton.parameters import SkeletonParameters
from skeleton.state import JobState, Standing

FOUND = "found"
"""Code of a standing that rests on a structure."""

FLAP_MARGIN = 0.15
"""Confidence may fall this far below what gains trust before trust is lost."""


def take_look(state: JobState, look: Inference | None, t_us: int, parameters: SkeletonParameters) -> None:
    """Moves the job's skeleton on by one look; None: there was nothing to see."""
    if look is None or look.refusal:
        code = look.refusal if look is not None else "unobserved"
        reason = look.reason if look is not None else "no counters or bursts of this job were seen"
        _unsupported(state, Standing("forming", reason=reason, code=code, evidence=look.evidence if look else {}), t_us)
        if code == "drift":
            state.drifted, state.since_us, state.looked_us = True, t_us, t_us
    elif _was_trusted(state):
        _review(state, look, t_us, parameters)
    else:
        confirmed = state.standing.code == FOUND and agree(state.structure, look.structure)
        state.structure = larger(state.structure, look.structure) if confirmed else look.structure
        _support(state, look, t_us)
        state.candidate = None
        state.standing = _judge(look, False, confirmed, parameters)
    _retire(state, t_us, parameters)


def agree(one: Structure, other: Structure) -> bool:
    """Whether one has all edges of the other, of whatever kind."""
    mine, theirs = one.pairs(), other.pairs()
    return mine <= theirs or theirs <= mine


def larger(one: Structure, other: Structure) -> Structure:
    """The one with more edges; the second of equals, which rests on newer evidence."""
    return one if len(one.edges) > len(other.edges) else other


def _review(state: JobState, look: Inference, t_us: int, parameters: SkeletonParameters) -> None:
    """A look at the traffic of a job that has, or had, a trusted skeleton."""
    if look.structure.pairs() >= state.structure.pairs() and not state.drifted:
        state.candidate = None
        if look.structure.pairs() == state.structure.pairs() and not state.structure.is_resolved():
            state.structure = look.structure
        _support(state, look, t_us)
    elif state.candidate is not None and agree(state.candidate, look.structure):
        state.structure, state.candidate, state.drifted = larger(state.candidate, look.structure), None, False
        _support(state, look, t_us)
    else:
        if agree(state.structure, look.structure) and not state.drifted:
            _support(state, look, t_us)
        state.candidate = look.structure
    if state.supported_us == t_us:
        state.standing = _judge(look, True, True, parameters)


def _support(state: JobState, look: Inference, t_us: int) -> None:
    """Traffic agrees with the structure now."""
    state.supported_us = t_us
    if look.structure.edges == state.structure.edges or look.structure.pairs() == state.structure.pairs():
        state.fit = look.fit


def _was_trusted(state: JobState) -> bool:
    return state.standing.state in ("trusted", "degraded")


def _judge(look: Inference, was_trusted: bool, confirmed: bool, parameters: SkeletonParameters) -> Standing:
    needed = parameters.trust - (FLAP_MARGIN if was_trusted else 0.0)
    trusted = look.confidence >= needed and (confirmed or was_trusted)
    return Standing(
        state="trusted" if trusted else ("degraded" if was_trusted else "forming"),
        confidence=look.confidence,
        coverage=look.coverage,
        period_s=round(look.period.period_s, 3) if look.period else None,
        reason=look.reason,
        code=FOUND,
        evidence=look.evidence,
    )


def _unsupported(state: JobState, seen: Standing, t_us: int) -> None:
    state.candidate = None
    if not _was_trusted(state):
        state.structure = Structure()
        state.standing = seen if state.standing.state != "stale" else replace(seen, state="stale")
        state.supported_us = t_us
        return
    lost = min(state.standing.confidence, 0.5)
    state.standing = replace(
        state.standing, state="degraded", confidence=lost, reason=f"no longer supported: {seen.reason}", code=seen.code
    )


def _retire(state: JobState, t_us: int, parameters: SkeletonParameters) -> None:
    if _was_trusted(state) and t_us - state.supported_us > micros(parameters.stale_s):
        state.structure, state.candidate, state.since_us = Structure(), None, t_us
        state.fit, state.drifted = {}, False
        reason = f"not supported by traffic for {parameters.stale_s:g} s"
        state.standing = Standing("stale", reason=reason, code="stale")
