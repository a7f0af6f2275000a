"""Is a pair cut off? ``failed_trains`` trains in a row of which every probe was lost, and enough probes to mean it.

Evidence in nats: (lost probes) x ln(1 / background loss). Both the number of trains and the nats must be reached, so
that single-packet trains need more of them than long ones. A fully lost train is held back from the loss test until
the next one shows whether it was the start of an outage.
Cost: vectorised over pairs without a lost train; a short loop over the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from localization.arrays import Floats
from localization.columns import PairSums, Trains
from localization.pairs import PairColumns


@dataclass(frozen=True, slots=True)
class Outage:
    """A pair that is cut off: position in ``PairSums``, first failed train, evidence in nats, probes lost."""

    at: int
    since_us: int
    score: float
    lost: int


@dataclass(frozen=True, slots=True)
class FailedTrains:
    """What the second's trains say: pairs cut off, last failed train by position, packets handed to the loss test."""

    outages: list[Outage]
    failed_us: dict[int, int]
    handed: dict[int, int]


def follow_trains(
    columns: PairColumns, trains: Trains, sums: PairSums, cut: set[int], rule: tuple[int, float, Floats]
) -> FailedTrains:
    """Continues streaks of failed trains. ``cut``: rows known to be cut off; ``rule``: trains, nats, loss (by job)."""
    found = FailedTrains([], {}, {})
    failed = np.maximum.reduceat((trains.lost == trains.sent)[sums.order], sums.start)
    for at in np.flatnonzero(failed | (columns.streak[sums.row] > 0)).tolist():
        _follow(columns, trains, sums, at, found, int(sums.row[at]) in cut)
        row = int(sums.row[at])
        evidence = int(columns.streak_lost[row]) * log(1.0 / float(rule[2][sums.job[at]]))
        if columns.streak[row] >= rule[0] and evidence >= rule[1]:
            outage = Outage(at, int(columns.streak_since_us[row]), evidence, int(columns.streak_lost[row]))
            found.outages.append(outage)
    return found


def _follow(columns: PairColumns, trains: Trains, sums: PairSums, at: int, found: FailedTrains, is_cut: bool) -> None:
    row = int(sums.row[at])
    end = sums.start[at + 1] if at + 1 < len(sums.start) else len(sums.order)
    for train in sums.order[sums.start[at] : end].tolist():
        lost = int(trains.lost[train])
        if lost == trains.sent[train]:
            if columns.streak[row] == 0:
                columns.streak_since_us[row] = trains.t_us[train]
            columns.streak[row] += 1
            columns.streak_lost[row] += lost
            found.failed_us[at] = int(trains.t_us[train])
            continue
        if columns.streak[row] and not is_cut:
            found.handed[at] = found.handed.get(at, 0) + int(columns.streak_lost[row])
        columns.streak[row] = columns.streak_lost[row] = 0
