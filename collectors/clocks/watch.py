"""A part of the agent: follows the host's clock, and is asked for the ``Clock`` of every message.

Each ``period_s`` it looks for steps (by the two clocks of ``Now``) and asks the kernel; each ``ask_s`` it asks chrony
and pmc, those that are configured. A source that fails is no reason to fail: its last word grows old, and counts no
more after a while. That it cannot be asked is kept in ``troubles`` for the log.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from collectors.clocks.chrony import parse_tracking
from collectors.clocks.estimates import Estimate, Teller, clock_of
from collectors.clocks.kernel import KernelClock, judge_kernel_clock, read_kernel_clock
from collectors.clocks.ptp import PtpStatus, judge_ptp, parse_pmc, parse_ptp_log
from collectors.clocks.steps import Step, StepWatch
from collectors.commands import run
from collectors.observing import Now, Observed
from schemas.envelope import Clock

SECOND_US = 1_000_000
LOG_BYTES = 16_384


class ClockSources(Struct, frozen=True, kw_only=True):
    """Who is asked beside the kernel. ``chronyc``, ``pmc``: commands; ``ptp_log``: a log of ptp4l and phc2sys.

    ``vouched_us``: a bound that the operator vouches for where no source tells one, in a laboratory on one machine say.
    """

    chronyc: tuple[str, ...] | None = None
    pmc: tuple[str, ...] | None = None
    ptp_log: str | None = None
    vouched_us: float | None = None


class ClockWatch:
    """Follows one host's clock."""

    name = "clock"

    def __init__(
        self,
        host: str,
        sources: ClockSources | None = None,
        kernel: Callable[[], KernelClock] = read_kernel_clock,
        periods_s: tuple[float, float] = (1.0, 16.0),
    ) -> None:
        self._host, self._sources, self._kernel = host, sources or ClockSources(), kernel
        self.period_s, self._ask_s = periods_s
        self._estimates: dict[Teller, Estimate] = {}
        self._steps = StepWatch()
        self._asked_us: int | None = None
        self._newest_us = 0
        self.troubles: dict[str, str] = {}

    def clock(self, mono_us: int | None = None) -> Clock:
        """How far the clock may be off now (None: when it was asked last)."""
        at_us = self._newest_us if mono_us is None else mono_us
        found = clock_of(list(self._estimates.values()), at_us, self._steps.suspected_us)
        vouched_us = self._sources.vouched_us
        if found.source != "none" or vouched_us is None:
            return found
        return Clock(source="none", offset_us=0.0, error_us=vouched_us + abs(self._steps.suspected_us))

    def collect(self, now: Now) -> Iterator[Observed]:
        """Looks once; a step is told."""
        self._newest_us = now.mono_us
        step = self._steps.step(now.t_us, now.mono_us)
        if step is not None:
            self._estimates.clear()  # what was known of the offset is not true any more
            self._asked_us = None
        self._ask("kernel", lambda: judge_kernel_clock(self._kernel(), now.mono_us))
        if self._asked_us is None or now.mono_us - self._asked_us >= self._ask_s * SECOND_US:
            self._asked_us = now.mono_us
            self._ask_daemons(now)
        if step is not None:
            yield self._told(step, now)

    def _ask_daemons(self, now: Now) -> None:
        chronyc = self._sources.chronyc
        if chronyc is not None:
            self._ask("chrony", lambda: parse_tracking(run(chronyc, 3.0, 100_000).text, now.mono_us))
        if self._sources.pmc is not None or self._sources.ptp_log is not None:
            self._ask("ptp", lambda: self._ptp(now.mono_us))

    def _ptp(self, mono_us: int) -> Estimate:
        """The card's clock by pmc or the log, the host's by the log."""
        log = parse_ptp_log(_tail(self._sources.ptp_log)) if self._sources.ptp_log is not None else {}
        card: PtpStatus | None = log.get("ptp4l")
        if self._sources.pmc is not None:
            card = parse_pmc(run(self._sources.pmc, 3.0, 1_000_000).text)
        if card is None:
            raise ValueError("ptp: nobody tells an offset; ptp4l does not run, or refuses")
        return judge_ptp(card, log.get("phc2sys"), mono_us)

    def _ask(self, name: str, question: Callable[[], Estimate]) -> None:
        try:
            estimate = question()
        except (OSError, ValueError) as error:
            self.troubles[name] = str(error)
            return
        self._estimates[estimate.teller] = estimate
        self.troubles.pop(name, None)

    def _told(self, step: Step, now: Now) -> Observed:
        fields = {
            "device": f"clock:{self._host}",
            "event": "clock_step",
            "severity": "warning",
            "text": f"the clock was set by {step.by_us / 1e6:+.6f} s",
            "values": {"step_us": step.by_us},
        }
        return Observed("device-events", "device-events/clock", now.t_us, fields)


def _tail(path: str) -> str:
    """The end of a file."""
    with Path(path).open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - LOG_BYTES))
        return file.read(LOG_BYTES).decode(errors="replace")
