"""Were the queues deep? Samples of every switch queue of the last minutes, and a test of "during" against "before".
 Test: under "nothing changed" a sample during the anomaly is above the 95th percentile of those before with chance
0.05; k of n above it speak for a change with n KL(k/n || 0.05) nats (Bernoulli). It counts as deep only if the
typical depth grew as well (median of the upper half at least ``TIMES`` the 95th percentile before): a spike is not
congestion. A queue that is deeper than others are when they mark packets, and marks none, has no congestion control
(``unmarked``). Depths in bytes, instants by the switch's clock. Memory: 16 bytes a sample and 8 a message for
``keep_us``.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, log

import numpy as np

from localization.arrays import Flags, Ints
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
COUNTERS = ("ecn_marked", "dropped", "pfc_rx", "pfc_tx", "crc_errors")
NO_COUNTERS = (None,) * len(COUNTERS)
NOT_READ, DEEPEST = -1, 2**63 - 1
Counts = tuple[int | None, ...]


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


def _integers() -> array[int]:
    return array("q")


@dataclass(slots=True)
class Series:
    """Samples of one queue, columns of length n: instants, and depths in bytes, ``NOT_READ`` where it was null.

    ``told_us``: when the counters were last read, once a message; ``counters``: from which message on they had which
    values, in the order of ``COUNTERS``: most never change.
    """

    t_us: array[int] = field(default_factory=_integers)
    depth: array[int] = field(default_factory=_integers)
    told_us: array[int] = field(default_factory=_integers)
    counters: list[tuple[int, Counts]] = field(default_factory=list)

    def add(self, column: QueueColumns) -> None:
        """Appends a message's samples."""
        self.t_us.extend(column.t_us)
        try:
            self.depth.extend(column.depth_bytes)  # type: ignore[arg-type]  # nearly always all are integers
        except (TypeError, OverflowError):
            del self.depth[len(self.t_us) - len(column.t_us) :]
            self.depth.extend([NOT_READ if each is None else min(each, DEEPEST) for each in column.depth_bytes])
        columns = (column.ecn_marked, column.dropped, column.pfc_rx, column.pfc_tx, column.crc_errors)
        if columns != NO_COUNTERS and column.t_us:
            values = tuple([each[-1] if each else None for each in columns])
            if not self.counters or self.counters[-1][1] != values:
                self.counters.append((len(self.told_us), values))
            self.told_us.append(column.t_us[-1])

    def trim(self, before_us: int) -> None:
        """Drops what is older; called now and then."""
        t_us = np.array(self.t_us, np.int64)
        kept = t_us >= before_us
        self.t_us, self.depth = _only(t_us, kept), _only(np.array(self.depth, np.int64), kept)
        told_us = np.array(self.told_us, np.int64)
        kept = told_us >= before_us
        self.told_us, places = _only(told_us, kept), [0, *np.cumsum(kept).tolist()]
        ends = [places[at] for at, _ in self.counters[1:]] + [places[-1]]
        runs = [(places[at], values) for at, values in self.counters]
        self.counters = [run for run, end in zip(runs, ends, strict=False) if run[0] < end]

    def depths(self, start_us: int, end_us: int) -> Ints:
        """Depths sampled in (start, end]."""
        t_us, depth = np.array(self.t_us, np.int64), np.array(self.depth, np.int64)
        inside: Ints = depth[(t_us > start_us) & (t_us <= end_us) & (depth != NOT_READ)]
        return inside

    def grown(self, start_us: int, end_us: int) -> dict[str, int]:
        """Counters that grew in (start, end]; a decrease is a reset and says nothing."""
        grown: dict[str, int] = {}
        for (_, earlier), (_, later) in pairwise(self._counts(start_us, end_us)):
            if earlier is later:
                continue
            for name, old, new in zip(COUNTERS, earlier, later, strict=True):
                if old is not None and new is not None and new > old:
                    grown[name] = grown.get(name, 0) + new - old
        return grown

    def marking(self, start_us: int, end_us: int, least_bytes: float) -> tuple[int, int]:
        """Intervals of (start, end] that were at least that deep and brought no mark, and those that brought marks."""
        unmarked = marked = 0
        for (begin_us, earlier), (until_us, later) in pairwise(self._counts(start_us, end_us)):
            old, new = earlier[0], later[0]
            if old is None or new is None or new < old:
                continue
            marked += new > old
            if new == old:
                unmarked += bool((self.depths(begin_us, until_us) >= least_bytes).any())
        return unmarked, marked

    def _counts(self, start_us: int, end_us: int) -> list[tuple[int, Counts]]:
        """Values of the counters that were told in (start, end], each with its instant."""
        told_us, starts = np.array(self.told_us, np.int64), [at for at, _ in self.counters]
        inside = np.flatnonzero((told_us > start_us) & (told_us <= end_us))
        runs = (np.searchsorted(starts, inside, "right") - 1).tolist()
        return [(t_us, self.counters[run][1]) for t_us, run in zip(told_us[inside].tolist(), runs, strict=True)]


def _only(column: Ints, kept: Flags) -> array[int]:
    return array("q", column[kept].tobytes())


@dataclass(slots=True)
class QueueStore:
    """Queues by port ``<switch>/<port>``, each port with one or more of them. ``marks_at``: least depth with marks.

    ``filled``: when a queue was last found deep, and what it had been before: one burst is not compared with another.
    """

    keep_us: int
    marks_at: float = inf
    ports: dict[str, dict[str, Series]] = field(default_factory=dict)
    trimmed_us: int = 0
    filled: dict[str, tuple[int, Before]] = field(default_factory=dict)

    def take(self, value: SwitchQueues) -> None:
        """Notes a message."""
        for column in value.ports:
            queues, name = self.ports.setdefault(f"{value.switch}/{column.port}", {}), str(column.queue)
            if name not in queues:
                queues[name] = Series()
            queues[name].add(column)
            self._see_marks(column)

    def _see_marks(self, column: QueueColumns) -> None:
        """Learns how deep a queue of this fabric is when it marks packets."""
        if not column.ecn_marked or column.ecn_marked[0] == column.ecn_marked[-1] is not None:
            return  # nearly all
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
        for port in list(self.ports):
            for series in self.ports[port].values():
                series.trim(t_us - self.keep_us)
            if not any(series.t_us for series in self.ports[port].values()):
                del self.ports[port]

    def test(self, port: str, onset_us: int, now_us: int, known: dict[str, Before]) -> QueueTest | None:
        """The deepest queue of a port since the onset; None: too few samples. ``known`` keeps what was before."""
        tests = []
        for queue in sorted(self.ports.get(port, {})):
            series = self.ports[port][queue]
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
        for series in self.ports.get(port, {}).values():
            for name, number in series.grown(start_us, end_us).items():
                total[name] = max(total.get(name, 0), number)
        return total


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
    first = p * log(p / q) if p > 0.0 else 0.0
    return first + ((1.0 - p) * log((1.0 - p) / (1.0 - q)) if p < 1.0 else 0.0)
