"""Does a pair lose more than its background? A CUSUM (Page 1954) on sent/lost for several loss rates at once.
 For an alternative p1 and the background p0 a window adds lost ln(p1/p0) + (sent - lost) ln((1-p1)/(1-p0)) nats;
the sum is kept at zero or above, and alarms at ln(windows between false alarms) (Lorden 1971: mean time between
false alarms >= e^threshold). Heavy loss passes in one window, loss near the smallest alternative after the number
of packets that any sequential test needs. p0 is the pair's own loss, drawn towards the job's when the pair is new;
an alternative is at least five times p0. The onset is the first lossy train since the winning sum last was zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from localization.arrays import Floats, Ints
from localization.columns import PairSums
from localization.pairs import PairColumns

MEMORY_WINDOWS = 300.0
"""The job's background forgets with this time constant, seconds."""
PAIR_PACKETS = 1e6
"""A pair's own history is worth at most this many packets."""
VOUCH = 0.02
"""No pair can claim more than this as background, or a big outage would pass as one."""
RATIO = 5.0
CEILING = 0.95


@dataclass(slots=True)
class LossBackground:
    """Loss of a whole job without its anomalies: decayed packet counts. Sums of packets are exact in floats."""

    sent: float
    lost: float


def loss_with_window(background: Sequence[LossBackground], sums: PairSums) -> Floats:
    """Background loss by job, the present window included as far as pairs may vouch (the first second has no past)."""
    size = len(background)
    lost = np.array([each.lost for each in background]) + _vouched(sums.job, sums.sent, sums.lost, size)
    return np.asarray(lost / (np.array([each.sent for each in background]) + np.bincount(sums.job, sums.sent, size)))


def learn_background(background: Sequence[LossBackground], job: Ints, sent: Ints, lost: Ints) -> None:
    """Takes a window of healthy pairs in."""
    keep, size = 1.0 - 1.0 / MEMORY_WINDOWS, len(background)
    packets, vouched = np.bincount(job, sent, size).tolist(), _vouched(job, sent, lost, size).tolist()
    for number, each in enumerate(background):
        each.sent = each.sent * keep + packets[number]
        each.lost = each.lost * keep + vouched[number]


def _vouched(job: Ints, sent: Ints, lost: Ints, size: int) -> Floats:
    return np.asarray(np.bincount(job, np.minimum(lost, np.ceil(VOUCH * sent)), size), np.float64)


@dataclass(frozen=True, slots=True)
class LossScores:
    """Per position: evidence (nats) of the best alternative, that alternative, its onset, and the background p0."""

    score: Floats
    alternative: Floats
    since_us: Ints
    background: Floats


def pair_background(columns: PairColumns, row: Ints, pooled: Floats, weight: float) -> Floats:
    """Background of pairs: their own history and ``weight`` packets at the rate of their job (``pooled``, by pair)."""
    return np.asarray((weight * pooled + columns.loss_lost[row]) / (weight + columns.loss_sent[row]))


def score_loss(columns: PairColumns, sums: PairSums, background: Floats, alternatives: tuple[float, ...]) -> LossScores:
    """Adds the window to every pair's sums."""
    row = sums.row
    p0 = background[:, None]
    p1 = np.minimum(np.maximum(np.array(alternatives)[None, :], RATIO * p0), CEILING)
    lost, sent = sums.lost[:, None], sums.sent[:, None]
    gain = lost * np.log(p1 / p0) + (sent - lost) * (np.log1p(-p1) - np.log1p(-p0))
    before = columns.loss_score[row]
    after = np.maximum(0.0, before + gain)
    fresh = (before == 0.0) & (after > 0.0)
    columns.loss_since_us[row] = np.where(fresh, sums.lossy_us[:, None], columns.loss_since_us[row])
    columns.loss_score[row] = after
    best = np.argmax(after, axis=1)
    each = np.arange(len(row))
    return LossScores(after[each, best], p1[each, best], columns.loss_since_us[row][each, best], background)


def learn_loss(columns: PairColumns, row: Ints, sent: Ints, lost: Ints) -> None:
    """Takes a window of healthy pairs into their own history."""
    columns.loss_sent[row] += sent
    columns.loss_lost[row] += lost
    scale = np.minimum(1.0, PAIR_PACKETS / np.maximum(columns.loss_sent[row], 1.0))
    columns.loss_sent[row] *= scale
    columns.loss_lost[row] *= scale


def recovery_gain(sent: int, lost: int, background: float, level: float) -> float:
    """Nats by which a window speaks for the background against a loss of ``level``."""
    return float(lost * np.log(background / level) + (sent - lost) * (np.log1p(-background) - np.log1p(-level)))
