"""How is the agent itself doing? A heartbeat on ``agent-health``, and the same at once when it was starved.

*Starved* means that timers were later than ``STARVED_S``: the process was stopped, had no processor, or one of its
parts held everything up; probes were not sent on time and replies not read. It is said in the first turn afterwards,
with the worst lag, and kept for ``HELD_S``: what was measured in that time is still being judged then. *Throttled*
means that the agent stretches its intervals because it used more than its budget (``throttling``). ``starved`` goes
before it.

``cpu_percent`` is the share of one core since the last heartbeat, ended children included. ``dropped`` counts messages
since the agent began: what the publisher gave up, and what parts say that they dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct

from collectors.observing import Now, Observed, SelfReport
from collectors.throttling import Ladder, judge
from collectors.vitals import processor_s, resident_bytes
from schemas.instants import SECOND_US

STREAM = "agent-health"
STARVED_S = 0.5
HELD_S = 30.0

State = Literal["ok", "throttled", "starved", "stopping"]


class HealthPlan(Struct, frozen=True, kw_only=True):
    """Who the agent is, and what it may use."""

    agent: str
    host: str
    heartbeat_s: float
    budget_percent: float


class Health:
    """The part that reports on all others; ``lag_us`` gives the worst lag since it was asked last."""

    name = STREAM

    def __init__(
        self,
        plan: HealthPlan,
        lag_us: Callable[[], int],
        dropped: Callable[[], int],
        reports: Callable[[], Sequence[SelfReport]],
        processor: Callable[[], float] = processor_s,
    ) -> None:
        self.plan = plan
        self.ladder = Ladder()
        self._lag_us, self._dropped, self._reports, self._processor = lag_us, dropped, reports, processor
        self._measured: tuple[int, float] | None = None
        self._worst_us = 0
        self._starved_until_us = 0
        self._told_us = -SECOND_US
        self.starved_us = 0

    @property
    def period_s(self) -> float:
        """The heartbeat keeps its rhythm whatever the load."""
        return self.plan.heartbeat_s

    def check(self, now: Now) -> bool:
        """Looks at the lag; True: the agent was starved since the last look, and should say so now."""
        lag_us = self._lag_us()
        self._worst_us = max(self._worst_us, lag_us)
        if lag_us < STARVED_S * SECOND_US:
            return False
        is_known = now.mono_us < self._told_us + SECOND_US and lag_us <= self.starved_us  # one stop, many late timers
        self._told_us = self._told_us if is_known else now.mono_us
        self.starved_us = lag_us if now.mono_us >= self._starved_until_us else max(lag_us, self.starved_us)
        self._starved_until_us = now.mono_us + round(HELD_S * SECOND_US)
        return not is_known

    def collect(self, now: Now) -> Iterable[Observed]:
        """The heartbeat, which also takes the measurement for the ladder."""
        self.check(now)
        cpu_percent = self._measure(now)
        if cpu_percent is not None:
            self.ladder = judge(self.ladder, cpu_percent, self.plan.budget_percent)
        yield self.observe(now, cpu_percent)
        self._worst_us = 0

    def state(self, now: Now) -> State:
        """How the agent is doing while it runs."""
        return self._state(now)

    def observe(self, now: Now, cpu_percent: float | None = None, is_stopping: bool = False) -> Observed:
        """How the agent is doing."""
        reports = self._reports()
        gids = {endpoint: gid for report in reports for endpoint, gid in report.gids.items()}
        watches = [report.watches for report in reports if report.watches is not None]
        versions = [report.plan_version for report in reports if report.plan_version is not None]
        fields = {
            "agent": self.plan.agent,
            "host": self.plan.host,
            "covers": sorted({endpoint for report in reports for endpoint in report.covers}),
            "state": "stopping" if is_stopping else self._state(now),
            "cpu_percent": cpu_percent,
            "rss_bytes": resident_bytes(),
            "send_lag_us": float(self.starved_us if self._is_starved(now) else self._worst_us),
            "dropped": self._dropped() + sum(report.dropped for report in reports),
            "gids": gids or None,
            "plan_version": max(versions, default=None),
            "watches": sorted(set().union(*watches)) if watches else None,
        }
        return Observed(topic=STREAM, stream=STREAM, t_us=now.t_us, fields=fields)

    def _is_starved(self, now: Now) -> bool:
        return now.mono_us < self._starved_until_us

    def _state(self, now: Now) -> State:
        if self._is_starved(now):
            return "starved"
        return "throttled" if self.ladder.step else "ok"

    def _measure(self, now: Now) -> float | None:
        used_s = self._processor()
        before, self._measured = self._measured, (now.mono_us, used_s)
        if before is None or now.mono_us <= before[0]:
            return None
        return round(100.0 * (used_s - before[1]) / ((now.mono_us - before[0]) / SECOND_US), 3)
