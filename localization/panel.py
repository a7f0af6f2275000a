"""Who judges? One judge per job remembers all about its pairs; a panel judges one second of many jobs together.

What is remembered of pairs lies in columns of all jobs of the panel; ``begin`` is the row with which each job's begin,
and grows from one judge to the next. What is remembered of a job as a whole is brought together for the second and
given back. No job's numbers touch another's: each sum is one job's own, in the order of its own pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log

import numpy as np

from localization.anomalies import AnomalyBook
from localization.arrays import Flags, Floats, Ints
from localization.baseline import Pools
from localization.columns import PairSums
from localization.loss import LossBackground
from localization.pairs import PairColumns, PairTable
from localization.parameters import DetectionParameters
from localization.sheet import Sheet
from localization.tails import StepTails, latency_threshold
from localization.trends import Trends
from schemas.diagnosis import Symptom

WINDOWS_PER_HOUR = 3600.0
JOB_PRIOR_PACKETS = 10_000.0


@dataclass(slots=True)
class Judge:
    """Everything that detection remembers of a job's pairs. ``decay``: of the latency score's tail, per unit."""

    parameters: DetectionParameters
    pairs: PairTable
    background: LossBackground
    tails: StepTails
    decay: float
    pools: Pools = field(default_factory=Pools)
    book: AnomalyBook = field(default_factory=AnomalyBook)
    trends: Trends = field(default_factory=Trends)

    @property
    def books(self) -> tuple[AnomalyBook, AnomalyBook]:
        """Open anomalies of the fast and of the slow tests."""
        return self.book, self.trends.book

    @property
    def is_ill(self) -> bool:
        """Whether any anomaly is open."""
        return bool(self.book.open or self.trends.book.open)

    def ill(self) -> set[int]:
        """Rows of pairs with an open anomaly."""
        return self.book.rows() | self.trends.book.rows()


def new_judge(parameters: DetectionParameters) -> Judge:
    """A judge that has seen nothing."""
    prior = LossBackground(JOB_PRIOR_PACKETS, JOB_PRIOR_PACKETS * parameters.background_loss)
    tails = StepTails(parameters.latency_clip_sigma)
    decay = 2.0 * parameters.latency_allowance_sigma
    return Judge(parameters, PairTable(len(parameters.loss_alternatives)), prior, tails, decay)


@dataclass(frozen=True, slots=True)
class Panel:
    """Judges of one second, at least one, all with the same parameters. ``begin``: of each, its first row."""

    judges: Sequence[Judge]
    columns: PairColumns
    begin: Ints

    @property
    def parameters(self) -> DetectionParameters:
        """What all of them judge by."""
        return self.judges[0].parameters

    @property
    def nats(self) -> float:
        """Evidence that an alarm of loss or unconnectivity needs."""
        return log(self.parameters.false_alarm_pair_hours * WINDOWS_PER_HOUR)

    def reach(self) -> Floats:
        """Score that an alarm of latency needs, by judge."""
        windows = self.parameters.false_alarm_pair_hours * WINDOWS_PER_HOUR
        decay = np.array([judge.decay for judge in self.judges])
        return latency_threshold(self.parameters.latency_allowance_sigma, windows, decay)

    def ill(self, symptom: Symptom) -> set[int]:
        """Rows of pairs with an open anomaly of the fast tests of that symptom."""
        books = ((n, judge.book) for n, judge in enumerate(self.judges) if judge.book.open)
        return set().union(*(self._rows(book.rows(symptom), n) for n, book in books))

    def frozen(self, rows: set[int]) -> Flags:
        """By row, whether the pair has an open anomaly of any kind, or is one of ``rows``."""
        flags = np.zeros(self.columns.size, np.bool_)
        ill = (self._rows(judge.ill(), n) for n, judge in enumerate(self.judges) if judge.is_ill)
        flags[list(rows.union(*ill))] = True
        return flags

    def stretches(self) -> list[slice]:
        """The rows of each judge."""
        return [
            slice(n, n + judge.pairs.columns.size) for n, judge in zip(self.begin.tolist(), self.judges, strict=True)
        ]

    def _rows(self, own: set[int], number: int) -> set[int]:
        return {int(self.begin[number]) + row for row in own}

    def own(self, sums: PairSums, number: int) -> list[tuple[int, int]]:
        """The pairs of one judge: (row in its own table, position)."""
        first = int(sums.first[number])
        end = int(sums.first[number + 1]) if number + 1 < len(sums.first) else len(sums.row)
        rows = sums.row[first:end] - self.begin[number]
        return list(zip(rows.tolist(), range(first, end), strict=True))


def seat(judges: Sequence[Judge], present: Sequence[bool], sheet: Sheet) -> tuple[Panel, list[int]]:
    """Those that are ``present`` as a panel, and their numbers among all, who keep their places on the sheet."""
    columns, begin = sheet.lay([judge.pairs for judge in judges])
    order = sorted((n for n in range(len(judges)) if present[n]), key=begin.__getitem__)
    return Panel([judges[n] for n in order], columns, np.array([begin[n] for n in order], np.int64)), order
