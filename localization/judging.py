"""What does one closed second say about each pair? All tests on all pairs, then openings, recoveries and learning.

Order matters: first failed trains (they decide what the loss test gets to see), then loss and latency, then the open
anomalies' recovery, and last the baselines, which learn only from pairs that nothing speaks against.
"""

from __future__ import annotations

from math import exp

import numpy as np

from localization.anomalies import RECOVERY_NATS, AnomalyBook, Finding, Key
from localization.arrays import Flags, Floats, Ints
from localization.baseline import (
    Baseline,
    bring_pools,
    follow_recent,
    give_back,
    learn_latency,
    pair_baseline,
    restart_baseline,
)
from localization.columns import PairSums, Trains, sum_pairs
from localization.connectivity import FailedTrains, Outage, follow_trains
from localization.latency import LatencyScores, score_latency
from localization.loss import (
    LossScores,
    learn_background,
    learn_loss,
    loss_with_window,
    pair_background,
    recovery_gain,
    score_loss,
)
from localization.panel import Judge, Panel
from localization.tails import decays, learn_steps
from localization.trends import judge_trends
from schemas.diagnosis import Observed, Symptom
from schemas.instants import SECOND_US, micros

RECOVERED_Z = 2.5


DETECTORS: dict[Symptom, str] = {
    "unconnectivity": "failed-trains",
    "packet_loss": "loss-cusum",
    "high_latency": "rtt-cusum",
}
"""Names of the fast tests; ``localization.trends`` has those of the slow ones."""
DECAY_EVERY_US = 10 * SECOND_US


def judge_second(panel: Panel, trains: Trains, t_us: int) -> tuple[PairSums, list[Finding]]:
    """Judges the trains of the second that ends at ``t_us``; returns their sums by pair and what is newly wrong.

    What is said of a job, and remembered of it, does not depend on the other jobs of the panel.
    """
    p, columns, judges = panel.parameters, panel.columns, panel.judges
    sums = sum_pairs(trains, panel.begin)
    columns.seen_us[sums.row] = t_us
    pooled = loss_with_window([judge.background for judge in judges], sums)
    background = pair_background(columns, sums.row, pooled[sums.job], p.background_packets)
    known = panel.ill("unconnectivity")
    failed = follow_trains(columns, trains, sums, known, (p.failed_trains, panel.nats, pooled))
    for at, packets in failed.handed.items():
        sums.sent[at] += packets
        sums.lost[at] += packets
    loss = score_loss(columns, sums, background, p.loss_alternatives)
    pools = bring_pools([judge.pools for judge in judges])
    baseline = pair_baseline(columns, sums, pools, p.sigma_floor)
    latency = _score_latency(panel, sums, baseline, t_us)
    follow_recent(columns, sums)
    _weigh_recovery(panel, sums, (failed, loss, latency, baseline), t_us)
    reach = panel.reach()[sums.job]
    fresh = [outage for outage in failed.outages if int(sums.row[outage.at]) not in known]
    findings = [_outage_finding(sums, outage, baseline) for outage in fresh]
    findings += _lossy(panel, sums, loss, baseline) + _slow(panel, sums, (latency, reach), (loss, baseline))
    ill = panel.frozen({finding.row for finding in findings})
    healthy = (loss.score < panel.nats / 2.0) & (columns.rtt_score[sums.row] < reach / 2.0)
    healthy &= (columns.streak[sums.row] == 0) & ~ill[sums.row]
    learn_background([judge.background for judge in judges], *_chosen(sums, healthy))
    learn_loss(columns, sums.row[healthy], sums.sent[healthy], sums.lost[healthy])
    learn_latency(columns, pools, sums, baseline, healthy)
    give_back([judge.pools for judge in judges], pools)
    slow = judge_trends([judge.trends for judge in judges], (columns, panel.stretches()), sums, ill, (p, t_us))
    return sums, findings + slow


def _chosen(sums: PairSums, chosen: Flags) -> tuple[Ints, Ints, Ints]:
    return sums.job[chosen], sums.sent[chosen], sums.lost[chosen]


def _score_latency(panel: Panel, sums: PairSums, baseline: Baseline, t_us: int) -> LatencyScores:
    """The fast latency test; the tails of its steps are learned from pairs that nothing spoke against before."""
    p, columns = panel.parameters, panel.columns
    calm = columns.rtt_score[sums.row] < panel.reach()[sums.job] / 2.0
    before = columns.rtt_z[sums.row]
    latency = score_latency(columns, sums, baseline, (p.latency_allowance_sigma, p.latency_clip_sigma))
    tails = [judge.tails for judge in panel.judges]
    learn_steps(tails, sums.job, latency.z, before, calm & ~panel.frozen(set())[sums.row])
    if t_us % DECAY_EVERY_US == 0:
        for judge, decay in zip(panel.judges, decays(tails, p.latency_allowance_sigma).tolist(), strict=True):
            judge.decay = decay
    return latency


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


def _lossy(panel: Panel, sums: PairSums, loss: LossScores, baseline: Baseline) -> list[Finding]:
    known = panel.ill("packet_loss")
    alarms = np.flatnonzero(loss.score >= panel.nats).tolist()
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


def _slow(
    panel: Panel, sums: PairSums, scored: tuple[LatencyScores, Floats], known: tuple[LossScores, Baseline]
) -> list[Finding]:
    """``scored``: the scores, and what an alarm needs."""
    (latency, reach), (loss, baseline) = scored, known
    ill = panel.ill("high_latency")
    alarms = np.flatnonzero((latency.score >= reach) & ~np.isnan(latency.z)).tolist()
    return [
        Finding(
            at=at,
            row=int(sums.row[at]),
            symptom="high_latency",
            detector=DETECTORS["high_latency"],
            onset_us=int(latency.since_us[at]),
            score=float(latency.score[at]),
            level=_level(panel, sums, baseline, at),
            baseline=Observed(loss=float(loss.background[at]), rtt_us=_rtt(baseline, at)),
            observed=_observed(sums, at),
        )
        for at in alarms
        if int(sums.row[at]) not in ill
    ]


def _level(panel: Panel, sums: PairSums, baseline: Baseline, at: int) -> float:
    """How far up the pair is, in spreads: its last few windows, at least what the test is made for."""
    recent = float(panel.columns.recent_mean[sums.row[at]])
    up = max(recent, float(sums.log_rtt[at])) - float(baseline.mean[at])
    return max(up / float(baseline.sd[at]), 2.0 * panel.parameters.latency_allowance_sigma)


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
    panel: Panel, sums: PairSums, scores: tuple[FailedTrains, LossScores, LatencyScores, Baseline], t_us: int
) -> None:
    """What the second says for the recovery of the pairs that are ill."""
    for number, judge in enumerate(panel.judges):
        if judge.book.open:
            _weigh_book(judge, dict(panel.own(sums, number)), sums, scores, t_us)


def _weigh_book(
    judge: Judge,
    place: dict[int, int],
    sums: PairSums,
    scores: tuple[FailedTrains, LossScores, LatencyScores, Baseline],
    t_us: int,
) -> None:
    """``place``: positions of the judge's pairs, by its own rows."""
    failed, loss, latency, baseline = scores
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
