"""How far may this host's clock be off, as its agent sees it, and is that good enough to be joined with others?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from collectors.agent_settings import AgentSettings
from collectors.clocks.kernel import KernelClock, read_kernel_clock
from collectors.clocks.watch import ClockSources, ClockWatch
from collectors.observing import Now
from skeletonhunter.doctor.findings import Finding, failed, ok, warning

FIX = "Run chrony or ptp4l and phc2sys, and tell the agent of them in [clock]: chronyc, pmc or ptp_log."


def check_clock(
    settings: AgentSettings, bound_s: float, kernel: Callable[[], KernelClock] = read_kernel_clock
) -> Iterator[Finding]:
    """The clock, against the bound beyond which localization leaves a clock's data out."""
    asked = settings.clock
    sources = ClockSources(
        chronyc=asked.chronyc or None,
        pmc=asked.pmc or None,
        ptp_log=asked.ptp_log or None,
        vouched_us=asked.vouched_us or None,
    )
    watch = ClockWatch(settings.agent.host or "this host", sources, kernel)
    list(watch.collect(Now(time.time_ns() // 1000, time.monotonic_ns() // 1000)))
    clock = watch.clock()
    for name, trouble in watch.troubles.items():
        yield warning("clock", f"{name} does not answer: {trouble}", FIX)
    told = f"source {clock.source}, offset {clock.offset_us:.1f} us, off by at most {clock.error_us:.0f} us"
    if clock.error_us > bound_s * 1e6:
        said = f"{told}; beyond {bound_s:g} s (parameters.localization.clock_bound_s) its data is left out of joins"
        yield failed("clock", said, FIX)
    elif clock.source == "none" and not asked.vouched_us:
        yield warning("clock", f"{told}: nothing disciplines it", FIX)
    else:
        yield ok("clock", told)
