"""In which order do the stages of a replica follow one another, and which end is the first?

*Order.* Peel the pipeline from one end. The first stage sends only forward and receives only backward passes: f = tx,
b = rx. The next stage must have received f, so what else it received came from the far side, b' = rx - f, and what
else it sent went there, f' = tx - b. And so on to the last stage, behind which nothing may be left. All these are
bytes, hence never negative in any interval. A wrong order needs negative bytes somewhere; the order that needs the
least is the right one. Intervals in which collectives run (which are not one-way) are left out: they stand out by
their size.

*First stage.* Both directions of a pipeline peel equally well. Replicas are first brought into line with one another by
the course of their balance; then the first stage is the end that has sent more than it got back while micro-batches are
under way, compared with the drained pipeline, which is when the large collectives run.

Cost: P! / 2 orders of O(P T) up to P = 7; beyond, an order is grown from its best neighbours and improved by reversing
parts of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Order = tuple[int, ...]

ALL_ORDERS = 7
"""Up to so many stages every order is tried."""

COLLECTIVE = 4.0
"""An interval with more than this times the median bytes of busy intervals is taken for one of a collective."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Rows of one replica in pipeline order. ``debt``: share of bytes that would have to be negative; ``runner_up``:
    the least debt of any other order.
    """

    rows: Order
    debt: float
    runner_up: float


def order_stages(tx: FloatArray, rx: FloatArray, rows: Sequence[int]) -> Chain:
    """The stages ``rows`` of (n, T) bytes per interval (NaN unknown) in pipeline order, in either direction."""
    sent, received = tx[list(rows)], rx[list(rows)]
    usable = _without_collectives(sent, received)
    sent, received = sent[:, usable], received[:, usable]
    total = float(sent.sum() + received.sum())
    if total <= 0 or len(rows) == 1:
        return Chain(tuple(rows), 0.0, 0.0)
    ranked = _candidates(sent, received)
    runner_up = ranked[1][0] / total if len(ranked) > 1 else 1.0
    return Chain(tuple(rows[place] for place in ranked[0][1]), ranked[0][0] / total, runner_up)


def bring_into_line(chains: Sequence[Order], balance: FloatArray, collective: FloatArray) -> tuple[list[Order], float]:
    """The chains in one direction, first stage first, and how clear that is (0 = not at all, 1 = fully).

    ``balance``, ``collective``: (n, T) bytes per interval, NaN unknown; the latter large where collectives run.
    """
    level = np.cumsum(np.nan_to_num(balance), axis=1)
    shape = _standardised(level)
    model_first, model_last = shape[chains[0][0]].copy(), shape[chains[0][-1]].copy()
    aligned = [chains[0]]
    for chain in chains[1:]:
        first, last = shape[chain[0]], shape[chain[-1]]
        straight = float(first @ model_first + last @ model_last)
        turned = float(first @ model_last + last @ model_first)
        aligned.append(chain if straight >= turned else chain[::-1])
        model_first += shape[aligned[-1][0]]
        model_last += shape[aligned[-1][-1]]
    leans = [_lean(level[c[0]], collective[c[0]]) - _lean(level[c[-1]], collective[c[-1]]) for c in aligned]
    lean = float(np.mean(leans))
    return (aligned if lean >= 0 else [chain[::-1] for chain in aligned]), min(abs(lean), 1.0)


def _without_collectives(sent: FloatArray, received: FloatArray) -> NDArray[np.bool_]:
    whole = np.asarray(~np.isnan(sent + received).any(axis=0), dtype=np.bool_)
    busy = sent[:, whole]
    busy = busy[busy > 0]
    if not len(busy):
        return whole
    most: FloatArray = np.nan_to_num(np.maximum(sent, received)).max(axis=0)
    quiet = np.asarray(most < COLLECTIVE * float(np.median(busy)), dtype=np.bool_)
    return whole & quiet


def _debt(sent: FloatArray, received: FloatArray, order: Order) -> float:
    forward, backward = sent[order[0]], received[order[0]]
    debt = 0.0
    for stage in order[1:]:
        forward, backward = sent[stage] - backward, received[stage] - forward
        if stage == order[-1]:
            debt += float(np.abs(forward).sum() + np.abs(backward).sum())
        else:
            debt -= float(np.minimum(forward, 0.0).sum() + np.minimum(backward, 0.0).sum())
    return debt


def _candidates(sent: FloatArray, received: FloatArray) -> list[tuple[float, Order]]:
    stages = len(sent)
    if stages <= ALL_ORDERS:
        orders = [order for order in permutations(range(stages)) if order[0] < order[-1]]
        return sorted((_debt(sent, received, order), order) for order in orders)
    best = _improve(sent, received, _grow(sent - received))
    return sorted((_debt(sent, received, order), order) for order in (best, *_neighbours(best)))


def _grow(balance: FloatArray) -> Order:
    """A path through the stages along the strongest opposite movements."""
    affinity = -np.cov(balance)
    np.fill_diagonal(affinity, -np.inf)
    first, second = (int(place) for place in np.unravel_index(int(affinity.argmax()), affinity.shape))
    path, left = [first, second], set(range(len(balance))) - {first, second}
    while left:
        front = max(sorted(left), key=lambda stage: affinity[path[0], stage])
        back = max(sorted(left), key=lambda stage: affinity[path[-1], stage])
        if affinity[path[0], front] > affinity[path[-1], back]:
            path.insert(0, front)
            left.discard(front)
        else:
            path.append(back)
            left.discard(back)
    return tuple(path)


def _neighbours(order: Order) -> list[Order]:
    """Orders with one part reversed or one stage moved."""
    size = len(order)
    found = [order[:a] + order[a:b][::-1] + order[b:] for a in range(size - 1) for b in range(a + 2, size + 1)]
    for a in range(size):
        rest = order[:a] + order[a + 1 :]
        found += [(*rest[:b], order[a], *rest[b:]) for b in range(size) if b != a]
    return [other for other in dict.fromkeys(found) if other not in (order, order[::-1])]


def _improve(sent: FloatArray, received: FloatArray, order: Order) -> Order:
    best, debt = order, _debt(sent, received, order)
    while True:
        new_debt, new = min((_debt(sent, received, other), other) for other in _neighbours(best))
        if new_debt >= debt * (1 - 1e-9):
            return best
        best, debt = new, new_debt


def _standardised(level: FloatArray) -> FloatArray:
    centred = level - level.mean(axis=1, keepdims=True)
    length = np.sqrt((centred**2).sum(axis=1, keepdims=True))
    return np.asarray(centred / np.maximum(length, 1e-12))


def _lean(level: FloatArray, collective: FloatArray) -> float:
    """Where a level is while collectives run:
    +0.5 = at the bottom of its range (it rises from there), -0.5 = at the top.
    """
    reach = float(level.max() - level.min())
    weight = np.nan_to_num(collective)
    weight = np.where(weight >= np.quantile(weight, 0.9), weight, 0.0)
    if reach <= 0 or weight.sum() <= 0:
        return 0.0
    around = (level + np.concatenate([[0.0], level[:-1]])) / 2.0
    return 0.5 - float(((around - level.min()) * weight).sum() / weight.sum() / reach)
