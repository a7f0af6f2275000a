"""What did each RNIC send and receive between its counter samples? Cumulative counters to increments, bounded.

An increment is the bytes since the sample before. It is unknown (NaN) across a reset: a counter that decreased, or a
new boot of the agent. A sample of which either counter could not be read is left out; the next good one covers the
time since the last. Samples that do not move forward in time (the clock was stepped back) are left out too.

Messages are kept as they came until ``settle`` turns them into columns, because appending to a list is what a fold can
afford per message; a few dozen at most. Memory: 16 bytes per sample and RNIC within the window, plus these messages.
Cost: about 2 us per RNIC and message, and what ``skeleton.settling`` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schemas.telemetry import RnicColumns, RnicCounters
from skeleton.settling import COMPARED, LEAST_SELDOM, MOST_SELDOM, settle_all

MOST_WAITING = 24
"""So many messages of an RNIC are kept as they came."""

LEAST_COMPARED, REGULARLY = 8, 0.85
"""From so many samples on they tell how often counters are refreshed; so regularly must bytes show."""


class Samples(NamedTuple):
    """Instants (us) and bytes sent and received since the sample before (NaN = unknown)."""

    t_us: NDArray[np.int64]
    tx: NDArray[np.float32]
    rx: NDArray[np.float32]


@dataclass(slots=True)
class CounterSeries:
    """Samples of one RNIC: instants (us) and bytes sent and received since the sample before (NaN = unknown).

    ``error_us`` bounds the error of its clock. ``seldom``: whether its counters are refreshed less often than sampled,
    None: to be found out.
    """

    t_us: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    tx: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    rx: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    error_us: float = 0.0
    last: tuple[int, float, float, str] | None = None
    waiting: list[tuple[str, RnicColumns]] = field(default_factory=list)
    seldom: bool | None = None

    def settle(self) -> None:
        """Turns the waiting messages into columns."""
        waiting, self.waiting = self.waiting, []
        start = 0
        for end in range(1, len(waiting) + 1):
            if end == len(waiting) or waiting[end][0] != waiting[start][0]:
                self._extend(waiting[start][0], [columns for _, columns in waiting[start:end]])
                start = end

    def _extend(self, boot: str, columns: list[RnicColumns]) -> None:
        samples = _read(columns, self.last)
        if not samples.shape[1]:
            return
        steps = samples[1:, 1:] - samples[1:, :-1]
        backwards = (steps < 0).any(axis=0)
        if backwards.any():
            steps[:, backwards] = np.nan
        if self.last is None:
            steps = np.concatenate([np.full((2, 1), np.nan), steps], axis=1)
        elif steps.shape[1] and boot != self.last[3]:
            steps[:, 0] = np.nan
        new, self.seldom = samples[0, samples.shape[1] - steps.shape[1] :], None
        self.t_us = np.concatenate([self.t_us, new.astype(np.int64)])
        self.tx = np.concatenate([self.tx, steps[0].astype(np.float32)])
        self.rx = np.concatenate([self.rx, steps[1].astype(np.float32)])
        if steps.shape[1]:
            self.last = (int(samples[0, -1]), float(samples[1, -1]), float(samples[2, -1]), boot)

    def fresh(self) -> Samples:
        """The samples without those at which the counters had not been refreshed.

        Some drivers refresh their counters every other second only. Then every other increment is 0, and traffic of any
        kind seems to have a period of two seconds. A counter is taken for one of these when bytes show regularly every
        second or third sample and hardly ever in two samples in a row.
        """
        if self.seldom is None:
            self.seldom = _seldom_moves((self.tx[-COMPARED:] != 0) | (self.rx[-COMPARED:] != 0))
        if not self.seldom:
            return Samples(self.t_us, self.tx, self.rx)
        kept = (self.tx != 0) | (self.rx != 0)
        return Samples(self.t_us[kept], self.tx[kept], self.rx[kept])

    def forget(self, before_us: int) -> None:
        """Drops samples older than ``before_us``."""
        first = int(np.searchsorted(self.t_us, before_us))
        if first:
            self.t_us, self.tx, self.rx = self.t_us[first:].copy(), self.tx[first:].copy(), self.rx[first:].copy()
            self.seldom = None


def _seldom_moves(moved: NDArray[np.bool_]) -> bool:
    """Whether bytes show regularly every second or third sample only."""
    places = np.nonzero(moved)[0]
    if len(moved) < LEAST_COMPARED or not LEAST_SELDOM <= len(places) / len(moved) <= MOST_SELDOM:
        return False
    gaps = np.sort(places[1:] - places[:-1])
    if not len(gaps):
        return False
    usual = int(gaps[(len(gaps) - 1) // 2] + gaps[len(gaps) // 2]) // 2
    return 2 <= usual <= 3 and int(np.count_nonzero(gaps == usual)) / len(gaps) >= REGULARLY


def _read(columns: Sequence[RnicColumns], last: tuple[int, float, float, str] | None) -> NDArray[np.float64]:
    """Instants, bytes sent and bytes received of the samples that are known and later than all before them, (3, n),
    beginning with the last one known before.
    """
    begin = last[:3] if last is not None else ()
    values: list[float | None] = []
    for side, name in enumerate(("t_us", "tx_bytes", "rx_bytes")):
        values += begin[side : side + 1]
        values += chain.from_iterable([getattr(part, name) for part in columns])
    samples = np.array(values, dtype=np.float64).reshape(3, -1)
    unknown = np.isnan(samples).any(axis=0)
    if unknown.any():
        samples = samples[:, ~unknown]
    forward = _moves_forward(samples[0])
    return samples if forward.all() else samples[:, forward]


def _moves_forward(t_us: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which samples are later than all before them."""
    if not len(t_us):
        return np.zeros(0, dtype=bool)
    latest = np.maximum.accumulate(t_us)
    return np.concatenate([[True], t_us[1:] > latest[:-1]])


@dataclass(slots=True)
class CounterLog:
    """Counter series by endpoint name."""

    series: dict[str, CounterSeries] = field(default_factory=dict)

    def add(self, message: RnicCounters) -> None:
        """Takes one message in."""
        container, boot, error_us = message.container, message.producer.boot, message.clock.error_us
        full = []
        for columns in message.rnics:
            name = f"{container}/{columns.rnic}"
            series = self.series.get(name)
            if series is None:
                series = self.series[name] = CounterSeries()
            series.waiting.append((boot, columns))
            if len(series.waiting) >= MOST_WAITING:
                full.append(series)
            series.error_us = max(series.error_us, error_us)
        settle_all(full, 0)

    def settle(self, names: tuple[str, ...] | None, before_us: int) -> None:
        """Columns up to date; forgets samples before ``before_us`` and RNICs not in ``names`` (None: not known yet)."""
        if names is not None:
            for name in self.series.keys() - set(names):
                del self.series[name]
        settle_all(self.series.values(), before_us)

    def __reduce__(self) -> tuple[Callable[..., CounterLog], tuple[object, ...]]:
        """Pickles as two columns of all RNICs, which takes a quarter of the time of two for each; of instants that
        several RNICs share there is one column, as here. Further counters of waiting messages are left out."""
        every = list(self.series.values())
        instants = [one.t_us for one in every]
        sides = tuple(np.concatenate(side) for side in ([s.tx for s in every], [s.rx for s in every]) if side)
        kept = [(one.error_us, one.last, one.seldom) for one in every]
        waiting = [[(boot, c.rnic, c.t_us, c.tx_bytes, c.rx_bytes) for boot, c in one.waiting] for one in every]
        return _unpickled, (list(self.series), instants, sides, kept, waiting)


def _unpickled(
    names: Sequence[str],
    instants: Sequence[NDArray[np.int64]],
    sides: Sequence[NDArray[np.float32]],
    kept: Sequence[tuple[float, tuple[int, float, float, str] | None, bool | None]],
    waiting: Sequence[Sequence[tuple[str, str, tuple[int, ...], tuple[int | None, ...], tuple[int | None, ...]]]],
) -> CounterLog:
    """The log, from what ``__reduce__`` made of it."""
    log = CounterLog()
    bounds = pairwise(accumulate(map(len, instants), initial=0))
    for name, t_us, (begin, end), known, late in zip(names, instants, bounds, kept, waiting, strict=True):
        error_us, last, seldom = known
        new = [(boot, RnicColumns(rnic=r, t_us=at, tx_bytes=sent, rx_bytes=got)) for boot, r, at, sent, got in late]
        tx, rx = (side[begin:end] for side in sides)
        log.series[name] = CounterSeries(t_us, tx, rx, error_us, last, new, seldom)
    return log
