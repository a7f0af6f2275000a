"""Did a pair's last half minute look unlike the five minutes before? The paper's short-term test, made robust.

Windows of 30 s with one value a second (mean ln RTT), seven features: P25, P50, P75, minimum, mean, standard deviation
and maximum of them. Their unit: what they differ by from one window to the next among the job's pairs (``Spreads``), in
terms of each pair's own standard deviation within a window (median of the windows before, never below ``LEAST_SD``).
A window is an outlier when its mean lies ``APART`` such units and the least effect above the median of the ten windows
before, and its local outlier factor against these (``localization.factors``) is high. Two in a row alarm. Outliers are
not learned, and no window of a pair with an open anomaly is.
Windows are multiples of 30 s in event time; a pair's window is judged when its first train after it arrives. Windows
with fewer than ``LEAST_VALUES`` values are left out. Cost: 0.5 us per pair and window, 20 us for each that lies apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from localization.arrays import Flags, Floats, Ints, Singles, runs_by
from localization.columns import PairSums
from localization.factors import local_outlier_factors
from localization.pairs import FEATURES, SHORT_VALUES, SHORT_WINDOWS, PairColumns
from schemas.instants import SECOND_US

WINDOW_US = SHORT_VALUES * SECOND_US
LEAST_VALUES = 10
LEAST_WINDOWS = 5
NEIGHBOURS = 4
MEAN, DEVIATION = 4, 5
APART = 4.5
LEAST_SD = 0.05
SPREAD_PRIOR = 200.0
SPREAD_MEMORY = 20_000.0
PRIOR_SPREADS = (0.25, 0.23, 0.25, 0.5, 0.18, 0.13, 0.5)
"""Of thirty normal values with standard deviation 1: what is assumed before windows were seen."""


def _prior() -> Floats:
    return np.array(PRIOR_SPREADS) ** 2 * SPREAD_PRIOR


@dataclass(slots=True)
class Spreads:
    """How much each feature differs between windows, in standard deviations within: sum of squares and number."""

    count: float = SPREAD_PRIOR
    square: Floats = field(default_factory=_prior)

    def scale(self) -> Floats:
        """Standard deviation of each feature, shape (7,)."""
        return np.sqrt(self.square / self.count)

    def learn(self, apart: Floats) -> None:
        """Takes differences of successive windows in, shape (n, 7), as far as four standard deviations."""
        reach = 4.0 * np.sqrt(2.0) * self.scale()
        self.count += len(apart)
        self.square = self.square + (np.clip(apart, -reach, reach) ** 2).sum(axis=0) / 2.0
        keep = min(1.0, SPREAD_MEMORY / self.count)
        self.count, self.square = self.count * keep, self.square * keep


@dataclass(frozen=True, slots=True)
class ShortWindows:
    """Closed windows, columns: position in the pair sums, begin (us), mean ln RTT, the median of the means before
    (nan: too few), outlier factor (0: not apart), whether it is the second outlier in a row."""

    at: Ints
    begin_us: Ints
    level: Floats
    usual: Floats
    factor: Floats
    alarm: Flags


def follow_windows(
    columns: PairColumns,
    spreads: Sequence[Spreads],
    sums: PairSums,
    frozen: Flags,
    rule: tuple[float, Floats],
    t_us: int,
) -> ShortWindows:
    """Closes the windows that are over, then takes the second's values in.

    ``spreads``: by job; ``frozen``: by row, pairs whose windows are not learned; ``rule``: least factor of an outlier,
    and least effect (ln) by position in ``sums``.
    """
    number = (t_us - 1) // WINDOW_US
    over = np.flatnonzero((columns.short_window[sums.row] != number) & (columns.short_count[sums.row] > 0))
    closed = _NONE
    if len(over):
        closed = _close(columns, spreads, (sums.row[over], sums.job[over]), frozen, (rule[0], rule[1][over], number))
    heard = ~np.isnan(sums.log_rtt)
    row = sums.row[heard]
    columns.short_window[row] = number
    place = np.minimum(columns.short_count[row], SHORT_VALUES - 1)
    columns.short_value[row, place] = sums.log_rtt[heard]
    columns.short_count[row] = place + 1
    return ShortWindows(over, *closed)


_Closed = tuple[Ints, Floats, Floats, Floats, Flags]
_NONE: _Closed = (np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0), np.zeros(0, np.bool_))


def _close(
    columns: PairColumns,
    spreads: Sequence[Spreads],
    pair: tuple[Ints, Ints],
    frozen: Flags,
    rule: tuple[float, Floats, int],
) -> _Closed:
    """``pair``: row and job."""
    (row, job), (least, effect, number) = pair, rule
    begin_us = columns.short_window[row] * WINDOW_US
    enough = columns.short_count[row] >= LEAST_VALUES
    features = features_of(columns.short_value[row], columns.short_count[row])
    columns.short_count[row] = 0
    past, known = columns.short_past[row], columns.short_known[row]
    usual, sd = _median(past[:, :, MEAN], known), np.maximum(_median(past[:, :, DEVIATION], known), LEAST_SD)
    scale = np.stack([each.scale() for each in spreads])[job] * sd[:, None]
    apart = enough & (features[:, MEAN] - usual >= np.maximum(effect, APART * scale[:, MEAN]))
    factor = np.zeros(len(row))
    for size in np.unique(known[apart]).tolist():
        same = np.flatnonzero(apart & (known == size))
        units = scale[same]
        reference, query = past[same, :size] / units[:, None, :], features[same] / units
        factor[same] = local_outlier_factors(reference, query, NEIGHBOURS, 1.0)
    outlier = factor >= least
    alarm = outlier & columns.short_doubt[row] & (columns.short_window[row] == number - 1) & ~frozen[row]
    columns.short_doubt[row] = outlier & ~frozen[row]
    good = enough & ~outlier & ~frozen[row]
    _learn(columns, spreads, (row[good], job[good]), features[good], sd[good])
    return begin_us, features[:, MEAN].astype(np.float64), usual, factor, alarm


def features_of(values: Singles, count: Ints) -> Singles:
    """Seven features of the first ``count`` > 0 values of each row, shape (n, 7)."""
    place = np.arange(values.shape[1])
    there = place[None, :] < count[:, None]
    ordered = np.sort(np.where(there, values, np.float32(np.inf)), axis=1)
    each = np.arange(len(values))
    last = count - 1
    quantiles = [ordered[each, np.rint(share * last).astype(np.int64)] for share in (0.25, 0.5, 0.75)]
    mean = np.where(there, values, np.float32(0.0)).sum(axis=1) / count
    square = (np.where(there, values - mean[:, None], 0.0) ** 2).sum(axis=1) / count
    return np.stack([*quantiles, ordered[:, 0], mean, np.sqrt(square), ordered[each, last]], axis=1).astype(np.float32)


def _median(past: Singles, known: Ints) -> Floats:
    """Median of the first ``known`` of each row's windows, nan where these are fewer than ``LEAST_WINDOWS``."""
    there = np.arange(SHORT_WINDOWS)[None, :] < known[:, None]
    ordered = np.sort(np.where(there, past, np.float32(np.inf)), axis=1)
    each, size = np.arange(len(past)), np.maximum(known, 1)
    middle = (ordered[each, (size - 1) // 2] + ordered[each, size // 2]) / 2.0
    return np.where(known >= LEAST_WINDOWS, middle, np.nan).astype(np.float64)


def _learn(
    columns: PairColumns, spreads: Sequence[Spreads], pair: tuple[Ints, Ints], features: Singles, sd: Floats
) -> None:
    row, job = pair
    place = columns.short_next[row]
    apart = (features - columns.short_past[row, (place - 1) % SHORT_WINDOWS]) / sd[:, None]
    known = ~np.isnan(sd)
    for number, run in runs_by(job[known]):
        spreads[number].learn(apart[known][run])
    columns.short_past[row, place] = features
    columns.short_next[row] = (place + 1) % SHORT_WINDOWS
    columns.short_known[row] = np.minimum(columns.short_known[row] + 1, SHORT_WINDOWS)


assert len(PRIOR_SPREADS) == FEATURES
