"""What did probes and counters show, second by second? Data for pictures of one recording, with or without truth.

RTT quantiles are over the samples of a second (us), loss is lost / sent of a second, throughput is sent bytes per
second of an RNIC (Gb/s) from differences of cumulative counters; a null or a decrease has no difference. Seconds count
from the recording's start. Cost: O(results + samples) time and memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from schemas.envelope import Value
from schemas.instants import SECOND_US
from schemas.probing import ProbeResults
from schemas.telemetry import RnicColumns, RnicCounters, SwitchQueues

GIGABIT = 1e9 / 8
Pair = tuple[str, str]
Span = tuple[float, float]


@dataclass(slots=True)
class PairSeries:
    """One pair's samples by second."""

    rtt_us: dict[int, list[float]] = field(default_factory=dict)
    sent: dict[int, int] = field(default_factory=dict)
    lost: dict[int, int] = field(default_factory=dict)

    def loss(self, span: Span | None = None) -> float:
        """Share lost, over the seconds of a span or over all; 0 when nothing was sent."""
        inside = [second for second in self.sent if span is None or span[0] <= second < span[1]]
        sent = sum(self.sent[second] for second in inside)
        return sum(self.lost[second] for second in inside) / sent if sent else 0.0

    def median_us(self, span: Span) -> float | None:
        """Median RTT over the seconds of a span."""
        samples = [x for second, values in self.rtt_us.items() if span[0] <= second < span[1] for x in values]
        return float(np.median(samples)) if samples else None


@dataclass(slots=True)
class SeriesCollector:
    """Fed the recording's messages in any order."""

    start_us: int
    pairs: dict[Pair, PairSeries] = field(default_factory=dict)
    gbps: dict[str, dict[int, float]] = field(default_factory=dict)
    queue_bytes: dict[int, int] = field(default_factory=dict)

    def observe(self, value: Value) -> None:
        """Takes one message in; other topics change nothing."""
        match value:
            case ProbeResults():
                self._observe_probes(value)
            case RnicCounters():
                for rnic in value.rnics:
                    self._observe_counters(f"{value.container}/{rnic.rnic}", rnic)
            case SwitchQueues():
                self._observe_queues(value)
            case _:
                pass

    def _second(self, t_us: int) -> int:
        return (t_us - self.start_us) // SECOND_US

    def _observe_probes(self, value: ProbeResults) -> None:
        for result in value.results:
            self.add_train((value.src, result.dst), result.t_us, (result.sent, result.lost), result.rtt_us)

    def add_train(self, pair: Pair, t_us: int, counts: tuple[int, int], rtt_us: Sequence[float]) -> None:
        """Takes one train in: packets (sent, lost) and the RTTs of some replies."""
        series = self.pairs.setdefault(pair, PairSeries())
        second = self._second(t_us)
        series.rtt_us.setdefault(second, []).extend(rtt_us)
        series.sent[second] = series.sent.get(second, 0) + counts[0]
        series.lost[second] = series.lost.get(second, 0) + counts[1]

    def _observe_counters(self, endpoint: str, rnic: RnicColumns) -> None:
        series = self.gbps.setdefault(endpoint, {})
        for t_us, rate in _rates(rnic.t_us, rnic.tx_bytes):
            series[self._second(t_us)] = rate / GIGABIT

    def _observe_queues(self, value: SwitchQueues) -> None:
        for port in value.ports:
            for t_us, depth in zip(port.t_us, port.depth_bytes, strict=True):
                if depth is not None:
                    second = self._second(t_us)
                    self.queue_bytes[second] = max(depth, self.queue_bytes.get(second, 0))

    def most_changed(self, spans: Sequence[Span], endpoints: frozenset[str], count: int) -> list[Pair]:
        """The pairs at ``endpoints`` (all pairs if none is listed) whose loss and RTT rose most inside the spans."""
        near = [pair for pair in self.pairs if not endpoints or endpoints.intersection(pair)]
        change = {pair: max((_change(self.pairs[pair], span) for span in spans), default=0.0) for pair in near}
        return sorted(near, key=lambda pair: (-change[pair], pair))[:count]


def _change(series: PairSeries, span: Span) -> float:
    """Loss gained (1 = all) plus the natural logarithm of the RTT's ratio, inside the span against before it."""
    before: Span = (0.0, span[0])
    usual, now = series.median_us(before), series.median_us(span)
    slower = float(np.log(now / usual)) if usual and now else 0.0
    return 10.0 * (series.loss(span) - series.loss(before)) + max(0.0, slower)


def _rates(t_us: Sequence[int], total: Sequence[int | None]) -> Iterator[tuple[int, float]]:
    """(instant, bytes per second) between neighbouring samples."""
    for (t0, b0), (t1, b1) in pairwise(zip(t_us, total, strict=True)):
        if b0 is not None and b1 is not None and b1 >= b0 and t1 > t0:
            yield t1, (b1 - b0) * SECOND_US / (t1 - t0)


def band(series: Iterable[dict[int, float]]) -> np.ndarray:
    """Rows (second, 10 % quantile, median, 90 % quantile) over several series; shape (seconds, 4)."""
    by_second: dict[int, list[float]] = {}
    for values in series:
        for second, value in values.items():
            by_second.setdefault(second, []).append(value)
    rows = [[second, *np.quantile(by_second[second], [0.1, 0.5, 0.9])] for second in sorted(by_second)]
    return np.array(rows, dtype=float).reshape(-1, 4)


def medians(series: PairSeries) -> dict[int, float]:
    """The pair's median RTT of each second that has replies, us."""
    return {second: float(np.median(values)) for second, values in series.rtt_us.items() if values}


def losses(series: PairSeries) -> dict[int, float]:
    """The pair's share lost of each second with probes."""
    return {second: series.lost[second] / sent for second, sent in series.sent.items() if sent}
