"""What is a normal RTT for a pair? Its own ln RTT, drawn towards that of pairs with as many hops while it is new.

mean = (n m + n0 M) / (n + n0): n windows of the pair itself (m, v), n0 = ``BORROWED`` windows of the pool (M, V: over
all windows of all pairs with that hop count, so V holds the spread between pairs). The variance likewise, but with
``BORROWED_SPREAD`` windows, since a spread takes longer to learn than a level and one taken for too small raises
false alarms, for which reason the pair's own counts alone where it is larger; times 1 + 1 / (n + n0) for the mean's own
error, and times 1 + ``DOUBT`` / (``DOUBT`` + n) for its own: pairs are not alike, and an estimate may be too small. A
pair forgets with ``PAIR_WINDOWS``, a pool with ``POOL_WINDOWS``. Nothing is learned from a pair with an open anomaly or
a rising score. ``sd`` is never below the effect-size floor, nor below ``FLOOR_US`` at the pair's own level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from localization.arrays import Flags, Floats, Ints
from localization.columns import PairSums
from localization.pairs import PairColumns, PairTable

HOP_CLASSES = 32
BORROWED = 5.0
BORROWED_SPREAD = 100.0
DOUBT = 60.0
PAIR_WINDOWS = 600.0
POOL_WINDOWS = 100_000.0
POOL_LEAST = 30.0
PAIR_LEAST = 10.0
FLOOR_US = 4.0
RECENT = 8
OUTLIER = 4.0


def _zeros() -> Floats:
    return np.zeros(HOP_CLASSES)


@dataclass(slots=True)
class Pools:
    """ln RTT by number of hops (0: path not known): windows, mean, variance. Of a panel: shape (jobs, hop classes)."""

    count: Floats = field(default_factory=_zeros)
    mean: Floats = field(default_factory=_zeros)
    var: Floats = field(default_factory=_zeros)

    def learn(self, job: Ints, hops: Ints, log_rtt: Floats) -> None:
        """Merges a window of healthy pairs (Chan's update), one number per pair."""
        shape, place = self.count.shape, job * HOP_CLASSES + hops
        number = np.bincount(place, minlength=self.count.size).reshape(shape).astype(np.float64)
        some = number > 0
        mean = np.bincount(place, log_rtt, self.count.size).reshape(shape) / np.maximum(number, 1.0)
        square = np.bincount(place, (log_rtt - mean[job, hops]) ** 2, self.count.size).reshape(shape)
        total = self.count + number
        share = np.where(some, number / np.maximum(total, 1.0), 0.0)
        apart = mean - self.mean
        spread = self.count * self.var + square + apart**2 * self.count * share
        self.var = np.where(some, spread / np.maximum(total, 1.0), self.var)
        self.mean = self.mean + apart * share
        self.count = np.minimum(total, POOL_WINDOWS)


def bring_pools(pools: Sequence[Pools]) -> Pools:
    """The pools of several jobs as those of a panel."""
    names = [spec.name for spec in fields(Pools)]
    return Pools(*(np.stack([getattr(each, name) for each in pools]) for name in names))


def give_back(pools: Sequence[Pools], learned: Pools) -> None:
    """Each job gets its own again."""
    for number, each in enumerate(pools):
        each.count[:], each.mean[:], each.var[:] = learned.count[number], learned.mean[number], learned.var[number]


@dataclass(frozen=True, slots=True)
class Baseline:
    """Per position: mean and standard deviation of ln RTT, and whether enough is known to judge by it."""

    mean: Floats
    sd: Floats
    known: Flags


def hop_class(hops: Ints) -> Ints:
    """The pool of a path with that many links."""
    return np.minimum(hops, HOP_CLASSES - 1)


def pair_baseline(columns: PairColumns, sums: PairSums, pools: Pools, sigma_floor: float) -> Baseline:
    """Baselines of the pairs of a window; a pair whose path got longer or shorter starts anew."""
    row, job = sums.row, sums.job
    moved = (sums.hops > 0) & (columns.hops[row] > 0) & (sums.hops != columns.hops[row])
    columns.rtt_count[row[moved]] = 0.0
    columns.moved[row[moved]] = True
    columns.hops[row] = np.where(sums.hops > 0, sums.hops, columns.hops[row])
    pool = hop_class(columns.hops[row])
    own = columns.rtt_count[row]
    borrowed = np.where((pools.count[job, pool] >= POOL_LEAST) & ~columns.moved[row], BORROWED, 0.0)
    weight = np.maximum(own + borrowed, 1.0)
    mean = (own * columns.rtt_mean[row] + borrowed * pools.mean[job, pool]) / weight
    spread = np.where(borrowed > 0.0, BORROWED_SPREAD, 0.0)
    var = (own * columns.rtt_var[row] + spread * pools.var[job, pool]) / np.maximum(own + spread, 1.0)
    var = np.maximum(var, np.where(own >= PAIR_LEAST, columns.rtt_var[row], 0.0))
    var = var * (1.0 + 1.0 / weight) * (1.0 + DOUBT / (DOUBT + own))
    floor = np.maximum(sigma_floor, FLOOR_US / np.exp(mean))
    known = (borrowed > 0.0) | (own >= PAIR_LEAST)
    return Baseline(mean, np.maximum(np.sqrt(var), floor), known)


def follow_recent(columns: PairColumns, sums: PairSums) -> None:
    """Keeps the level of the last few windows, anomalous or not: what a pair that recovered goes on from."""
    heard = ~np.isnan(sums.log_rtt)
    row, x = sums.row[heard], sums.log_rtt[heard]
    count = np.minimum(columns.recent_count[row] + 1, RECENT)
    apart = x - columns.recent_mean[row]
    columns.recent_mean[row] += apart / count
    columns.recent_var[row] = columns.recent_var[row] * (1.0 - 1.0 / count) + apart**2 * (count - 1.0) / count**2
    columns.recent_count[row] = count


def learn_latency(columns: PairColumns, pools: Pools, sums: PairSums, baseline: Baseline, healthy: Flags) -> None:
    """Takes a window of healthy pairs in; what lies far outside the baseline counts as far as ``OUTLIER`` spreads."""
    chosen = healthy & ~np.isnan(sums.log_rtt)
    row, x = sums.row[chosen], sums.log_rtt[chosen]
    reach = np.where(baseline.known, OUTLIER * baseline.sd, np.inf)[chosen]
    x = np.clip(x, baseline.mean[chosen] - reach, baseline.mean[chosen] + reach)
    count = np.minimum(columns.rtt_count[row] + 1.0, PAIR_WINDOWS)
    apart = x - columns.rtt_mean[row]
    columns.rtt_mean[row] += apart / count
    columns.rtt_var[row] = np.maximum(
        0.0, columns.rtt_var[row] * (1.0 - 1.0 / count) + apart**2 * (count - 1.0) / count**2
    )
    columns.rtt_count[row] = count
    pools.learn(sums.job[chosen], hop_class(columns.hops[row]), x)


def restart_baseline(pairs: PairTable, row: int) -> None:
    """A pair that recovered: its last few windows are the new normal (a repaired path need not be the old one)."""
    columns = pairs.columns
    columns.rtt_var[row] = max(float(columns.recent_var[row]), float(columns.rtt_var[row]))
    columns.rtt_mean[row] = columns.recent_mean[row]
    columns.rtt_count[row] = RECENT
    columns.rtt_score[row] = 0.0
