"""Which endpoints of a rail play the same part, as far as the course of their traffic tells?

The fallback when the balance of sent and received bytes tells nothing (see ``balance``). Endpoints in the same pipeline
stage of different replicas carry the same traffic at nearly the same time, so they are clustered by it: average linkage
on vectors of unit length, once of the square roots of the rates second by second (which sees the shift between
stages) and once of their short-time Fourier magnitudes (which sees shape and period, and forgives replicas that drift
apart).

Groups must be of equal size. All-singletons would satisfy that too, so the number of groups is chosen among the
divisors of n by *separation*: the height at which groups would be merged next over the greatest height inside a
group. A partition that merely follows the instants at which samples were taken (RNICs polled by one collector look
alike) is refused.

Cost: O(n^2 T) per rail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skeleton.balance import divisors

FloatArray = NDArray[np.float64]

LEAST_SEPARATION = 2.5
LEAST_DISTANCE = 0.01
"""Groups closer than one percent of their traffic are not told apart."""

WINDOWS_S = (16, 64)
"""Lengths of the Fourier windows, seconds; they overlap by half."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Groups of rows, by their least row; ``separation`` = how much further apart they are than wide."""

    groups: tuple[tuple[int, ...], ...]
    separation: float


def find_groups(tx: FloatArray, rx: FloatArray, polled_by: Sequence[int]) -> Partition | None:
    """Groups of equal size among the rows of (n, T) rates, or None. ``polled_by``: number of each row's poll clock."""
    whole = ~(np.isnan(tx).any(axis=0) | np.isnan(rx).any(axis=0))
    if len(tx) < 4 or whole.sum() < WINDOWS_S[0]:
        return None
    rates = np.sqrt(np.maximum(np.stack([tx[:, whole], rx[:, whole]], axis=1), 0.0))
    features = [rates.reshape(len(tx), -1)]
    features += [_magnitudes(rates, window) for window in WINDOWS_S if rates.shape[2] >= 2 * window]
    found = [partition for feature in features if (partition := _cluster(feature))]
    found = [partition for partition in found if not _follows(partition, polled_by)]
    return max(found, key=lambda partition: (partition.separation, partition.groups), default=None)


def _magnitudes(rates: FloatArray, window: int) -> FloatArray:
    """Short-time Fourier magnitudes of (n, 2, T), one row each."""
    frames = np.lib.stride_tricks.sliding_window_view(rates, window, axis=2)[:, :, :: window // 2]
    spectrum = np.abs(np.fft.rfft(frames * np.hanning(window), axis=3))
    flat: FloatArray = spectrum.reshape(len(rates), -1)
    return flat


def _cluster(feature: FloatArray) -> Partition | None:
    from scipy.cluster.hierarchy import fcluster, linkage  # a third of a second, and most jobs never come here
    from scipy.spatial.distance import pdist

    length = np.sqrt((feature**2).sum(axis=1, keepdims=True))
    if (length <= 0).any():
        return None
    rows = len(feature)
    tree = linkage(pdist(feature / length), method="average")
    heights = tree[:, 2]
    best: Partition | None = None
    for count in [number for number in divisors(rows) if number <= rows // 2]:
        within, between = float(heights[rows - count - 1]), float(heights[rows - count])
        separation = between / max(within, LEAST_DISTANCE / LEAST_SEPARATION)
        if between < LEAST_DISTANCE or separation < LEAST_SEPARATION or (best and separation <= best.separation):
            continue
        labels = fcluster(tree, count, criterion="maxclust")
        groups = [tuple(int(row) for row in np.nonzero(labels == label)[0]) for label in np.unique(labels)]
        if len(groups) == count and len({len(group) for group in groups}) == 1:
            best = Partition(tuple(sorted(groups)), separation)
    return best


def _follows(partition: Partition, polled_by: Sequence[int]) -> bool:
    """Whether each group was polled by one clock while there are several."""
    return len(set(polled_by)) > 1 and all(len({polled_by[row] for row in group}) == 1 for group in partition.groups)


def order_groups(tx: FloatArray, groups: Sequence[Sequence[int]], reach_s: int) -> tuple[tuple[int, ...], float]:
    """Groups by the onset of their traffic, and the least shift between neighbours (seconds; 0 = not told apart).

    The shift of a group against the mean of all is where their cross-correlation, interpolated between seconds, is
    highest; shifts of more than ``reach_s`` are not looked for.
    """
    known = ~np.isnan(tx)
    filled = np.where(known, np.maximum(tx, 0.0), 0.0)
    courses = np.stack(
        [np.sqrt(filled[list(g)].sum(axis=0) / np.maximum(known[list(g)].sum(axis=0), 1)) for g in groups]
    )
    courses -= courses.mean(axis=1, keepdims=True)
    shifts = [_shift(course, courses.mean(axis=0), reach_s) for course in courses]
    order = sorted(range(len(groups)), key=lambda group: (shifts[group], group))
    steps = np.diff([shifts[group] for group in order])
    return tuple(order), float(steps.min()) if len(steps) else 0.0


def _shift(course: FloatArray, reference: FloatArray, reach_s: int) -> float:
    size, fine = 1 << (2 * len(course) - 1).bit_length(), 16
    product = np.fft.rfft(course, size) * np.fft.rfft(reference, size).conj()
    lags = np.fft.irfft(product, size * fine)
    near = np.concatenate([lags[-reach_s * fine :], lags[: reach_s * fine + 1]])
    return (int(near.argmax()) - reach_s * fine) / fine
