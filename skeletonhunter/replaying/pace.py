"""How fast may a replay go? Event time at most ``speed`` times as fast as the wall clock; None = as fast as it can."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Pace:
    """Waits so that event time doesn't outrun ``speed`` x wall time, counted from the first call."""

    speed: float | None
    now_s: Callable[[], float] = time.monotonic
    wait: Callable[[float], None] = time.sleep
    begun: tuple[float, int] | None = None

    def keep(self, event_us: int) -> None:
        """Event time has come to ``event_us``."""
        if self.speed is None:
            return
        if self.begun is None:
            self.begun = (self.now_s(), event_us)
        began_s, began_us = self.begun
        ahead_s = (event_us - began_us) / 1e6 / self.speed - (self.now_s() - began_s)
        if ahead_s > 0:
            self.wait(ahead_s)
