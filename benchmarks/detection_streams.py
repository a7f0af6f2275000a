"""Probe results of many simulated pairs, fed to detection as columns: thousands of pair-hours in minutes.

What skips the messages is only ``localization.columns.gather``; everything after it is the program's own. Noise is the
``ln RTT`` of single probes, by kind (``NOISE``); instants are seconds since the stream began. Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from localization.anomalies import Finding
from localization.columns import Trains
from localization.judging import judge_second, take_ended
from localization.panel import Judge, Panel, new_judge, seat
from localization.parameters import DetectionParameters
from localization.sheet import Sheet
from localization.trends import LONG, SHORT
from schemas.diagnosis import Anomaly
from schemas.envelope import Producer
from schemas.folding import DERIVED_CLOCK
from schemas.instants import SECOND_US

BEGIN_US = 1_753_000_200 * SECOND_US
PRODUCER = Producer(id="detection", kind="streams", boot="", seq=0)
SIGMA = 0.39
"""Standard deviation of ln RTT of single probes in the paper's Figure 18."""

Log = np.ndarray
Noise = Callable[[np.random.Generator, int, int], Iterator[Log]]
"""(draw, pairs, probes a second) -> ln RTT minus the pair's level, shape (pairs, probes), second by second."""


def normal(draw: np.random.Generator, pairs: int, probes: int) -> Iterator[Log]:
    """Log-normal RTT."""
    while True:
        yield SIGMA * draw.standard_normal((pairs, probes))


def heavy(draw: np.random.Generator, pairs: int, probes: int) -> Iterator[Log]:
    """Student's t with 4 degrees of freedom, one value for all probes of a second: nothing averages out."""
    while True:
        yield SIGMA / np.sqrt(6.0) * draw.standard_t(4, (pairs, 1)) * np.ones((1, probes))


def uneven(draw: np.random.Generator, pairs: int, probes: int) -> Iterator[Log]:
    """Log-normal, but each pair with a spread of its own (a factor of 1.5 is one standard deviation)."""
    spread = SIGMA * np.exp(draw.normal(0.0, 0.4, (pairs, 1)))
    while True:
        yield spread * draw.standard_normal((pairs, probes))


def spiky(draw: np.random.Generator, pairs: int, probes: int) -> Iterator[Log]:
    """Log-normal, and one second in a hundred three times as slow."""
    while True:
        yield SIGMA * draw.standard_normal((pairs, probes)) + np.log(3.0) * (draw.random((pairs, 1)) < 0.01)


def lasting(draw: np.random.Generator, pairs: int, probes: int) -> Iterator[Log]:
    """Half of the variance remembers the second before (autoregressive, 0.5), as queues do."""
    state = np.zeros((pairs, 1))
    while True:
        state = 0.5 * state + np.sqrt(0.75) * draw.standard_normal((pairs, 1))
        yield SIGMA / np.sqrt(2.0) * (state + draw.standard_normal((pairs, probes)))


def daily(draw: np.random.Generator, pairs: int, probes: int) -> Iterator[Log]:
    """Load with a period of a day: RTT swings by a factor of 1.8, of some pairs more than of others."""
    swing = 0.3 * draw.uniform(0.7, 1.3, (pairs, 1))
    for second in range(10**9):
        yield swing * np.sin(2.0 * np.pi * second / 86_400.0) + SIGMA * draw.standard_normal((pairs, probes))


def crowded(draw: np.random.Generator, pairs: int, probes: int) -> Iterator[Log]:
    """The job's own steps fill queues: for three seconds of every twenty RTT doubles, for half of the pairs."""
    crossing = draw.random((pairs, 1)) < 0.5
    for second in range(10**9):
        yield np.log(2.0) * crossing * (second % 20 < 3) + SIGMA * draw.standard_normal((pairs, probes))


NOISE: dict[str, Noise] = {each.__name__: each for each in (normal, heavy, uneven, spiky, lasting, daily, crowded)}


@dataclass(slots=True)
class PairStream:
    """A job of ``pairs`` pairs whose seconds are judged one after another; ``second`` is the number of the next."""

    pairs: int
    parameters: DetectionParameters = field(default_factory=DetectionParameters)
    hops: int = 4
    second: int = 0
    judge: Judge = field(init=False)

    def __post_init__(self) -> None:
        self.judge = new_judge(self.parameters)
        for number in range(self.pairs):
            self.judge.pairs.row((f"s{number}", f"d{number}"))
        self.judge.pairs.grow()

    @property
    def panel(self) -> Panel:
        """The job's judge alone."""
        return seat([self.judge], [True], Sheet())[0]

    def take(self, log_rtt: Log, lost: np.ndarray, sent: int, at_s: np.ndarray, every_s: int = 1) -> list[Finding]:
        """Judges the next ``every_s`` seconds, in which trains (pair, k) of ``sent`` probes began at ``at_s``.

        ``lost``, ``at_s``: shape (pairs, trains), the instants within [0, ``every_s``). ``log_rtt``: (pairs, samples),
        given to the first train that has a reply. Returns the anomalies that open.
        """
        self.second += every_s
        trains = self.trains(log_rtt, lost, sent, at_s - every_s)
        t_us = BEGIN_US + self.second * SECOND_US
        findings = judge_second(self.panel, trains, t_us)[1]
        for finding in findings:
            self._open(finding, t_us)
        for book, key in take_ended(self.judge, t_us):
            book.clear(key, t_us, PRODUCER)
        return findings

    def trains(self, log_rtt: Log, lost: np.ndarray, sent: int, at_s: np.ndarray) -> Trains:
        """Columns of trains that began ``at_s`` after the stream's present second; shapes as in ``take``."""
        pairs, count = lost.shape
        answered = np.zeros((pairs, count), np.int64)
        some = (lost < sent).any(axis=1)
        answered[np.arange(pairs)[some], np.argmax(lost < sent, axis=1)[some]] = log_rtt.shape[1]
        heard = answered > 0
        total, square = (np.repeat(each.sum(axis=1), count).reshape(lost.shape) for each in (log_rtt, log_rtt**2))
        size = pairs * count
        return Trains(
            begin=np.zeros(1, np.int64),
            row=np.repeat(np.arange(pairs), count),
            t_us=(BEGIN_US + (self.second + at_s.ravel()) * SECOND_US).astype(np.int64),
            sent=np.full(size, sent),
            lost=lost.ravel().astype(np.int64),
            path=np.zeros(size, np.int64),
            paths=[tuple(f"l{hop}" for hop in range(self.hops))],
            rtt_us=np.full(size, np.nan),
            rtt_count=answered.ravel(),
            rtt_log_sum=np.where(heard, total, 0.0).ravel(),
            rtt_log_square=np.where(heard, square, 0.0).ravel(),
        )

    def _open(self, finding: Finding, t_us: int) -> None:
        src, dst = self.judge.pairs.names[finding.row]
        message = Anomaly(
            v=1,
            t_us=t_us,
            producer=PRODUCER,
            clock=DERIVED_CLOCK,
            fabric="f",
            job="j",
            anomaly=f"{src} {finding.symptom} {finding.onset_us}",
            src=src,
            dst=dst,
            symptom=finding.symptom,
            onset_us=finding.onset_us,
            detected_us=t_us,
            detector=finding.detector,
            score=finding.score,
            baseline=finding.baseline,
            observed=finding.observed,
            path=None,
            state="open",
        )
        book = self.judge.trends.book if finding.detector in (SHORT, LONG) else self.judge.book
        book.start((finding.row, finding.symptom), message, finding.level)

    def healthy(
        self, noise: Iterator[Log], level_us: float, seconds: int, losses: Iterator[np.ndarray]
    ) -> list[Finding]:
        """``seconds`` of one train of 100 probes a second; returns the (false) alarms."""
        at_s = np.full((self.pairs, 1), 0.5)
        found = []
        for _ in range(seconds):
            found += self.take(np.log(level_us) + next(noise), next(losses), 100, at_s)
        return found


def losses(draw: np.random.Generator, pairs: int, share: float) -> Iterator[np.ndarray]:
    """Packets lost of trains of 100, each with probability ``share``."""
    while True:
        yield draw.binomial(100, share, (pairs, 1))
