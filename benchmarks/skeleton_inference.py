"""How long does it take to infer a large job's skeleton from ten minutes of 1 Hz counters, ours beside plain SciPy?

    OPENBLAS_NUM_THREADS=1 python benchmarks/skeleton_inference.py [--rnics 512 2048] [--rounds 3]

Simulated dense jobs (TP 8, PP 8) of the testbed, counters only. *Look*: the one step of the fold in which ten minutes
of messages become columns and a skeleton. *Messages*: what taking them in had cost before. *SciPy*: the method of
``skeleton_baseline.py`` from lists of samples to edges. Processor time, best of the rounds, in one process on one core.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import skeleton_baseline as plain

from schemas.codec import decode
from schemas.folding import Observation, TimeReached
from schemas.instants import SECOND_US
from schemas.maps import EndpointMap
from schemas.telemetry import RnicCounters
from skeleton.engine import SkeletonEngine
from skeleton.parameters import SkeletonParameters
from skeletonhunter.evaluation.skeletons.scores import Answer, SkeletonScore, answer_of, score_skeleton
from skeletonhunter.evaluation.skeletons.simulated import SimulatedJob, simulate_traffic
from skeletonhunter.evaluation.skeletons.truths import Seats, TrueSkeleton, seats_of
from skeletonhunter.testbed.scenario import FabricPlan, JobPlan, Scenario, TelemetryPlan

SECONDS = 600
AIM_S = {512: 0.15, 2048: 1.0}


def simulated(rnics: int) -> SimulatedJob:
    """Ten minutes of a dense job of that size."""
    plan = JobPlan(tp=8, pp=8, dp=rnics // 64, period_s=30.0)
    fabric = FabricPlan(hosts=rnics // 8, hosts_per_leaf=32, spines=8)
    scenario = Scenario(
        name=f"large-{rnics}", seconds=SECONDS, fabric=fabric, jobs=(plan,), telemetry=TelemetryPlan(bursts=False)
    )
    return simulate_traffic(scenario)


def best_of(rounds: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """Least processor time (s), and what the work gave last."""
    least = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        result = work()
        least = min(least, time.process_time() - began)
    return least, result


class Ours:
    """The fold, with all messages taken in and the first look still to come."""

    def __init__(self, endpoint_map: EndpointMap, messages: Sequence[RnicCounters], until_us: int) -> None:
        self.engine = SkeletonEngine(SkeletonParameters(evidence_s=SECONDS - 60.0))
        self.state = self.engine.start("j")
        self.engine.step(self.state, Observation("endpoint-map", endpoint_map))
        self.engine.step(self.state, TimeReached(messages[0].t_us))
        began = time.process_time()
        for message in messages:
            self.engine.step(self.state, Observation("rnic-counters", message))
        self.messages_s = time.process_time() - began
        self.until_us = until_us

    def look(self, rounds: int) -> tuple[float, Answer]:
        """Processor time of the look, and what was found."""
        least, found = float("inf"), None
        for _ in range(rounds):
            state = copy.deepcopy(self.state)
            began = time.process_time()
            _, sent = self.engine.step(state, TimeReached(self.until_us))
            least = min(least, time.process_time() - began)
            found = sent[-1].value
        return least, answer_of(found)


def measure(rnics: int, rounds: int) -> dict[str, object]:
    """Times and quality for one size."""
    traffic = simulated(rnics)
    values = [decode(line.topic, line.key, line.raw, line.arrival_us) for line in traffic.lines]
    endpoint_map = next(value for value in values if isinstance(value, EndpointMap))
    messages = [value for value in values if isinstance(value, RnicCounters)]
    seats = seats_of(endpoint_map)
    edges = frozenset((a, b) for a, b, _ in traffic.world.jobs[0].truth_edges())
    true = TrueSkeleton(expect="skeleton", edges=edges)
    ours = Ours(endpoint_map, messages, max(message.t_us for message in messages) + SECOND_US)
    look_s, answer = ours.look(rounds)
    messages_s, (samples, names, rails) = best_of(1, lambda: as_samples(endpoint_map, messages))
    result: dict[str, object] = {
        "rnics": rnics,
        "ours": {
            "look_s": round(look_s, 3),
            "aim_s": AIM_S.get(rnics),
            "messages_s": round(ours.messages_s, 3),
            **quality(answer, true, seats),
        },
    }
    for features in plain.FEATURES:
        seconds, found = best_of(rounds, lambda f=features: plain.infer(samples, names, rails, f))
        times = round(seconds / look_s, 1)
        result[f"scipy {features}"] = {
            "look_s": round(seconds, 3),
            "times_ours": times,
            "messages_s": round(messages_s, 3),
            **quality(found, true, seats),
        }
    return result


def as_samples(
    endpoint_map: EndpointMap, messages: Sequence[RnicCounters]
) -> tuple[list[plain.Samples], list[str], dict[int, list[int]]]:
    """What the plain method starts from."""
    found: dict[str, list[tuple[int, int]]] = {}
    for message in messages:
        for column in message.rnics:
            rows = zip(column.t_us, column.tx_bytes, strict=True)
            found.setdefault(f"{message.container}/{column.rnic}", []).extend(
                (t_us, tx) for t_us, tx in rows if tx is not None
            )
    endpoints = [endpoint for endpoint in endpoint_map.endpoints if endpoint.endpoint in found]
    rails: dict[int, list[int]] = {}
    for row, endpoint in enumerate(endpoints):
        rails.setdefault(endpoint.rail, []).append(row)
    ordered = [sorted(found[endpoint.endpoint]) for endpoint in endpoints]
    samples = [plain.Samples([t_us for t_us, _ in rows], [tx for _, tx in rows]) for rows in ordered]
    return samples, [endpoint.endpoint for endpoint in endpoints], rails


def quality(answer: Answer, true: TrueSkeleton, seats: Seats) -> dict[str, object]:
    """The figures of an answer."""
    score: SkeletonScore = score_skeleton(answer, true, seats)
    names = ("period_s", "true_ratio", "recall", "precision", "ratio", "confidence")
    values = {name: getattr(score, name) for name in names}
    return {name: None if value is None else round(value, 3) for name, value in values.items()}


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rnics", type=int, nargs="+", default=[512, 2048])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "as many as cores")
    sizes = [measure(rnics, given.rounds) for rnics in given.rnics]
    print(json.dumps(msgspec.to_builtins({"blas_threads": threads, "seconds": SECONDS, "jobs": sizes}), indent=1))


if __name__ == "__main__":
    main()
