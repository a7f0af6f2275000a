"""Can one core keep the skeletons of a fleet current, and how large is the state?

    OPENBLAS_NUM_THREADS=1 python benchmarks/skeleton_fleet.py [--jobs 100] [--seconds 1500] [--bursts]
    OPENBLAS_NUM_THREADS=1 python benchmarks/skeleton_fleet.py --tenfold

A sample of training jobs of 16 and 24 RNICs is simulated by the testbed and folded second by second; figures are scaled
to 2,000 jobs with 40,000 RNICs. *Share*: processor time per second of event time; *steady*: once the windows are full.
Decoding of the messages is measured apart. State: bytes of the pickled states, as tables keep them. ``--tenfold``: the
state of one job after 12 minutes and after 120.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from schemas.codec import decode
from schemas.envelope import Value
from schemas.folding import Observation, TimeReached
from schemas.instants import SECOND_US
from schemas.skeletons import SkeletonUpdate
from skeleton.engine import SkeletonEngine
from skeleton.parameters import SkeletonParameters
from skeleton.state import JobState
from skeletonhunter.evaluation.skeletons.simulated import simulate_traffic
from skeletonhunter.testbed.producers import Line
from skeletonhunter.testbed.scenario import FabricPlan, JobPlan, Scenario, TelemetryPlan

JOBS, RNICS = 2000, 40_000


def scenario(number: int, seconds: int, bursts: bool) -> Scenario:
    """A job of the sample: 2 or 3 hosts, steps of 10 to 40 s."""
    dp = 2 + number % 2
    plan = JobPlan(tp=8, pp=1, dp=dp, period_s=10.0 + 30.0 * (number * 0.618 % 1.0))
    if number % 4 == 0:
        plan = JobPlan(tp=8, pp=2, dp=1 + number % 8 // 4, period_s=plan.period_s)
    hosts = plan.pp * plan.dp
    return Scenario(
        name=f"fleet-{number}",
        seed=number,
        seconds=seconds,
        fabric=FabricPlan(hosts=hosts, hosts_per_leaf=4),
        jobs=(plan,),
        telemetry=TelemetryPlan(bursts=bursts),
    )


@dataclass
class Folded:
    """One job's fold, and what it cost by second of event time."""

    lines: tuple[Line, ...]
    seconds: int
    t0_us: int
    rnics: int
    engine: SkeletonEngine = field(default_factory=lambda: SkeletonEngine(SkeletonParameters()))
    decode_s: float = 0.0
    last: str = "none"
    costs: list[float] = field(default_factory=list)
    state: JobState = field(default_factory=lambda: JobState("j"))

    def run(self) -> None:
        """Folds everything, second by second."""
        self.state = self.engine.start("j")
        for second, values in enumerate(self._by_second()):
            began = time.process_time()
            for topic, value in values:
                self._step(Observation(topic, value))  # type: ignore[arg-type]
            self._step(TimeReached(self.t0_us + second * SECOND_US))
            self.costs.append(time.process_time() - began)

    def _step(self, event: Observation | TimeReached) -> None:
        self.state, sent = self.engine.step(self.state, event)
        for emission in sent:
            if isinstance(emission.value, SkeletonUpdate):
                self.last = emission.value.state

    def _by_second(self) -> Iterator[list[tuple[str, Value]]]:
        place = 0
        for second in range(self.seconds + 1):
            began, values = time.process_time(), []
            while place < len(self.lines) and self.lines[place].arrival_us <= self.t0_us + second * SECOND_US:
                line = self.lines[place]
                values.append((line.topic, decode(line.topic, line.key, line.raw, line.arrival_us)))
                place += 1
            self.decode_s += time.process_time() - began
            yield values


def fold(number: int, seconds: int, bursts: bool) -> Folded:
    """One job of the sample, simulated and folded."""
    traffic = simulate_traffic(scenario(number, seconds, bursts))
    folded = Folded(traffic.lines, seconds, traffic.world.span.t0_us, len(traffic.world.members))
    folded.run()
    return folded


def fleet(jobs: int, seconds: int, bursts: bool) -> dict[str, object]:
    """Shares and sizes of a sample, scaled to the fleet."""
    window = round(SkeletonParameters().window_s)
    steady = range(window, seconds + 1) if seconds > window + 60 else range(seconds + 1)
    rnics = trusted = state = 0
    whole = filled = decoding = 0.0
    for number in range(jobs):
        folded = fold(number, seconds, bursts)
        rnics += folded.rnics
        trusted += folded.last == "trusted"
        state += len(pickle.dumps(folded.state, pickle.HIGHEST_PROTOCOL))
        whole += sum(folded.costs) / len(folded.costs)
        filled += sum(folded.costs[second] for second in steady) / len(steady)
        decoding += folded.decode_s / (seconds + 1)
    scale = JOBS / jobs
    return {
        "sample": {"jobs": jobs, "rnics": rnics, "seconds": seconds, "bursts": bursts, "trusted_at_end": trusted},
        "fleet": {"jobs": JOBS, "rnics": round(rnics * scale), "aim_rnics": RNICS},
        "share_of_a_core": round(whole * scale, 3),
        "share_of_a_core_steady": round(filled * scale, 3),
        "share_of_a_core_decoding": round(decoding * scale, 3),
        "state_mib": round(state * scale / 2**20, 1),
        "aim_state_mib": 1024,
    }


def tenfold() -> dict[str, object]:
    """State of one job after a stream and after one of ten times its length."""
    sizes: dict[str, object] = {}
    for seconds in (720, 7200):
        folded = fold(3, seconds, True)
        before = len(pickle.dumps(folded.state, pickle.HIGHEST_PROTOCOL))
        sizes[f"{seconds} s"] = {"state_bytes": before, "messages": len(folded.lines), "state": folded.last}
    sizes["largest_resident_set_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return sizes


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=1500)
    parser.add_argument("--bursts", action="store_true")
    parser.add_argument("--tenfold", action="store_true")
    given = parser.parse_args()
    found = tenfold() if given.tenfold else fleet(given.jobs, given.seconds, given.bursts)
    print(json.dumps({"blas_threads": os.environ.get("OPENBLAS_NUM_THREADS", "as many as cores"), **found}, indent=1))


if __name__ == "__main__":
    main()
