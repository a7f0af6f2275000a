"""Which sets of partners come back again and again among the sets that received an endpoint's bursts?

Constant partners are those in a given share of the sets. Where there are none, the smallest sets that recur are the
targets; a set that contains one of them is that one plus bystanders. Cost: O(bursts x rows).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RECURRING = 0.1
"""Share of the sets that a target must make up."""


def recurring_sets(met: NDArray[np.bool_], share: float) -> tuple[tuple[int, ...], ...]:
    """The partner sets behind the sets of one endpoint in one class, shape (bursts, rows).

    Rows that are in at least this share of them are constant partners.
    """
    constant = np.nonzero(met.mean(axis=0) >= share)[0]
    if len(constant):
        return (tuple(int(row) for row in constant),)
    found: list[tuple[int, ...]] = []
    for rows in sorted(_frequent(met, max(2.0, RECURRING * len(met))), key=lambda rows: (len(rows), rows)):
        if not any(set(smaller) <= set(rows) for smaller in found):
            found.append(rows)
    return tuple(found)


def _frequent(met: NDArray[np.bool_], least: float) -> list[tuple[int, ...]]:
    """The sets, other than the empty one, that occur at least so often."""
    packed = np.packbits(met[met.any(axis=1)], axis=1)
    whole = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, places, counts = np.unique(whole, return_index=True, return_counts=True)
    bits = np.unpackbits(packed[places[counts >= least]], axis=1, count=met.shape[1])
    return [tuple(int(row) for row in np.nonzero(one)[0]) for one in bits]
