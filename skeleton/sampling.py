"""Which endpoints were sampled at the same instants, and what moved between those instants?

Comparing two RNICs to the byte needs samples taken together: between 13:07:05.0 and 13:07:05.3 a busy RNIC moves
gigabytes. RNICs that one collector polls share its instants; those of different collectors do not.
Cost: O(samples) per endpoint.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from skeleton.counters import CounterLog, CounterSeries

FloatArray = NDArray[np.float64]

TOGETHER_US = 2_000
"""Clocks of hosts are off by tens of microseconds; polls of different collectors are hundreds of milliseconds apart."""

COMPARED = 48
"""So many of the newest samples decide who is polled together."""

_NONE: NDArray[np.int64] = np.empty(0, np.int64)


def poll_clocks(counters: CounterLog, names: Sequence[str]) -> list[int]:
    """A number per endpoint, equal for endpoints of which half the samples were taken within ``TOGETHER_US``.

    Compared are the samples nearest to ``COMPARED`` instants of the best sampled endpoint. Only samples of refreshed
    counters count, so an endpoint with a slow driver has a clock of its own.
    """
    instants = [counters.series[name].fresh().t_us if name in counters.series else _NONE for name in names]
    reference = max(instants, key=len, default=_NONE)[-COMPARED:]
    models: NDArray[np.int64] = np.empty((0, len(reference)), np.int64)
    known: dict[bytes, int] = {}
    clocks = []
    for one in instants:
        key = one[-COMPARED:].tobytes()
        if key not in known:
            near = _nearest_to(reference, one)
            share = (np.abs(models - near) <= TOGETHER_US).mean(axis=1) if len(one) else np.zeros(len(models))
            alike = np.nonzero(share >= 0.5)[0]
            known[key] = int(alike[0]) if len(alike) else len(models)
            models = models if len(alike) else np.vstack([models, near])
        clocks.append(known[key])
    return clocks


def _nearest_to(reference: NDArray[np.int64], instants: NDArray[np.int64]) -> NDArray[np.int64]:
    """The instant nearest to each of the reference's; -1 where there are none."""
    if not len(instants):
        return np.full(len(reference), -1, np.int64)
    after = np.clip(np.searchsorted(instants, reference), 0, len(instants) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.abs(instants[after] - reference) < np.abs(instants[before] - reference)
    return np.where(nearer, instants[after], instants[before])


def together(counters: CounterLog, names: Sequence[str], since_us: int) -> tuple[FloatArray, FloatArray] | None:
    """Bytes sent and received by each endpoint between the instants that all share, shape (n, T), NaN unknown.

    None when there are fewer than three such instants.
    """
    series = [counters.series[name] for name in names if name in counters.series]
    if len(series) < len(names):
        return None
    shared = series[0].t_us
    for other in series[1:]:
        if len(shared) < 3:
            return None
        if not (len(other.t_us) == len(shared) and np.array_equal(other.t_us, shared)):
            shared = np.intersect1d(shared, other.t_us, assume_unique=True)
    shared = shared[shared >= since_us]
    if len(shared) < 3:
        return None
    if all(np.array_equal(one.t_us, series[0].t_us) for one in series):
        first = len(series[0].t_us) - len(shared) + 1
        return _stack([one.tx[first:] for one in series]), _stack([one.rx[first:] for one in series])
    columns = [_between(one, shared) for one in series]
    return _stack([tx for tx, _ in columns]), _stack([rx for _, rx in columns])


def _stack(rows: Sequence[NDArray[np.float32] | FloatArray]) -> FloatArray:
    return np.array(rows, dtype=np.float64)


def _between(series: CounterSeries, shared: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    places = np.searchsorted(series.t_us, shared)
    lost = np.diff(np.cumsum(np.isnan(series.tx))[places]) > 0
    sides = []
    for increments in (series.tx, series.rx):
        total = np.cumsum(np.where(np.isnan(increments), 0.0, increments.astype(np.float64)))
        moved = np.diff(total[places])
        moved[lost] = np.nan
        sides.append(moved)
    return sides[0], sides[1]
