"""Which partition of a rail into replicas leaves the least imbalance? For samples that were not taken together.

The balances of one replica add up to zero (see ``balance``). When its members were polled at different instants that
holds only roughly, and the null space drowns. But the partition that comes closest can still be found: with G = the
Gram matrix of the balances, it is the one into groups of P that minimises

    sum over groups of 1' G_group 1 = sum over groups of the mean square of the group's total balance,

and its *residual*, that sum over the trace of G, tells whether it is one: 1 for unrelated traffic, near 0 for replicas.
P is the least divisor of n whose best partition has a residual below ``LEAST_RESIDUAL`` (unions of replicas balance
too), and every lesser divisor must leave ``CLEARLY`` times as much: else noise may have hidden the true one.

The minimum is sought by building groups greedily from several starts and then exchanging pairs of members while that
helps. What is found need not be right in every part: ``joining`` mends it, and says which parts may be exchanged.

Cost: O(n^2 T) for G and O(n^2) per exchange, about n of them per start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skeleton.balance import divisors, is_lopsided

FloatArray = NDArray[np.float64]
Rows = tuple[int, ...]

LEAST_RESIDUAL = 0.05
CLEARLY = 3.0
STARTS = 6
HOPELESS = 0.15
"""A search that ends with a larger residual is not repeated from another start."""

VAIN = 0.5
"""One that begins with a larger residual is not gone on with."""


MOST_ROWS = 128
"""Larger rails are left alone: the search would take longer than a look may."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Replicas as ascending rows; ``residual`` 0..1; ``exchange``: (n, n) what it would cost to exchange two rows, as a
    share of the trace of G (infinite within a replica)."""

    replicas: tuple[Rows, ...]
    residual: float


def find_partition(balance: FloatArray) -> Partition | None:
    """The replicas among the rows of ``balance`` (n,
    T), bytes per interval, NaN unknown; None: it is not made of any.
    """
    rows = len(balance)
    known = ~np.isnan(balance)
    if not 2 <= rows <= MOST_ROWS or known.all(axis=0).sum() < 3 * rows or is_lopsided(balance):
        return None
    filled = np.where(known, balance, 0.0)
    gram = (filled @ filled.T) / np.maximum(known.astype(np.float64) @ known.T.astype(np.float64), 1.0)
    energy = float(np.trace(gram))
    if energy <= 0 or (np.diag(gram) <= 0).any():
        return None
    gram /= energy
    least = np.inf
    for stages in divisors(rows):
        residual, labels = _best(gram, stages)
        if residual <= LEAST_RESIDUAL:
            if residual * CLEARLY > least:
                return None
            groups = sorted(tuple(int(row) for row in np.nonzero(labels == label)[0]) for label in np.unique(labels))
            return Partition(tuple(groups), residual)
        least = min(least, residual)
    return None


def _best(gram: FloatArray, stages: int) -> tuple[float, NDArray[np.int64]]:
    """The best of several searches; only one where that is good enough, or hopeless."""
    best = _search(gram, stages, 0)
    for start in range(1, min(STARTS, len(gram))):
        if not LEAST_RESIDUAL < best[0] < HOPELESS:
            break
        best = min(best, _search(gram, stages, start), key=lambda found: found[0])
    return best


def _search(gram: FloatArray, stages: int, start: int) -> tuple[float, NDArray[np.int64]]:
    """A partition that no exchange of two rows improves, and its residual."""
    labels = _greedy(gram, stages, start)
    first = float(gram[labels[:, None] == labels[None, :]].sum())
    for _ in range(4 * len(gram) if first < VAIN else 0):
        gain = _exchange(gram, labels)
        best = int(gain.argmin())
        one, other = divmod(best, len(gram))
        if gain[one, other] >= -1e-12:
            break
        labels[one], labels[other] = labels[other], labels[one]
    together = labels[:, None] == labels[None, :]
    return float(gram[together].sum()), labels


def _greedy(gram: FloatArray, stages: int, start: int) -> NDArray[np.int64]:
    """Groups grown one after the other from the strongest row that is left,
    the first from the ``start``-th strongest.
    """
    order = np.roll(np.argsort(-np.diag(gram), kind="stable"), -start)
    rank = np.empty(len(gram), dtype=np.int64)
    rank[order] = np.arange(len(gram))
    doubled, alone = 2.0 * gram[:, order], np.diag(gram)[order]  # columns in the order of preference among equals
    taken = np.zeros(len(gram))
    labels = np.zeros(len(gram), dtype=np.int64)
    for label in range(len(gram) // stages):
        row = order[int(taken.argmin())]
        cost = alone + taken
        for _ in range(stages):
            labels[row] = label
            taken[rank[row]] = cost[rank[row]] = np.inf
            cost = cost + doubled[row]
            row = order[int(cost.argmin())]
    return labels


def _exchange(gram: FloatArray, labels: NDArray[np.int64]) -> FloatArray:
    """What exchanging two rows would add to the sum, (n, n); infinite for two rows of one group."""
    members = (labels[:, None] == np.arange(labels.max() + 1)[None, :]).astype(np.float64)
    with_group = gram @ members
    own = with_group[np.arange(len(gram)), labels]
    there = with_group[:, labels]
    diagonal = np.diag(gram)
    cost = 2.0 * (there + there.T - own[:, None] - own[None, :]) + 2.0 * (diagonal[:, None] + diagonal[None, :])
    cost -= 4.0 * gram
    cost[labels[:, None] == labels[None, :]] = np.inf
    return np.asarray(cost)
