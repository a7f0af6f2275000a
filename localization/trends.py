"""Which pairs have grown slower than the fast tests can see? Short and long windows, their anomalies, and their end.

Both tests report ``high_latency`` under detectors of their own. While a pair has an open anomaly of any kind, their
windows are judged for recovery only. An anomaly of theirs is over when two windows (blocks) in a row lie nearer to the
usual level than to the one at which it was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp

import numpy as np

from localization.anomalies import RECOVERY_NATS, AnomalyBook, Finding
from localization.arrays import Flags, Floats, Ints
from localization.columns import PairSums
from localization.longterm import BLOCK_US, LongWindows, follow_blocks
from localization.pairs import BLOCKS, PairColumns
from localization.parameters import DetectionParameters
from localization.shortterm import WINDOW_US, ShortWindows, Spreads, follow_windows
from schemas.diagnosis import Observed
from schemas.instants import SECOND_US

SHORT, LONG = "rtt-outlier", "rtt-drift"


@dataclass(slots=True)
class Trends:
    """What the slow tests remember of a job beside the columns of its pairs."""

    spreads: Spreads = field(default_factory=Spreads)
    book: AnomalyBook = field(default_factory=AnomalyBook)


def judge_trends(
    trends: Sequence[Trends],
    pairs: tuple[PairColumns, Sequence[slice]],
    sums: PairSums,
    frozen: Flags,
    rule: tuple[DetectionParameters, int],
) -> list[Finding]:
    """Takes a second in; returns what is newly wrong.

    ``trends``: by job; ``pairs``: columns, and the rows of each job in them; ``frozen``: by row, pairs with an open
    anomaly of any kind; ``rule``: parameters and the end of the second (us).
    """
    (columns, stretches), (parameters, t_us) = pairs, rule
    effect = _least_effect(columns, sums, parameters.least_shift_us)
    spreads = [each.spreads for each in trends]
    short = follow_windows(columns, spreads, sums, frozen, (parameters.outlier_factor, effect), t_us)
    over, long = follow_blocks(columns, stretches, sums, frozen, (parameters.drift_sigma, effect), t_us)
    for number, each in enumerate(trends):
        if each.book.open:
            _weigh(each.book, (number, stretches[number].start), sums, (short, over, long), t_us)
    found = [_outlier(sums, short, n) for n in np.flatnonzero(short.alarm).tolist()]
    taken = {finding.row for finding in found}
    drifts = [_drift(int(over[n]), long, n) for n in np.flatnonzero(long.alarm).tolist()]
    return found + [finding for finding in drifts if finding.row not in taken]


def _least_effect(columns: PairColumns, sums: PairSums, shift_us: float) -> Floats:
    """The shift in ln RTT that is ``shift_us`` at the pair's own level, by position."""
    level = np.where(columns.rtt_count[sums.row] > 0, columns.rtt_mean[sums.row], sums.log_rtt)
    return np.log1p(shift_us / np.exp(np.where(np.isnan(level), 0.0, level)))


def _outlier(sums: PairSums, windows: ShortWindows, n: int) -> Finding:
    at = int(windows.at[n])
    level, usual = float(windows.level[n]), float(windows.usual[n])
    return Finding(
        at=at,
        row=int(sums.row[at]),
        symptom="high_latency",
        detector=SHORT,
        onset_us=int(windows.begin_us[n]) - WINDOW_US,
        score=float(windows.factor[n]),
        level=(level + usual) / 2.0,
        baseline=Observed(rtt_us=round(exp(usual), 3)),
        observed=Observed(rtt_us=round(exp(level), 3), window_s=WINDOW_US / SECOND_US),
    )


def _drift(at: int, windows: LongWindows, n: int) -> Finding:
    level, usual = float(windows.level[n]), float(windows.usual[n])
    return Finding(
        at=at,
        row=int(windows.row[n]),
        symptom="high_latency",
        detector=LONG,
        onset_us=int(windows.begin_us[n]),
        score=float(windows.score[n]),
        level=(level + usual) / 2.0,
        baseline=Observed(rtt_us=round(exp(usual), 3)),
        observed=Observed(rtt_us=round(exp(level), 3), window_s=BLOCKS * BLOCK_US / SECOND_US),
    )


def _weigh(
    book: AnomalyBook, job: tuple[int, int], sums: PairSums, closed: tuple[ShortWindows, Ints, LongWindows], t_us: int
) -> None:
    """What closed windows say for the recovery of a job's pairs with an open anomaly of the detector that they belong
    to. ``job``: its number and first row."""
    (number, begin), (short, over, long) = job, closed
    of_short, of_long = (np.flatnonzero(sums.job[at] == number) for at in (short.at, over))
    rows = (sums.row[short.at[of_short]] - begin).tolist(), (sums.row[over[of_long]] - begin).tolist()
    levels = {
        SHORT: dict(zip(rows[0], short.level[of_short].tolist(), strict=True)),
        LONG: dict(zip(rows[1], long.block[of_long].tolist(), strict=True)),
    }
    for key, anomaly in book.open.items():
        level = levels[anomaly.message.detector].get(key[0])
        if level is not None:
            bad = level >= anomaly.level
            book.weigh(key, -RECOVERY_NATS if bad else RECOVERY_NATS / 2.0, t_us, bad)
