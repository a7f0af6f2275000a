"""How soon is a pair found ill, and how often for nothing? Onset to detection, and false alarms on healthy noise.

    python benchmarks/detection_delays.py [-o docs/reference/detection.md] [--pair-hours 6000] [--seeds 1]

Delays are in event time, from the onset (at a random place within its second) to the end of the second in which the
anomaly opens. Means have 95 % intervals by the normal approximation, quantiles by order statistics, rates of false
alarms exact Poisson intervals. ``--seeds`` of every scenario are compared with other detectors
(``detection_baselines``). Five minutes of processor time.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path

import numpy as np
from scipy.stats import binom, chi2

from benchmarks.detection_baselines import COMPARED, compare
from benchmarks.detection_page import Figures, render
from benchmarks.detection_shapes import all_shapes
from benchmarks.detection_streams import NOISE, SIGMA, PairStream, losses, normal
from localization.parameters import DetectionParameters

TRAIN = 100
WARM_S = 400
BACKGROUND = 1e-4
RNG = np.random.default_rng


@dataclass(frozen=True)
class Delays:
    """Delays (s) of one kind of trouble; ``missed``: pairs that were not found at all."""

    what: str
    aim: str
    mean: float
    mean_low: float
    mean_high: float
    p99: float
    p99_high: float
    found: int
    missed: int


@dataclass(frozen=True)
class Alarms:
    """False alarms on one kind of noise."""

    noise: str
    level_us: float
    pair_hours: float
    alarms: int
    detectors: dict[str, int]
    per_10000: float
    low: float
    high: float


def delays_of(what: str, aim: str, seconds: list[float], pairs: int) -> Delays:
    """Summary of delays; the upper bound of p99 is an order statistic, the longest delay if there is none."""
    values = np.sort(np.array(seconds))
    error = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    upper = min(int(binom.ppf(0.975, len(values), 0.99)), len(values) - 1)
    mean, p99 = float(values.mean()), float(np.quantile(values, 0.99))
    return Delays(
        what, aim, mean, mean - error, mean + error, p99, float(values[upper]), len(values), pairs - len(values)
    )


@dataclass(frozen=True)
class Trouble:
    """What the pairs suffer from their onset on; ``trains`` of ``sent`` probes a second, one RTT sample of each."""

    loss: float = 0.0
    shift: float = 0.0
    trains: int = 1
    sent: int = TRAIN
    level_us: float = 13.0
    limit_s: int = 120


def onset_delays(trouble: Trouble, pairs: int, seed: int, symptoms: tuple[str, ...]) -> list[float]:
    """Seconds from onset to detection of each pair that was found."""
    draw, stream = RNG(seed), PairStream(pairs)
    noise, begin_s = normal(draw, pairs, trouble.trains), WARM_S + draw.random((pairs, 1))
    phase = (np.arange(trouble.trains)[None, :] + draw.random((pairs, 1))) / trouble.trains
    found: dict[int, float] = {}
    while stream.second < WARM_S + trouble.limit_s and len(found) < pairs:
        ill = stream.second + phase >= begin_s
        lost = draw.binomial(trouble.sent, np.where(ill, max(trouble.loss, BACKGROUND), BACKGROUND))
        log_rtt = log(trouble.level_us) + next(noise) + trouble.shift * ill
        for finding in stream.take(log_rtt, lost, trouble.sent, phase):
            if finding.symptom in symptoms and stream.second > begin_s[finding.row, 0]:
                found.setdefault(finding.row, stream.second - float(begin_s[finding.row, 0]))
    return list(found.values())


def drift_delays(ramp_s: float, sigmas: float, pairs: int, seed: int) -> list[float]:
    """Delays (s) of pairs whose ln RTT grows by ``sigmas`` in ``ramp_s``, one tenth of a job, after two hours."""
    draw, stream, ill, begin = RNG(seed), PairStream(pairs), pairs // 10, 7_500
    noise, at_s, lost = normal(draw, pairs, 3), np.full((pairs, 1), 0.5), np.zeros((pairs, 1), np.int64)
    found: dict[int, float] = {}
    while stream.second < begin + 7_200 and len(found) < ill:
        log_rtt = log(30.0) + next(noise)
        log_rtt[:ill] += sigmas * SIGMA * float(np.clip((stream.second - begin) / ramp_s, 0.0, 1.0))
        for finding in stream.take(log_rtt, lost, TRAIN, at_s):
            if finding.row < ill and stream.second > begin:
                found.setdefault(finding.row, float(stream.second - begin))
    return list(found.values())


def sprt_probes(loss: float, trials: int, seed: int) -> float:
    """Mean number of probes that a sequential probability ratio test needs: it knows both rates, and the onset."""
    draw = RNG(seed)
    bar = log(DetectionParameters().false_alarm_pair_hours * 3600.0)
    lossy, well = log(loss / BACKGROUND), log((1.0 - loss) / (1.0 - BACKGROUND))
    needed = []
    for _ in range(trials):
        lost = draw.random(20_000) < loss
        needed.append(int(np.argmax(np.cumsum(np.where(lost, lossy, well)) >= bar)) + 1)
    return float(np.mean(needed))


def all_delays(pairs: int) -> list[Delays]:
    """The table of delays."""
    latency = ("high_latency",)
    cut = ("unconnectivity",)
    loss = ("packet_loss", "unconnectivity")
    cases = [
        ("cut off, 2 probes/s, one by one", "p99 <= 2 s", Trouble(loss=1.0, trains=2, sent=1), cut),
        ("cut off, 2 trains/s of 100", "p99 <= 2 s", Trouble(loss=1.0, trains=2), cut),
        ("loss 5 %, 100 probes/s", "mean <= 2 s", Trouble(loss=0.05), loss),
        ("loss 20 %, 100 probes/s", "mean <= 2 s", Trouble(loss=0.2), loss),
        ("loss 0.5 %, 100 probes/s", "see below", Trouble(loss=0.005), loss),
        ("RTT + 2 sigma at 13 us, 2 probes/s", "mean <= 8 s", Trouble(shift=2 * SIGMA, trains=2, limit_s=300), latency),
        ("RTT + 2 sigma at 60 us, 2 probes/s", "mean <= 8 s", _slow(2), latency),
        ("RTT + 2 sigma at 60 us, 1 probe/s", "(below the limit)", _slow(1), latency),
    ]
    table = [
        delays_of(what, aim, onset_delays(trouble, pairs, number, symptoms), pairs)
        for number, (what, aim, trouble, symptoms) in enumerate(cases)
    ]
    for minutes in (30, 60):
        seconds = drift_delays(60.0 * minutes, 0.75, pairs, minutes)
        table.append(delays_of(f"RTT + 0.75 sigma within {minutes} min", "<= 90 min", seconds, pairs // 10))
    return table


def _slow(trains: int) -> Trouble:
    return Trouble(shift=2 * SIGMA, trains=trains, level_us=60.0, limit_s=300)


def loss_beside_sprt(pairs: int) -> dict[str, float]:
    """Probes from onset to detection of a loss of 0.5 %, ours and the sequential test's."""
    ours = 100.0 * float(np.mean(onset_delays(Trouble(loss=0.005), pairs, 4, ("packet_loss",))))
    sprt = sprt_probes(0.005, pairs, 4)
    return {"ours": ours, "sprt": sprt, "ratio": ours / sprt}


def false_alarms(noise: str, level_us: float, pair_hours: float, seed: int) -> Alarms:
    """Runs healthy pairs, two hours each, and counts."""
    pairs = round(pair_hours / 2.0)
    draw, stream = RNG(seed), PairStream(pairs)
    found = stream.healthy(NOISE[noise](draw, pairs, 3), level_us, 7_200, losses(draw, pairs, BACKGROUND))
    detectors: dict[str, int] = {}
    for finding in found:
        detectors[finding.detector] = detectors.get(finding.detector, 0) + 1
    return _alarms(noise, level_us, pair_hours, detectors)


def _alarms(noise: str, level_us: float, pair_hours: float, detectors: dict[str, int]) -> Alarms:
    count, scale = sum(detectors.values()), 10_000.0 / pair_hours
    low = chi2.ppf(0.025, 2 * count) / 2.0 if count else 0.0
    high = chi2.ppf(0.975, 2 * count + 2) / 2.0
    return Alarms(noise, level_us, pair_hours, count, detectors, count * scale, float(low) * scale, float(high) * scale)


def plain_z_alarms(noise: str, pair_hours: float) -> Alarms:
    """The same of the paper's long-term test without our floor: half-hour windows of single probes, z above 3."""
    pairs, hours = max(round(pair_hours / 4.0), 1), 4.0
    values = NOISE[noise](RNG(7), pairs, 3)
    means: list[np.ndarray] = []
    sigma, count = np.ones(pairs), 0
    for _ in range(int(2 * hours)):
        window = np.concatenate([next(values) for _ in range(1_800)], axis=1)
        sigma = window.std(axis=1) if not means else sigma
        means.append(window.mean(axis=1))
        z = (means[-1] - means[0]) / (sigma * np.sqrt(2.0 / window.shape[1]))
        count += int((z > 3.0).sum())
    return _alarms(noise, 13.0, pairs * hours, {"plain z": count} if count else {})


def all_false_alarms(pair_hours: float) -> Iterator[Alarms]:
    """Every kind of noise, near (the fast test's floor in us rules) and far (the pair's own spread does)."""
    for number, noise in enumerate(NOISE):
        for level_us in (13.0, 60.0):
            yield false_alarms(noise, level_us, pair_hours, 100 + number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=500, help="pairs per kind of trouble")
    parser.add_argument("--pair-hours", type=float, default=6_000.0, help="per kind of noise and level")
    parser.add_argument("--seeds", type=int, default=1, help="of each scenario on which detectors are compared")
    parser.add_argument("-o", "--output", type=Path, help="write the page to this file")
    options = parser.parse_args()
    figures: Figures = {
        "delays": [asdict(each) for each in all_delays(options.pairs)],
        "sprt": loss_beside_sprt(options.pairs),
        "shapes": [asdict(each) for each in all_shapes(options.pairs // 4)],
        "false_alarms": [asdict(each) for each in all_false_alarms(options.pair_hours)],
        "plain_z": [asdict(plain_z_alarms(noise, options.pair_hours / 20.0)) for noise in NOISE],
        "detectors": {name: asdict(tally) for name, tally in compare(COMPARED, options.seeds).items()},
    }
    print(json.dumps(figures, indent=1))
    if options.output:
        options.output.write_text(render(figures))


if __name__ == "__main__":
    main()
