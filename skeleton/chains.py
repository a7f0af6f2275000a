"""In which order do the stages of a replica follow one another, and which end is the first?

*Order.* Peel the pipeline from one end. The first stage sends only forward and receives only backward passes: f = tx,
b = rx. The next stage must have received f, so what else it received came from the far side, b' = rx - f, and what else
it sent went there, f' = tx - b. And so on to the last stage, behind which nothing may be left. All these are bytes,
hence never negative in any interval. So the ends are the stages that move the fewest bytes, and the next stage is the
one that needs the fewest negative bytes; the right order needs none. That fails only while collectives run, which are
not one-way, and where two stages were sampled at different instants. So intervals that stand out by their size are
left out, and of the others as few of the worst as it takes for an order to need (nearly) none in the rest.

*First stage.* Both directions of a pipeline peel equally well. Replicas are first brought into line with one another by
the course of their balance; then the first stage is the end that has sent more than it got back while micro-batches are
under way, compared with the drained pipeline, which is when the large collectives run.

Cost: O(P^2 T) for P stages and T intervals, about 1 ms for 16 stages and 10 minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Order = tuple[int, ...]

OUTLIERS = (0.0, 0.05, 0.1, 0.2, 0.3)
"""Shares of the intervals that may be left out, tried in this order."""

SOLVENT = 0.002
"""Share of the bytes that an order may owe and still be right."""

COLLECTIVE = 4.0
"""An interval with more than this times the median bytes of busy intervals is taken for one of a collective."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Rows of one replica in pipeline order; ``debt``: share of the bytes that would have to be negative."""

    rows: Order
    debt: float


def order_stages(tx: FloatArray, rx: FloatArray, rows: Sequence[int]) -> Chain:
    """The stages ``rows`` of (n, T) bytes per interval (NaN unknown) in pipeline order, in either direction."""
    sent, received = tx[list(rows)], rx[list(rows)]
    usable = _without_collectives(sent, received)
    sent, received = sent[:, usable], received[:, usable]
    moved = (sent + received).sum(axis=1)
    total = float(moved.sum())
    if total <= 0 or len(rows) == 1:
        return Chain(tuple(rows), 0.0)
    ends = [int(end) for end in np.argsort(moved, kind="stable")[:2]]
    for outliers in OUTLIERS:
        debt, places = min(_peel(sent, received, end, outliers) for end in ends)
        if debt <= SOLVENT * total:
            break
    return Chain(tuple(rows[place] for place in places), debt / total)


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


def _peel(sent: FloatArray, received: FloatArray, end: int, outliers: float) -> tuple[float, Order]:
    """The order from one end, and the negative bytes that it needs."""
    order, left, debt = [end], [place for place in range(len(sent)) if place != end], 0.0
    forward, backward = sent[end], received[end]
    while left:
        onward, back = sent[left] - backward, received[left] - forward
        short = np.minimum(onward, 0.0) + np.minimum(back, 0.0)
        missing = -short if len(left) > 1 else np.abs(onward) + np.abs(back)
        usual = _usual(missing, outliers)
        best = int(usual.argmin())
        debt += float(usual[best])
        forward, backward = onward[best], back[best]
        order.append(left.pop(best))
    return debt, tuple(order)


def _usual(bytes_per_interval: FloatArray, outliers: float) -> FloatArray:
    """Sums of rows without their largest values."""
    kept = int((1.0 - outliers) * bytes_per_interval.shape[1])
    if kept == bytes_per_interval.shape[1]:
        return np.asarray(bytes_per_interval.sum(axis=1), dtype=np.float64)
    return np.asarray(np.partition(bytes_per_interval, kept, axis=1)[:, :kept].sum(axis=1), dtype=np.float64)


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
