"""What does one closed second say about each pair? All tests on all pairs, then openings, recoveries and learning.

Order matters: first failed trains (they decide what the loss test gets to see), then loss and latency, then the open
anomalies' recovery, and last the baselines, which learn only from pairs that nothing speaks against.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, log

import numpy as np

from localization.anomalies import RECOVERY_NATS, AnomalyBook, Finding, Key
from localization.arrays import Flags
from localization.baseline import Baseline, Pools, follow_recent, learn_latency, pair_baseline, restart_baseline
from localization.columns import PairSums, Trains, sum_pairs
from localization.connectivity import FailedTrains, Outage, follow_trains
from localization.latency import LatencyScores, score_latency
from localization.loss import LossBackground, LossScores, learn_loss, pair_background, recovery_gain, score_loss
from localization.pairs import PairTable
from localization.parameters import DetectionParameters
from localization.tails import StepTails, latency_threshold
from localization.trends import Trends, judge_trends
from schemas.diagnosis import Observed, Symptom
from schemas.instants import SECOND_US, micros

WINDOWS_PER_HOUR = 3600.0
JOB_PRIOR_PACKETS = 10_000.0
RECOVERED_Z = 2.5


DETECTORS: dict[Symptom, str] = {
    "unconnectivity": "failed-trains",
    "packet_loss": "loss-cusum",
    "high_latency": "rtt-cusum",
}
"""Names of the fast tests; ``localization.trends`` has those of the slow ones."""
DECAY_EVERY_US = 10 * SECOND_US


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

    def ill(self) -> set[int]:
        """Rows of pairs with an open anomaly."""
        return self.book.rows() | self.trends.book.rows()

    @property
    def nats(self) -> float:
        """Evidence that an alarm of loss or unconnectivity needs."""
        return log(self.parameters.false_alarm_pair_hours * WINDOWS_PER_HOUR)

    @property
    def reach(self) -> float:
        """Score that an alarm of latency needs."""
        windows = self.parameters.false_alarm_pair_hours * WINDOWS_PER_HOUR
        return latency_threshold(self.parameters.latency_allowance_sigma, windows, self.decay)


def new_judge(parameters: DetectionParameters) -> Judge:
    """A judge that has seen nothing."""
    prior = LossBackground(JOB_PRIOR_PACKETS, JOB_PRIOR_PACKETS * parameters.background_loss)
    tails = StepTails(parameters.latency_clip_sigma)
    decay = 2.0 * parameters.latency_allowance_sigma
    return Judge(parameters, PairTable(len(parameters.loss_alternatives)), prior, tails, decay)


def judge_second(judge: Judge, trains: Trains, t_us: int) -> tuple[PairSums, list[Finding]]:
    """Judges the trains of the second that ends at ``t_us``; returns their sums by pair and what is newly wrong."""
    p = judge.parameters
    sums = sum_pairs(trains)
    judge.pairs.columns.seen_us[sums.row] = t_us
    pooled = judge.background.with_window(sums.sent, sums.lost)
    background = pair_background(judge.pairs, sums.row, pooled, p.background_packets)
    rule = (p.failed_trains, judge.nats, pooled)
    failed = follow_trains(judge.pairs, trains, sums, judge.book.rows("unconnectivity"), rule)
    for at, packets in failed.handed.items():
        sums.sent[at] += packets
        sums.lost[at] += packets
    loss = score_loss(judge.pairs, sums, background, p.loss_alternatives)
    baseline = pair_baseline(judge.pairs, sums, judge.pools, p.sigma_floor)
    latency = _score_latency(judge, sums, baseline, t_us)
    follow_recent(judge.pairs, sums)
    _weigh_recovery(judge, sums, (failed, loss, latency, baseline), t_us)
    findings = _cut_off(judge, sums, failed, baseline) + _lossy(judge, sums, loss, baseline)
    findings += _slow(judge, sums, latency, (loss, baseline))
    ill = judge.book.rows() | {finding.row for finding in findings}
    _learn(judge, sums, baseline, _healthy(judge, sums, loss, ill | judge.trends.book.rows()))
    return sums, findings + judge_trends(judge.trends, judge.pairs, sums, ill, (p, t_us))


def _score_latency(judge: Judge, sums: PairSums, baseline: Baseline, t_us: int) -> LatencyScores:
    """The fast latency test; the tails of its steps are learned from pairs that nothing spoke against before."""
    p, columns = judge.parameters, judge.pairs.columns
    calm = columns.rtt_score[sums.row] < judge.reach / 2.0
    before = columns.rtt_z[sums.row]
    latency = score_latency(judge.pairs, sums, baseline, (p.latency_allowance_sigma, p.latency_clip_sigma))
    ill = judge.ill()
    judge.tails.learn(latency.z, before, calm & ~np.isin(sums.row, sorted(ill)) if ill else calm)
    if t_us % DECAY_EVERY_US == 0:
        judge.decay = judge.tails.decay(p.latency_allowance_sigma)
    return latency


def _cut_off(judge: Judge, sums: PairSums, failed: FailedTrains, baseline: Baseline) -> list[Finding]:
    known = judge.book.rows("unconnectivity")
    fresh = [outage for outage in failed.outages if int(sums.row[outage.at]) not in known]
    return [_outage_finding(sums, outage, baseline) for outage in fresh]


def _outage_finding(sums: PairSums, outage: Outage, baseline: Baseline) -> Finding:
    return Finding(
        at=outage.at,
        row=int(sums.row[outage.at]),
        symptom="unconnectivity",
        detector=DETECTORS["unconnectivity"],
        onset_us=outage.since_us,
        score=outage.score,
        level=1.0,
        baseline=Observed(loss=0.0, rtt_us=_rtt(baseline, outage.at)),
        observed=Observed(loss=1.0, rtt_us=None, sent=outage.lost, window_s=1.0),
    )


def _lossy(judge: Judge, sums: PairSums, loss: LossScores, baseline: Baseline) -> list[Finding]:
    known = judge.book.rows("packet_loss")
    alarms = np.flatnonzero(loss.score >= judge.nats).tolist()
    return [
        Finding(
            at=at,
            row=int(sums.row[at]),
            symptom="packet_loss",
            detector=DETECTORS["packet_loss"],
            onset_us=int(loss.since_us[at]),
            score=float(loss.score[at]),
            level=float(loss.alternative[at]),
            baseline=Observed(loss=float(loss.background[at]), rtt_us=_rtt(baseline, at)),
            observed=_observed(sums, at),
        )
        for at in alarms
        if int(sums.row[at]) not in known
    ]


def _slow(judge: Judge, sums: PairSums, latency: LatencyScores, known: tuple[LossScores, Baseline]) -> list[Finding]:
    loss, baseline = known
    ill = judge.book.rows("high_latency")
    alarms = np.flatnonzero((latency.score >= judge.reach) & ~np.isnan(latency.z)).tolist()
    return [
        Finding(
            at=at,
            row=int(sums.row[at]),
            symptom="high_latency",
            detector=DETECTORS["high_latency"],
            onset_us=int(latency.since_us[at]),
            score=float(latency.score[at]),
            level=_level(judge, sums, baseline, at),
            baseline=Observed(loss=float(loss.background[at]), rtt_us=_rtt(baseline, at)),
            observed=_observed(sums, at),
        )
        for at in alarms
        if int(sums.row[at]) not in ill
    ]


def _level(judge: Judge, sums: PairSums, baseline: Baseline, at: int) -> float:
    """How far up the pair is, in spreads: its last few windows, at least what the test is made for."""
    recent = float(judge.pairs.columns.recent_mean[sums.row[at]])
    up = max(recent, float(sums.log_rtt[at])) - float(baseline.mean[at])
    return max(up / float(baseline.sd[at]), 2.0 * judge.parameters.latency_allowance_sigma)


def _rtt(baseline: Baseline, at: int) -> float | None:
    return round(exp(float(baseline.mean[at])), 3) if baseline.known[at] else None


def _observed(sums: PairSums, at: int) -> Observed:
    sent, log_rtt = int(sums.sent[at]), float(sums.log_rtt[at])
    return Observed(
        loss=int(sums.lost[at]) / sent if sent else None,
        rtt_us=None if np.isnan(log_rtt) else round(exp(log_rtt), 3),
        sent=sent,
        window_s=1.0,
    )


def _weigh_recovery(
    judge: Judge, sums: PairSums, scores: tuple[FailedTrains, LossScores, LatencyScores, Baseline], t_us: int
) -> None:
    """What the second says for the recovery of the pairs that are ill."""
    if not judge.book.open:
        return
    failed, loss, latency, baseline = scores
    place = {row: at for at, row in enumerate(sums.row.tolist())}
    for row, symptom in list(judge.book.open):
        at = place.get(row)
        if at is None:
            continue
        if symptom == "unconnectivity":
            bad = at in failed.failed_us
            judge.book.weigh((row, symptom), -RECOVERY_NATS if bad else RECOVERY_NATS, t_us, bad)
        elif symptom == "packet_loss":
            _weigh_loss(judge, row, (int(sums.sent[at]), int(sums.lost[at]), float(loss.background[at])), t_us)
        elif not np.isnan(latency.z[at]):
            known = float(baseline.mean[at]), float(baseline.sd[at])
            judge.book.weigh((row, symptom), _weigh_latency(judge, row, float(latency.z[at]), known), t_us, False)


def _weigh_loss(judge: Judge, row: int, window: tuple[int, int, float], t_us: int) -> None:
    sent, lost, background = window
    level = max(judge.book.open[row, "packet_loss"].level / 2.0, 2.0 * background)
    gain = recovery_gain(sent, lost, background, min(level, 0.5))
    judge.book.weigh((row, "packet_loss"), gain, t_us, False)


def _weigh_latency(judge: Judge, row: int, z: float, known: tuple[float, float]) -> float:
    """Recovered = nearer to the baseline than to the worst level that lasted, and no further than ``RECOVERED_Z``."""
    anomaly, clip = judge.book.open[row, "high_latency"], judge.parameters.latency_clip_sigma
    lasting = (float(judge.pairs.columns.recent_mean[row]) - known[0]) / known[1]
    anomaly.level = max(anomaly.level, lasting)
    return float(np.clip(min(anomaly.level / 2.0, RECOVERED_Z) - z, -clip, clip))


def _healthy(judge: Judge, sums: PairSums, loss: LossScores, ill: set[int]) -> Flags:
    columns = judge.pairs.columns
    quiet = (loss.score < judge.nats / 2.0) & (columns.rtt_score[sums.row] < judge.reach / 2.0)
    quiet &= columns.streak[sums.row] == 0
    return np.asarray(quiet & ~np.isin(sums.row, sorted(ill)) if ill else quiet)


def _learn(judge: Judge, sums: PairSums, baseline: Baseline, healthy: Flags) -> None:
    row, sent, lost = sums.row[healthy], sums.sent[healthy], sums.lost[healthy]
    judge.background.learn(sent, lost)
    learn_loss(judge.pairs, row, sent, lost)
    learn_latency(judge.pairs, judge.pools, sums, baseline, healthy)


def take_ended(judge: Judge, t_us: int) -> list[tuple[AnomalyBook, Key]]:
    """Anomalies that are over, or whose pairs fell silent, the pairs ready for new judgement."""
    stable_us, silent_us = micros(judge.parameters.stable_s), t_us - micros(judge.parameters.silent_s)
    seen_us = judge.pairs.columns.seen_us
    over = [(judge.book, key) for key in _recovered(judge, t_us)]
    over += [(judge.trends.book, key) for key in judge.trends.book.recovered(t_us, stable_us)]
    known = {(id(book), key) for book, key in over}
    silent = [(book, key) for book in judge.books for key in book.open if seen_us[key[0]] <= silent_us]
    return over + [(book, key) for book, key in silent if (id(book), key) not in known]


def _recovered(judge: Judge, t_us: int) -> list[Key]:
    """Of the fast tests. An outage is over only once trains come back."""
    columns = judge.pairs.columns
    over = []
    for row, symptom in judge.book.recovered(t_us, micros(judge.parameters.stable_s)):
        if symptom == "unconnectivity" and columns.streak[row]:
            continue
        if symptom == "packet_loss":
            columns.loss_score[row] = 0.0
        if symptom == "high_latency":
            restart_baseline(judge.pairs, row)
        over.append((row, symptom))
    return over
