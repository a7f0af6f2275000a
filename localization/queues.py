"""Were the queues deep? Samples of every switch queue of the last minutes, and a test of "during" against "before".
 Test: under "nothing changed" a sample during the anomaly is above the 95th percentile of those before with chance
0.05; k of n above it speak for a change with n KL(k/n || 0.05) nats (Bernoulli). It counts as deep only if the
typical depth grew as well (median of the upper half at least ``TIMES`` the 95th percentile before): a spike is not
congestion. A queue that is deeper than others are when they mark packets, and marks none, has no congestion control
(``unmarked``). Depths in bytes, instants by the switch's clock.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from localization.queue_log import Layout, QueueLog, Series, joined
from schemas.instants import SECOND_US
from schemas.telemetry import QueueColumns, SwitchQueues

TAIL = 0.05
TIMES = 3.0
LEAST_BYTES = 4096
LEAST_NATS = 6.0
LEAST_SAMPLES = 5
SURE_SAMPLES, SURE_US = 20, 15 * SECOND_US
LATELY_US = 90 * SECOND_US
LEAST_DURING = 3
EARLY_US = 45 * SECOND_US
"""The first and the last samples of an anomaly are looked at: what has ended, or began later, is not averaged away."""
LEAST_UNMARKED = 2
MARKING_BYTES = 500_000
"""Where no queue of the fabric has been seen to mark, a queue this deep should: twice what fast links are set to."""
MARKING_SLACK = 1.5
MOST_LAYOUTS = 16
"""Of one switch: where each message tells of other queues, each queue has a log of its own."""


@dataclass(frozen=True, slots=True)
class Before:
    """A queue before the anomaly: number of samples, median, 95th percentile, bytes."""

    samples: int
    median: float
    upper: float


@dataclass(frozen=True, slots=True)
class QueueTest:
    """A queue during the anomaly against before. ``grown``: counters that grew, with by how much.

    ``unmarked``: intervals in which it was deep enough to mark packets and is known to have marked none; ``marked``:
    intervals in which it did mark.
    """

    port: str
    before: Before
    samples: int
    median: float
    upper: float
    nats: float
    deep: bool
    last_us: int
    grown: dict[str, int]
    unmarked: int = 0
    marked: int = 0

    @property
    def uncontrolled(self) -> bool:
        """Whether the queue grows without telling its senders, again and again."""
        return self.deep and self.marked == 0 and self.unmarked >= LEAST_UNMARKED


@dataclass(slots=True)
class QueueStore:
    """Queues by port ``<switch>/<port>``, each port with one or more of them. ``marks_at``: least depth with marks.

    ``logs``: of each switch one for each set of queues that it has told of at the same instants; ``places``: where
    each queue stands in them; ``layouts``: how many of a switch hold several queues. ``messages``: how many have come.
    ``filled``: when a queue was last found deep, and what it had been before: one burst is not compared with another.
    """

    keep_us: int
    marks_at: float = inf
    logs: dict[tuple[str, Layout], QueueLog] = field(default_factory=dict)
    trimmed_us: int = 0
    filled: dict[str, tuple[int, Before]] = field(default_factory=dict)
    messages: int = 0
    places: dict[str, dict[str, list[tuple[QueueLog, int]]]] = field(default_factory=dict)
    layouts: dict[str, int] = field(default_factory=dict)

    def __getstate__(self) -> tuple[object, ...]:
        return self.keep_us, self.marks_at, self.logs, self.trimmed_us, self.filled, self.messages

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.keep_us, self.marks_at, self.logs, self.trimmed_us, self.filled, self.messages = state
        self._find_places()

    def take(self, value: SwitchQueues) -> None:
        """Notes a message."""
        self.messages += 1
        for columns in _alike(value.ports):
            for log, some in self._logs(value.switch, columns):
                log.add(some, self.messages)
        for column in value.ports:
            marks = column.ecn_marked
            if marks and (marks[0] != marks[-1] or marks[-1] is None):  # nearly none
                self._see_marks(column)

    def _logs(self, switch: str, columns: Sequence[QueueColumns]) -> Iterator[tuple[QueueLog, Sequence[QueueColumns]]]:
        """Which log takes which columns."""
        layout = tuple([(column.port, column.queue) for column in columns])
        known = self.logs.get((switch, layout))
        if known is not None:
            yield known, columns
        elif len(layout) == 1 or self.layouts.get(switch, 0) < MOST_LAYOUTS:
            yield self._begin(switch, layout), columns
        else:
            for column in columns:
                yield from self._logs(switch, (column,))

    def _begin(self, switch: str, layout: Layout) -> QueueLog:
        log = self.logs[switch, layout] = QueueLog(layout)
        self._place(switch, log)
        return log

    def _place(self, switch: str, log: QueueLog) -> None:
        self.layouts[switch] = self.layouts.get(switch, 0) + (len(log.layout) > 1)
        for place, (port, queue) in enumerate(log.layout):
            self.places.setdefault(f"{switch}/{port}", {}).setdefault(str(queue), []).append((log, place))

    def _see_marks(self, column: QueueColumns) -> None:
        """Learns how deep a queue of this fabric is when it marks packets."""
        marks = [value for value in column.ecn_marked or () if value is not None]
        depths = [depth for depth in column.depth_bytes if depth is not None]
        if len(marks) > 1 and marks[-1] > marks[0] and depths:
            self.marks_at = min(self.marks_at, max(depths))

    @property
    def marking_bytes(self) -> float:
        """From which depth on a queue that marks nothing is not controlled."""
        return MARKING_BYTES if self.marks_at == inf else max(MARKING_SLACK * self.marks_at, LEAST_BYTES)

    def trim(self, t_us: int) -> None:
        """Keeps memory bounded; does something once a minute."""
        if t_us - self.trimmed_us < 60 * SECOND_US:
            return
        self.trimmed_us = t_us
        self.logs = {key: log for key, log in self.logs.items() if log.trim(t_us - self.keep_us)}
        self._find_places()

    def _find_places(self) -> None:
        self.places, self.layouts = {}, {}
        for (switch, _), log in self.logs.items():
            self._place(switch, log)

    def series(self, port: str) -> dict[str, Series]:
        """The queues of a port by name."""
        places = self.places.get(port, {})
        return {queue: joined([log.piece(place) for log, place in places[queue]]) for queue in sorted(places)}

    def test(self, port: str, onset_us: int, now_us: int, known: dict[str, Before]) -> QueueTest | None:
        """The deepest queue of a port since the onset; None: too few samples. ``known`` keeps what was before."""
        tests = []
        for queue, series in self.series(port).items():
            key = f"{port} {queue}"
            if key not in known:
                last_us, before = self.filled.get(key, (-LATELY_US, Before(0, 0.0, inf)))
                lately = onset_us <= last_us + LATELY_US
                known[key] = before if lately else _before(series, onset_us, self.keep_us)
            begin_us = onset_us - SECOND_US
            spans = {(begin_us, min(now_us, onset_us + EARLY_US)), (max(begin_us, now_us - EARLY_US), now_us)}
            found = [_compare(port, series, known[key], span, self.marking_bytes) for span in sorted(spans)]
            if any(test is not None and test.deep for test in found):
                self.filled[key] = now_us, known[key]
            tests += found
        known_tests = [test for test in tests if test is not None]
        return max(known_tests, key=lambda test: (test.deep, test.nats, test.upper)) if known_tests else None

    def grown(self, port: str, start_us: int, end_us: int) -> dict[str, int]:
        """Counters of a port that grew in (start, end], over all its queues (crc_errors and pfc are the port's)."""
        total: dict[str, int] = {}
        for series in self.series(port).values():
            for name, number in series.grown(start_us, end_us).items():
                total[name] = max(total.get(name, 0), number)
        return total


def _alike(columns: Sequence[QueueColumns]) -> list[Sequence[QueueColumns]]:
    """Columns in groups that were sampled at the same instants; nearly always all of them. Without empty ones."""
    if columns and all([column.t_us == columns[0].t_us for column in columns]):
        return [columns] if columns[0].t_us else []
    groups: dict[tuple[int, ...], list[QueueColumns]] = {}
    for column in columns:
        if column.t_us:
            groups.setdefault(column.t_us, []).append(column)
    return list(groups.values())


def _before(series: Series, onset_us: int, keep_us: int) -> Before:
    """What was before an onset, without the last ``SURE_US``: a queue may fill up some time before pairs fall ill."""
    depths = series.depths(onset_us - keep_us, onset_us - SURE_US)
    if len(depths) < SURE_SAMPLES:
        depths = series.depths(onset_us - keep_us, onset_us - SECOND_US)
    if len(depths) < LEAST_SAMPLES:
        return Before(len(depths), 0.0, inf)
    median, upper = np.quantile(depths, [0.5, 1.0 - TAIL]).tolist()
    return Before(len(depths), median, upper)


def _compare(
    port: str, series: Series, before: Before, span: tuple[int, int], marking_bytes: float
) -> QueueTest | None:
    depths = series.depths(*span)
    if len(depths) < LEAST_DURING or before.samples < LEAST_SAMPLES:
        return None
    median, upper = np.quantile(depths, [0.5, 0.75]).tolist()
    above = int(np.count_nonzero(depths > before.upper)) / len(depths)
    nats = len(depths) * _divergence(above, TAIL) if above > TAIL else 0.0
    deep = nats >= LEAST_NATS and upper >= max(TIMES * before.upper, LEAST_BYTES)
    marking = series.marking(*span, marking_bytes) if deep else (0, 0)
    return QueueTest(port, before, len(depths), median, upper, nats, deep, span[1], series.grown(*span), *marking)


def _divergence(p: float, q: float) -> float:
    """Kullback-Leibler divergence of Bernoulli(p) from Bernoulli(q), nats."""
    first = p * math.log(p / q) if p > 0.0 else 0.0
    return first + ((1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if p < 1.0 else 0.0)
