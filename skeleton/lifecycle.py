"""What does a look at the traffic do to the skeleton that we have? forming -> trusted -> degraded -> stale.

- Nothing is trusted on one look: a structure must be found twice in a row, on growing evidence, with enough confidence.
- A trusted skeleton gives way to another structure only after that was found twice; until then it stands.
- Looks that do not support it degrade it; without support for ``stale_s`` it is stale: dropped, and evidence starts
anew.
- Once trusted, it takes a little more to lose trust than it took to gain it, so that it does not flap.
"""

from __future__ import annotations

from dataclasses import replace

from schemas.instants import micros
from skeleton.inference import Inference, Structure
from skeleton.parameters import SkeletonParameters
from skeleton.state import JobState, Standing

FLAP_MARGIN = 0.15
"""Confidence may fall this far below what gains trust before trust is lost."""


def take_look(state: JobState, look: Inference | None, t_us: int, parameters: SkeletonParameters) -> None:
    """Moves the job's skeleton on by one look; None: there was nothing to see."""
    if look is None or look.refusal:
        code = look.refusal if look is not None else "unobserved"
        reason = look.reason if look is not None else "no counters or bursts of this job were seen"
        _unsupported(state, Standing("forming", reason=reason, code=code, evidence=look.evidence if look else {}), t_us)
    elif look.structure == state.structure:
        state.candidate = None
        state.supported_us = t_us
        state.standing = _judge(look, _was_trusted(state), state.standing.code == "found", parameters)
    elif not _was_trusted(state):
        state.structure, state.candidate, state.supported_us = look.structure, None, t_us
        state.standing = _judge(look, False, False, parameters)
    elif look.structure == state.candidate:
        state.structure, state.candidate, state.supported_us = look.structure, None, t_us
        state.standing = _judge(look, True, True, parameters)
    else:
        state.candidate = look.structure
    _retire(state, t_us, parameters)


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
        code="found",
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
        reason = f"not supported by traffic for {parameters.stale_s:g} s"
        state.standing = Standing("stale", reason=reason, code="stale")
