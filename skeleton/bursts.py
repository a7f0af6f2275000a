"""Which bursts did each endpoint send and receive? As reported by the hosts, in columns, bounded.

``heard`` is how far an endpoint's agent has reported: an empty message says "none", silence says nothing.
Memory: 24 bytes per burst within the window, at most ``MOST`` per endpoint (then the oldest go). Cost: about 1 us per
burst.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from schemas.telemetry import Burst, RnicBursts

MOST = 1024


@dataclass(slots=True)
class BurstSeries:
    """Bursts of one endpoint in order of report: start and end (us), bytes, whether sent (else received)."""

    start_us: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    end_us: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    size: NDArray[np.float64] = field(default_factory=lambda: np.empty(0, np.float64))
    sent: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, np.bool_))
    first_us: int | None = None
    heard_us: int = 0
    error_us: float = 0.0
    waiting: list[Burst] = field(default_factory=list)

    def settle(self, before_us: int) -> None:
        """Turns what waits into columns and drops bursts that ended before ``before_us``."""
        new, self.waiting = self.waiting, []
        if new:
            self.start_us = np.append(self.start_us, np.array([burst.start_us for burst in new], np.int64))
            self.end_us = np.append(self.end_us, np.array([burst.end_us for burst in new], np.int64))
            self.size = np.append(self.size, np.array([burst.bytes for burst in new], np.float64))
            self.sent = np.append(self.sent, np.array([burst.direction == "tx" for burst in new], np.bool_))
        keep = np.nonzero(self.end_us >= before_us)[0][-MOST:]
        if len(keep) < len(self.end_us):
            self.start_us, self.end_us = self.start_us[keep], self.end_us[keep]
            self.size, self.sent = self.size[keep], self.sent[keep]
        if self.first_us is not None:
            self.first_us = max(self.first_us, before_us)


@dataclass(slots=True)
class BurstLog:
    """Burst series by endpoint name."""

    series: dict[str, BurstSeries] = field(default_factory=dict)

    def add(self, message: RnicBursts) -> None:
        """Takes one message in."""
        series = self.series.setdefault(message.endpoint, BurstSeries())
        series.waiting.extend(message.bursts)
        if series.first_us is None:
            series.first_us = min((burst.start_us for burst in message.bursts), default=message.t_us)
        series.heard_us = max(series.heard_us, message.t_us)
        series.error_us = max(series.error_us, message.clock.error_us)

    def settle(self, names: tuple[str, ...] | None, before_us: int) -> None:
        """Columns up to date; forgets bursts before ``before_us`` and endpoints not in ``names`` (None:
        not known yet).
        """
        if names is not None:
            for name in self.series.keys() - set(names):
                del self.series[name]
        for series in self.series.values():
            series.settle(before_us)
