"""How far does a point lie from its neighbours, as they measure distance? Local outlier factors, for many sets at once.

Breunig et al. 2000: with the k nearest of m reference points, reach(p, o) = max(distance(p, o), distance of o to its
k-th neighbour); the factor is the mean reach of the query over the mean reach of its neighbours, 1 = as dense as they
are. Every mean reach is at least ``floor``, so that references that happen to lie close together make no outliers.
Cost: m (m + 1) d multiplications a set, about 15 us for m = 10, d = 7; sets are taken ``CHUNK`` at a time.
"""

from __future__ import annotations

import numpy as np

from localization.arrays import Floats

CHUNK = 4096


def local_outlier_factors(reference: Floats, query: Floats, k: int, floor: float) -> Floats:
    """Factors, shape (n,), of ``query`` (n, d) against ``reference`` (n, m, d), 0 < k < m; the unit is the caller's."""
    count, size, _ = reference.shape
    if not 0 < k < size:
        raise ValueError(f"k is {k}, but a set of {size} points has neighbours 1 to {size - 1}")
    found = np.empty(count)
    for low in range(0, count, CHUNK):
        part = slice(low, low + CHUNK)
        found[part] = _factors(reference[part], query[part], k, floor)
    return found


def _factors(reference: Floats, query: Floats, k: int, floor: float) -> Floats:
    apart = np.sqrt(((reference[:, :, None, :] - reference[:, None, :, :]) ** 2).sum(axis=3))
    each = np.arange(reference.shape[1])
    apart[:, each, each] = np.inf
    near = np.argsort(apart, axis=2, kind="stable")[:, :, :k]
    distance = np.take_along_axis(apart, near, axis=2)
    widest = distance[:, :, -1]
    reach = np.maximum(distance, np.take_along_axis(widest[:, None, :], near, axis=2))
    dense = np.maximum(reach.mean(axis=2), floor)
    away = np.sqrt(((reference - query[:, None, :]) ** 2).sum(axis=2))
    nearest = np.argsort(away, axis=1, kind="stable")[:, :k]
    own = np.maximum(np.take_along_axis(away, nearest, axis=1), np.take_along_axis(widest, nearest, axis=1))
    local = np.maximum(own.mean(axis=1), floor) / np.take_along_axis(dense, nearest, axis=1).T
    return np.asarray(local.mean(axis=0), np.float64)
