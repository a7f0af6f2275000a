"""Which pairs does the job exercise now? The fold from endpoint maps, counters and bursts to versions of the skeleton.

Messages are only stored; the traffic is looked at when there is new evidence: every ``evidence_s`` at first, then less
and less often as the evidence grows (by a tenth), every ``review_s`` once a skeleton is trusted, and then in full only
when the evidence has grown by half or the window has moved on by a seventh: in between, whether the newest traffic
still repeats and still fits the skeleton (``inference.doubt``). Traffic that no longer fits has drifted: the skeleton
is degraded at once, and what replaces it rests on evidence from then on. So does what follows a new endpoint map with
other endpoints or other degrees of parallelism. Users may switch a job off or add pairs (``overrides``).

Which version is sent when: ``publishing``. Who stops reporting is told within the second: ``reporting``.
Cost per look: about 10 ms for 128 RNICs and 6 minutes.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas.folding import Emission, Event, Observation, Remains
from schemas.instants import micros
from schemas.maps import EndpointMap
from schemas.skeletons import SkeletonOverride
from schemas.telemetry import RnicBursts, RnicCounters
from skeleton.bursts import BurstLog
from skeleton.counters import CounterLog
from skeleton.inference import Expectation, Inference, Logs, Structure, doubt, infer
from skeleton.lifecycle import take_look
from skeleton.membership import Membership, read_membership
from skeleton.overrides import Wish, read_wish
from skeleton.parameters import SkeletonParameters
from skeleton.publishing import material, next_update
from skeleton.reporting import tell_gaps
from skeleton.state import JobState, Standing


class SkeletonEngine:
    """Implements ``schemas.folding.Engine``."""

    def __init__(self, parameters: SkeletonParameters) -> None:
        self.parameters = parameters

    def start(self, key: str) -> JobState:
        """The state before the first event of a job."""
        return JobState(key)

    def remains(self, state: JobState) -> Remains:
        """The last version, and what users want."""
        return Remains(version=state.version, wish=state.override)

    def resume(self, key: str, remains: Remains) -> JobState:
        """A job that comes back: its next version is one more than its last."""
        return JobState(key, version=remains.version, override=remains.wish)

    def step(self, state: JobState, event: Event) -> tuple[JobState, Sequence[Emission]]:
        """Stores what was observed; looks at it when time has come."""
        if not isinstance(event, Observation):
            return state, [*self._on_time(state, event.t_us), *_on_reports(state, event.t_us)]
        value = event.value
        if isinstance(value, EndpointMap):
            return state, self._on_map(state, value)
        if isinstance(value, SkeletonOverride):
            return state, self._on_override(state, value)
        logged = state.standing.state != "disabled"
        if isinstance(value, RnicCounters):
            state.reports.hear_counters(value)
            if logged:
                state.counters.add(value)
        elif isinstance(value, RnicBursts):
            state.reports.hear_bursts(value)
            if logged:
                state.bursts.add(value)
        return state, ()

    def _on_map(self, state: JobState, value: EndpointMap) -> Sequence[Emission]:
        new, old = read_membership(value), state.membership
        if old is not None and new.version < old.version:
            return ()
        state.fabric, state.tenant, state.membership = value.fabric, value.tenant, new
        state.ended = value.state == "ended"
        wish = self._wish(state)
        if state.ended:
            _restart(state, value.t_us, Standing("stale", reason="the job has ended", code="ended"))
        elif old is None or not new.same_job(old) or state.standing.code == "ended":
            reason = "evidence is being gathered" if old is None else f"{new.change(old)}, fresh evidence is needed"
            _restart(state, value.t_us, _beginning(wish, reason))
        state.reports.settle(new, state.ended, value.t_us)
        if old is None or new != old or state.ended:
            return next_update(state, new, wish, value.t_us)
        return ()

    def _on_override(self, state: JobState, value: SkeletonOverride) -> Sequence[Emission]:
        if state.override is not None and value.version < state.override.version:
            return ()
        old, state.override = self._wish(state), value
        wish = self._wish(state)
        if bool(wish.disabled) != bool(old.disabled) and not state.ended:
            state.counters, state.bursts = CounterLog(), BurstLog()
            _restart(state, value.t_us, _beginning(wish, "switched on again, evidence is being gathered"))
        if state.membership is None or wish == old:
            return ()
        return next_update(state, state.membership, wish, value.t_us)

    def _wish(self, state: JobState) -> Wish:
        return read_wish(state.job, state.override, self.parameters)

    def _on_time(self, state: JobState, t_us: int) -> Sequence[Emission]:
        if state.due_us is None:
            state.due_us = t_us + micros(self.parameters.evidence_s)
        if t_us < state.due_us:
            return ()
        before_us = t_us - micros(self.parameters.window_s)
        names = state.membership.names if state.membership is not None else None
        state.counters.settle(names, before_us)
        state.bursts.settle(names, before_us)
        sent: Sequence[Emission] = ()
        if state.membership is not None and not state.ended and state.standing.state != "disabled":
            sent = self._look(state, state.membership, t_us)
        state.due_us = t_us + self._pause_us(state, t_us)
        return sent

    def _look(self, state: JobState, membership: Membership, t_us: int) -> Sequence[Emission]:
        was = state.structure, state.standing
        logs = Logs(state.counters, state.bursts)
        look: Inference | None = None
        if state.standing.state in ("trusted", "degraded") and not state.drifted:
            expected = Expectation(state.structure, state.fit, state.standing.period_s)
            look = doubt(logs, membership, self._fresh_us(state, t_us), expected, self.parameters)
            if look is None and state.standing.state == "trusted" and not self._full_look_due(state, t_us):
                state.supported_us = t_us
                return ()
        if look is None:
            state.looked_us = t_us
            look = infer(logs, membership, self._since_us(state, t_us), self.parameters)
        take_look(state, look, t_us, self.parameters)
        return next_update(state, membership, self._wish(state), t_us) if material(*was, state) else ()

    def _pause_us(self, state: JobState, t_us: int) -> int:
        """How much new evidence the next look should have."""
        if state.standing.state == "trusted":
            return micros(self.parameters.review_s)
        half_a_period_us = micros((state.standing.period_s or 0.0) / 2.0)
        return max(micros(self.parameters.evidence_s), half_a_period_us, (t_us - self._since_us(state, t_us)) // 10)

    def _full_look_due(self, state: JobState, t_us: int) -> bool:
        if state.candidate is not None:
            return True
        grown = (t_us - self._since_us(state, t_us)) >= 1.5 * max(state.looked_us - state.since_us, 1)
        return grown or t_us - state.looked_us >= micros(self.parameters.window_s) // 7

    def _since_us(self, state: JobState, t_us: int) -> int:
        """From when on there is evidence."""
        return max(state.since_us, t_us - micros(self.parameters.window_s))

    def _fresh_us(self, state: JobState, t_us: int) -> int:
        """From when on the newest traffic is looked at: eight periods, at least two minutes."""
        period_s = state.standing.period_s or 0.0
        return max(state.since_us, t_us - micros(max(8.0 * period_s, 120.0)))


def _on_reports(state: JobState, t_us: int) -> Sequence[Emission]:
    """Says whose reports are missing, if that has changed."""
    now = state.reports.close_second(state.membership, t_us)
    return tell_gaps(state.reports, now, (state.fabric, state.job, state.tenant), t_us) if now is not None else ()


def _beginning(wish: Wish, reason: str) -> Standing:
    """How a job stands of which nothing is known yet."""
    if wish.disabled:
        return Standing("disabled", reason=wish.disabled, code="disabled")
    return Standing("forming", reason=reason, code="new_map")


def _restart(state: JobState, t_us: int, standing: Standing) -> None:
    state.since_us, state.looked_us, state.supported_us, state.due_us = t_us, t_us, t_us, None
    state.structure, state.candidate, state.standing = Structure(), None, standing
    state.fit, state.drifted = {}, False
