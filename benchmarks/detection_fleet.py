"""Can one core keep 40,000 RNICs with 9 targets each current, at one train a second: 360,000 results a second?

    python benchmarks/detection_fleet.py [--seconds 70] [--jobs 5] [--profile] [--lof 200]

Jobs of the paper's sizes (64 to 2,048 RNICs) are judged by the engine, message by message, each second; what is
measured is processor time of detection (each ``Observation``, and the second's end for all jobs), not of decoding,
which is stated beside it. ``seconds`` includes the ends of two short windows. Only ``jobs`` of the fleet are simulated
and scaled to 40,000 RNICs, memory too. ``--lof``: a plain loop of scikit-learn's LocalOutlierFactor over so many pairs
with the same features, beside our whole short-term test on as many (pip install scikit-learn; set OMP_NUM_THREADS=1).
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import pickle
import pstats
import resource
import time
from collections.abc import Callable
from functools import partial

import msgspec
import numpy as np

from benchmarks.detection_streams import PairStream
from localization.columns import sum_pairs
from localization.detection import DetectionEngine, DetectionState
from localization.parameters import DetectionParameters
from localization.shortterm import features_of, follow_windows
from schemas.envelope import Clock, Producer
from schemas.folding import Observation
from schemas.instants import SECOND_US
from schemas.probing import ProbeResult, ProbeResults

FLEET_RNICS, TARGETS, SAMPLES = 40_000, 9, 3
SIZES = (64, 128, 512, 1_024, 2_048)
BEGIN_US = 1_753_000_200 * SECOND_US
CLOCK = Clock(source="ptp", offset_us=0.2, error_us=1.0)


def messages(job: str, rnics: int, second: int, draw: np.random.Generator) -> list[ProbeResults]:
    """What one job's agents send in a second."""
    rtts = np.round(13.0 * np.exp(0.39 * draw.standard_normal((rnics, TARGETS, SAMPLES))), 1).tolist()
    lost = draw.binomial(100, 1e-5, (rnics, TARGETS)).tolist()
    return [
        ProbeResults(
            v=1,
            t_us=BEGIN_US + second * SECOND_US,
            producer=Producer(id=f"agent:{job}-{src}/probes", kind="probing-agent", boot="b", seq=second),
            clock=CLOCK,
            fabric="f",
            job=job,
            src=f"{job}-{src}/mlx5_0",
            plan_version=1,
            results=tuple(
                ProbeResult(
                    dst=f"{job}-{(src + step + 1) % rnics}/mlx5_0",
                    t_us=BEGIN_US + second * SECOND_US - 900_000 + step * 90_000,
                    kind="rdma",
                    outcome="reply",
                    sent=100,
                    lost=lost[src][step],
                    rtt_us=tuple(rtts[src][step]),
                    sport=49_152 + step,
                    path=(f"a{src}", f"u{src // 8}-{step % 4}", f"u{step}-{step % 4}", f"a{step}"),
                )
                for step in range(TARGETS)
            ),
        )
        for src in range(rnics)
    ]


def judge(engine: DetectionEngine, states: dict[str, DetectionState], sent: list[ProbeResults], second: int) -> None:
    """Lets one second of all jobs pass through the engine."""
    for message in sent:
        assert message.job is not None
        engine.step(states[message.job], Observation("probe-results", message))
    engine.reach(list(states.values()), BEGIN_US + second * SECOND_US)


def timed(work: Callable[[], object]) -> float:
    """Processor seconds of ``work``, without the garbage collector that a worker keeps off the hot path too."""
    gc.disable()
    begin = time.process_time()
    work()
    took = time.process_time() - begin
    gc.enable()
    return took


def decode_share(sent: list[ProbeResults]) -> float:
    """Seconds that decoding a second of messages takes, by msgspec from JSON."""
    raw = [msgspec.json.encode(message) for message in sent]
    decoder = msgspec.json.Decoder(ProbeResults)
    return timed(lambda: _decode_all(decoder, raw))


def _decode_all(decoder: msgspec.json.Decoder[ProbeResults], raw: list[bytes]) -> None:
    for each in raw:
        decoder.decode(each)


def lof_loop(pairs: int, draw: np.random.Generator) -> float:
    """Processor seconds per pair and window of fitting and asking scikit-learn's LOF."""
    from sklearn.neighbors import LocalOutlierFactor

    past = draw.standard_normal((pairs, 10, 30)).astype(np.float32)
    now = draw.standard_normal((pairs, 30)).astype(np.float32)

    def loop() -> None:
        for number in range(pairs):
            reference = features_of(past[number], np.full(10, 30))
            query = features_of(now[number : number + 1], np.array([30]))
            LocalOutlierFactor(n_neighbors=5, novelty=True).fit(reference).score_samples(query)

    return timed(loop) / pairs


def own_windows(pairs: int, draw: np.random.Generator) -> float:
    """Processor seconds per pair and window of our short-term test: taking thirty values in, features, judgement."""
    stream = PairStream(pairs)
    judge, at_s, lost = stream.judge, np.full((pairs, 1), 0.5), np.zeros((pairs, 1), np.int64)
    healthy, effect = np.zeros(len(judge.pairs.columns.live), np.bool_), np.full(pairs, 0.2)
    seconds = [
        sum_pairs(stream.trains(draw.standard_normal((pairs, 1)), lost, 100, at_s), stream.panel.begin)
        for _ in range(30)
    ]
    took = 0.0
    for second in range(1, 12 * 30 + 1):
        sums, t_us = seconds[second % 30], BEGIN_US + second * SECOND_US
        work = partial(follow_windows, judge.pairs.columns, [judge.trends.spreads], sums, healthy, (1.6, effect), t_us)
        seconds_cpu = timed(work)
        took += seconds_cpu if second > 330 else 0.0
    return took / pairs


def measure(seconds: int, sizes: tuple[int, ...], profile: bool) -> dict[str, float]:
    """Runs the jobs and scales to the fleet."""
    draw, engine = np.random.default_rng(1), DetectionEngine(DetectionParameters())
    states = {f"j{number}": engine.start(f"j{number}") for number in range(len(sizes))}
    rnics, took, decoding = sum(sizes), [], 0.0
    profiler = cProfile.Profile()
    for second in range(1, seconds + 1):
        sent = [m for number, size in enumerate(sizes) for m in messages(f"j{number}", size, second, draw)]
        work = partial(judge, engine, states, sent, second)
        took.append(timed(partial(profiler.runcall, work) if profile else work))
        decoding = decode_share(sent) if second == 2 else decoding
    if profile:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(20)
    scale = FLEET_RNICS / rnics
    steady = np.array(took[1:])
    return {
        "rnics": rnics,
        "results_per_second": rnics * TARGETS,
        "us_per_result": 1e6 * float(steady.mean()) / (rnics * TARGETS),
        "share_of_one_core_for_the_fleet": float(steady.mean()) * scale,
        "worst_second_for_the_fleet_s": float(steady.max()) * scale,
        "decoding_share_of_one_core": decoding * scale,
        "state_gib_for_the_fleet": sum(len(pickle.dumps(state)) for state in states.values()) * scale / 2**30,
        "peak_process_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=70)
    parser.add_argument("--jobs", type=int, default=len(SIZES), choices=range(1, len(SIZES) + 1))
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--lof", type=int, default=0, help="pairs of the scikit-learn loop")
    options = parser.parse_args()
    figures = measure(options.seconds, SIZES[: options.jobs], options.profile)
    if options.lof:
        plain, own = (measured(options.lof, np.random.default_rng(2)) for measured in (lof_loop, own_windows))
        windows_per_second = FLEET_RNICS * TARGETS / 30.0
        figures["sklearn_us_per_pair_and_window"], figures["own_us_per_pair_and_window"] = 1e6 * plain, 1e6 * own
        figures["sklearn_cores_for_the_fleet"] = plain * windows_per_second
        figures["own_cores_for_the_fleet"] = own * windows_per_second
        figures["ratio"] = plain / own
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
