"""Which endpoints of a rail form one pipeline? Found from a conservation law, without knowing any period or phase.

The *balance* of an endpoint is d(t) = bytes sent - bytes received. A collective (ring all-reduce, all-gather, all-to-
all) sends and receives the same bytes on every member at the same time, so it cancels in the balance. What is left
are one-way transfers between pipeline stages, and what one stage sends, another stage of the *same replica* receives:

    sum of d_i(t) over the stages of one replica = 0 at every t,

while two replicas, even with equal work, are never in step to the millisecond. Let D (n x T) hold the balance of the n
endpoints of a rail, and let it have P stages and R = n / P replicas. Then each replica's indicator vector is in the
left null space of D, and when nothing else is, the projector on that null space is

    Pi = sum over replicas of 1 1' / P:   1 / P for two endpoints of one replica, 0 for any others.

So: the eigenvectors of D D' to the R smallest eigenvalues give Pi, a gap after the R-th singular value tells R (hence
P) from the divisors of n, and a Pi that is not of that form says that replicas are in step and can't be told apart.

Samples must have been taken at the same instants; the caller sees to it. Noise: clocks off by e misplace bytes of at
most rate x e. Cost: O(n^2 T + n^3) per rail.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

LEAST_GAP = 5.0
"""Ratio of the singular values above and below the null space that is taken for a gap."""

LEAST_INTERVALS = 12.0
"""So many intervals, effectively, must bear a pipeline out."""

LEAST_SIGNAL = 1e-5
"""Share of the sent bytes (root mean square) that the balance must reach to be more than rounding."""


@dataclass(frozen=True, slots=True)
class Pipelines:
    """Replicas as tuples of row numbers, ascending; ``gap`` = how clearly the null space stands out."""

    replicas: tuple[tuple[int, ...], ...]
    gap: float


def find_pipelines(balance: FloatArray, sent: FloatArray) -> Pipelines | None:
    """Replicas among the rows of ``balance`` (n, T), bytes per interval; None: no pipeline, or none that can be told.

    ``sent``: (n, T) bytes, only for scale. Intervals in which any row is unknown are left out.
    """
    whole = ~(np.isnan(balance).any(axis=0) | np.isnan(sent).any(axis=0))
    known, rows = balance[:, whole], len(balance)
    if rows < 2 or known.shape[1] < 2 * rows or is_lopsided(known):
        return None
    scale = float(np.sqrt((sent[:, whole] ** 2).mean()))
    values, vectors = np.linalg.eigh(known @ known.T / known.shape[1])
    singular = np.sqrt(np.maximum(values, 0.0))
    if scale <= 0 or singular[-1] < LEAST_SIGNAL * scale:
        return None
    floor = 1e-6 * singular[-1]
    for stages in divisors(rows):  # unions of replicas balance too, so the least number of stages comes first
        gap = _gap(singular, rows // stages, floor)
        if gap >= LEAST_GAP:
            basis = vectors[:, : rows // stages]
            replicas = _blocks(basis @ basis.T * stages, stages)
            if replicas is not None:
                return Pipelines(replicas, gap)
    return None


def has_signal(balance: FloatArray, sent: FloatArray) -> bool:
    """Whether the balances are more than rounding, beside the bytes sent; both (n, T), NaN unknown."""
    left, scale = np.nanmean(balance**2), np.nanmean(sent**2)
    return bool(left > (LEAST_SIGNAL**2) * scale)


def is_lopsided(balance: FloatArray) -> bool:
    """Whether a few intervals hold nearly all of the imbalance, as after one file copy: they prove nothing.

    ``balance``: (n, T), NaN unknown. The effective number of intervals is (sum e)^2 / sum e^2 of their energies e.
    """
    energy = np.nan_to_num(balance) ** 2
    per_interval = energy.sum(axis=0)
    squares = float((per_interval**2).sum())
    return squares <= 0 or float(per_interval.sum()) ** 2 / squares < LEAST_INTERVALS


def residual(balance: FloatArray, replicas: Iterable[Sequence[int]]) -> float:
    """Imbalance of replicas (rows) as a share of their members'; 0 = cancels, about 1 = unrelated."""
    left = sum(float((balance[list(rows)].sum(axis=0) ** 2).sum()) for rows in replicas)
    energy = float((balance**2).sum())
    return left / energy if energy > 0 else 1.0


def divisors(number: int) -> list[int]:
    """Divisors of a number from 2 up to the number itself."""
    return [divisor for divisor in range(2, number + 1) if number % divisor == 0]


def _gap(singular: FloatArray, dimension: int, floor: float) -> float:
    if dimension >= len(singular):
        return 0.0
    return float(singular[dimension] / max(singular[dimension - 1], floor))


def _blocks(projector: FloatArray, stages: int) -> tuple[tuple[int, ...], ...] | None:
    """The blocks of a matrix of ones and zeros, if it is one: each of ``stages`` rows."""
    joined = projector > 0.5
    if np.abs(projector - joined).max() > 0.4 or (joined.sum(axis=1) != stages).any():
        return None
    blocks = sorted({tuple(int(column) for column in np.nonzero(row)[0]) for row in joined})
    return tuple(blocks) if len(blocks) * stages == len(projector) else None
