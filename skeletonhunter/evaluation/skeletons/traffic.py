"""What did a job's RNICs send and receive? Counters and bursts of a recording, kept to be drawn.

Rates are Gb/s on a grid of one second, from cumulative counters by linear interpolation; a reset, and a gap of more
than ``GAP_S``, leave nan. Memory: all samples and bursts of the recording.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from schemas.envelope import Value
from schemas.instants import SECOND_US
from schemas.maps import EndpointMap
from schemas.telemetry import Burst, RnicBursts, RnicCounters
from skeletonhunter.evaluation.skeletons.truths import Seats, seats_of

FloatArray = NDArray[np.float64]
GAP_S = 5.0
GBPS = 8e-9


class JobTraffic(Struct):
    """One job: samples (t_us, tx bytes) and bursts by endpoint, and where the endpoints are."""

    seats: Seats | None = None
    samples: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    bursts: dict[str, list[Burst]] = field(default_factory=dict)

    def rates(self, names: Sequence[str]) -> tuple[int, FloatArray]:
        """First instant (us) and Gb/s sent, shape (endpoints, seconds); no sample at all gives no seconds."""
        known = [sorted(self.samples.get(name, ())) for name in names]
        ends = [(rows[0][0], rows[-1][0]) for rows in known if rows]
        if not ends:
            return 0, np.zeros((len(names), 0))
        start_us = min(first for first, _ in ends)
        grid = np.arange(start_us, max(last for _, last in ends) + 1, SECOND_US, dtype=float)
        return start_us, np.array([_rate(rows, grid) for rows in known])


class TrafficCollector(Struct):
    """Takes note of every job's traffic."""

    jobs: dict[str, JobTraffic] = field(default_factory=dict)

    def observe(self, _topic: str, key: str, _arrival_us: int, value: Value) -> None:
        """Takes note of a message."""
        if isinstance(value, EndpointMap):
            self._job(key).seats = seats_of(value)
        elif isinstance(value, RnicBursts):
            self._job(key).bursts.setdefault(value.endpoint, []).extend(value.bursts)
        elif isinstance(value, RnicCounters):
            for column in value.rnics:
                rows = zip(column.t_us, column.tx_bytes, strict=True)
                kept = self._job(key).samples.setdefault(f"{value.container}/{column.rnic}", [])
                kept.extend((t_us, tx) for t_us, tx in rows if tx is not None)

    def _job(self, key: str) -> JobTraffic:
        return self.jobs.setdefault(key, JobTraffic())


def _rate(rows: Sequence[tuple[int, int]], grid: FloatArray) -> FloatArray:
    """Gb/s in the second after each instant of the grid but the last."""
    if len(rows) < 2:
        return np.full(len(grid) - 1, np.nan)
    at, total = np.array(rows, dtype=float).T
    moved = np.diff(total)
    unknown = (moved < 0) | (np.diff(at) > GAP_S * SECOND_US)
    knots = np.concatenate([[0.0], np.cumsum(np.where(unknown, 0.0, moved))])
    rate = np.diff(np.interp(grid, at, knots)) * GBPS
    place = np.searchsorted(at, grid[:-1] + SECOND_US / 2.0) - 1
    outside = (place < 0) | (place >= len(unknown))
    hidden = outside | unknown[np.clip(place, 0, len(unknown) - 1)]
    return np.where(hidden, np.nan, rate)
