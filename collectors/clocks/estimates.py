"""What do the sources of time add up to? One ``Clock``: source, offset (clock less reference), bound of what remains;
us.

Each source gives an ``Estimate`` that was true at an instant. Since then its bound has grown by ``DRIFT_PPM`` (a
quartz that nobody corrects; more, if the source says that it is less sure): error = error then + age * (drift + skew).
A source that has said nothing for ``STALE_S`` counts no more. PTP is preferred to NTP, the daemon's word to the
kernel's; without any the source is ``none`` and the bound is what the kernel says, or ``NOTHING_US``: a host that
nobody corrects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from schemas.envelope import Clock

DRIFT_PPM = 15.0
STALE_S = 300.0
NOTHING_US = 16_000_000.0
FURTHEST_US = 1e15
Teller = Literal["ptp", "chrony", "kernel"]
_PREFERENCE: dict[Teller, int] = {"ptp": 0, "chrony": 1, "kernel": 2}


class Estimate(Struct, frozen=True, kw_only=True):
    """What one source says. ``at_us``: on the monotonic clock; ``synced``: whether somebody corrects the clock."""

    teller: Teller
    at_us: int
    synced: bool
    offset_us: float
    error_us: float
    skew_ppm: float = 0.0

    def bound_us(self, mono_us: int) -> float:
        """Bound of the error now."""
        age_us = max(0, mono_us - self.at_us)
        return min(FURTHEST_US, self.error_us + age_us * (DRIFT_PPM + self.skew_ppm) * 1e-6)


def clock_of(estimates: Iterable[Estimate], mono_us: int, suspected_us: float = 0.0) -> Clock:
    """The clock by the best source; ``suspected_us``: a step that is not confirmed yet widens the bound."""
    fresh = [each for each in estimates if mono_us - each.at_us <= STALE_S * 1e6]
    good = sorted((each for each in fresh if each.synced), key=lambda each: _PREFERENCE[each.teller])
    if good:
        best = good[0]
        source: Literal["ptp", "ntp"] = "ptp" if best.teller == "ptp" else "ntp"
        return Clock(source=source, offset_us=best.offset_us, error_us=best.bound_us(mono_us) + abs(suspected_us))
    worst = max((each.bound_us(mono_us) for each in fresh), default=0.0)
    return Clock(source="none", offset_us=0.0, error_us=max(NOTHING_US, worst) + abs(suspected_us))
