"""How far apart may the edges of one transfer be, as sender and receiver report them? In microseconds, per class.

Every sent burst has a receiver on the rail, so the distance to the nearest burst received by another endpoint bounds
the error; where many receive at once, the distance to what the sender itself receives does. Bounds are kept between
``SHARPEST_US`` and ``BLUNTEST_US``. Edge cases: no bursts, or nobody who receives: the clock's bound.
Cost: O(m log m) for m bursts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skeleton.transfers import BurstTable

BESIDE = 0.1
"""Edges are blurred by less than this share of the pause between two bursts, else nothing can be told."""

SHARPEST_US, BLUNTEST_US = 200.0, 60_000.0


def tolerance_between(going: BurstTable, coming: BurstTable, nearest: NDArray[np.float64], clock_us: float) -> float:
    """How far apart the edges of one transfer may be.

    Where many receive at once the nearest receiver is nearer than edges are sharp. But then senders receive as well,
    and every time: how far that is from what they send, if it is little beside the pause between two bursts, tells
    how sharp edges are.
    """
    blur_us = _sharpness(nearest)
    sent, pauses = _ordered(going)
    received, _ = _ordered(coming)
    apart = _own_distances(sent, received)
    if len(apart) and quantile(apart, 0.9) <= BESIDE * float(np.median(pauses)):
        blur_us = max(blur_us, _sharpness(apart))
    return bounded(blur_us, clock_us)


def _ordered(table: BurstTable) -> tuple[BurstTable, NDArray[np.int64]]:
    """By row, then start; and the pauses between the bursts of one row."""
    there = table.select(np.lexsort((table.start, table.row)))
    return there, (there.start[1:] - there.start[:-1])[there.row[1:] == there.row[:-1]]


def _own_distances(sent: BurstTable, received: BurstTable) -> NDArray[np.float64]:
    """How far each burst is from the nearest one that its sender received, both tables ordered; of rows that sent more
    than one and received any.
    """
    rows = 1 + max(int(table.row.max(initial=0)) for table in (sent, received))
    first = np.searchsorted(received.row, np.arange(rows))
    count = np.searchsorted(received.row, np.arange(rows), side="right") - first
    often = np.bincount(sent.row, minlength=rows) > 1
    chosen = sent.select(often[sent.row] & (count[sent.row] > 0))
    if not len(chosen.row):
        return np.empty(0)
    least = min(int(chosen.start.min()), int(received.start.min()))
    span = max(int(chosen.start.max()), int(received.start.max())) - least + 1
    place = np.searchsorted(received.row * span + received.start - least, chosen.row * span + chosen.start - least)
    begin, last = first[chosen.row], count[chosen.row] - 1
    after = np.minimum(np.maximum(place - begin, 1), np.maximum(last, 1))
    before = np.abs(received.start[begin + after - 1] - chosen.start)
    behind = np.abs(received.start[begin + np.minimum(after, last)] - chosen.start)
    return np.asarray(np.minimum(before, behind), dtype=np.float64)


def nearest_received(going: BurstTable, coming: BurstTable) -> NDArray[np.float64]:
    """How far each sent burst is from the nearest one received by somebody else, us; those without any are left out."""
    order = np.argsort(coming.start, kind="stable")
    there = coming.select(order)
    place = np.searchsorted(there.start, going.start)
    nearest: NDArray[np.float64] = np.full(len(going.start), np.inf)
    for step in (-3, -2, -1, 0, 1, 2) if len(order) else ():
        other = np.minimum(np.maximum(place + step, 0), len(order) - 1)
        apart = np.abs(there.start[other] - going.start).astype(np.float64)
        nearest = np.where(there.row[other] != going.row, np.minimum(nearest, apart), nearest)
    return np.asarray(nearest[np.isfinite(nearest)])


def _sharpness(nearest: NDArray[np.float64]) -> float:
    """How far the edges of one transfer are apart at most; a burst in a hundred, or where most are much closer one in
    five, may have merged with another and is left out.
    """
    return min(1.5 * quantile(nearest, 0.99), 4.0 * quantile(nearest, 0.8))


def quantile(values: NDArray[np.float64], share: float) -> float:
    """The same as ``numpy.quantile``, to the bit, without its overhead: these are short and many. 0 of nothing."""
    if not len(values):
        return 0.0
    place = share * (len(values) - 1)
    below = int(place)
    above, part = min(below + 1, len(values) - 1), place - below
    sides = np.partition(values, (below, above))
    low, high = float(sides[below]), float(sides[above])
    return high - (high - low) * (1.0 - part) if part >= 0.5 else low + (high - low) * part


def bounded(measured_us: float, least_us: float) -> float:
    """The measured bluntness within sense."""
    return min(max(measured_us, least_us, SHARPEST_US), BLUNTEST_US)
