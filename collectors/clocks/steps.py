"""Was the clock stepped? A fold over pairs of readings of the host's clock and of the monotonic one.

Both run at the same rate on Linux (slewing changes both), so their difference changes by steps alone. One pair of
readings may be torn apart when the process is stopped between them, so a change counts only if the next reading has it
too; until then it is ``suspected``. A step is more than ``LEAST_US``: less is within what two readings differ by on a
busy host.
"""

from __future__ import annotations

from msgspec import Struct

LEAST_US = 5_000


class Step(Struct, frozen=True):
    """The clock was set by ``by_us`` (positive: forward), and showed ``t_us`` when that was first seen."""

    t_us: int
    by_us: int


class StepWatch:
    """Follows a clock."""

    def __init__(self, least_us: int = LEAST_US) -> None:
        self._least_us = least_us
        self._difference: int | None = None
        self._suspected: Step | None = None

    @property
    def suspected_us(self) -> int:
        """By how much the clock may have been set; 0: nothing is suspected."""
        return self._suspected.by_us if self._suspected is not None else 0

    def step(self, t_us: int, mono_us: int) -> Step | None:
        """Takes a pair of readings; a step that they confirm."""
        difference = t_us - mono_us
        if self._difference is None:
            self._difference = difference
            return None
        by_us = difference - self._difference
        suspected, self._suspected = self._suspected, None
        if abs(by_us) <= self._least_us:
            return None
        if suspected is not None and abs(by_us - suspected.by_us) <= self._least_us:
            self._difference = difference
            return Step(suspected.t_us, by_us)
        self._suspected = Step(t_us, by_us)
        return None
