"""What does a host agent report of a simulated job, and how good is the skeleton that comes of it?

Only traffic is simulated: the endpoint map, counters and bursts of the testbed, no probes, queues or flow tables. It is
written as a recording with the truth about skeletons, and judged as the recordings of real traffic are.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Protocol
from zlib import crc32

from msgspec import Struct

from skeletonhunter.evaluation.skeletons.drawing_jobs import drawn_scenario
from skeletonhunter.evaluation.skeletons.traces import TraceRow, judge_recording
from skeletonhunter.evaluation.skeletons.watching import View
from skeletonhunter.recordings.writer import RecordingWriter, about
from skeletonhunter.testbed.activity import JobActivity, run_job
from skeletonhunter.testbed.effects import Effects
from skeletonhunter.testbed.maps import EndpointMaps
from skeletonhunter.testbed.producers import Line, Registry
from skeletonhunter.testbed.scenario import JobPlan, Scenario
from skeletonhunter.testbed.telemetry import BurstReports, Counters
from skeletonhunter.testbed.world import World, build_world
from streams.parameters import Parameters

VIEWS: tuple[View, ...] = ("bursts", "counters")
TOPICS = ("endpoint-map", "rnic-counters", "rnic-bursts")
TRAINS = ("dense", "moe", "fsdp")


class Trial(Struct, frozen=True, kw_only=True):
    """One simulated job in one view.

    ``iterations``: steps from its first burst to the first trusted skeleton; None = never trusted, or it has no steps.
    """

    name: str
    plan: JobPlan
    row: TraceRow
    directed_pairs: int
    exact: bool
    iterations: float | None


class Producer(Protocol):
    """Says in each second what its interval had."""

    def second(self, second: int) -> list[Line]:
        """The lines of the intervals that end at ``second``."""


@dataclass(frozen=True)
class SimulatedJob:
    """A scenario's traffic: what the first job did, and the lines that a monitor received of it."""

    world: World
    activity: JobActivity
    lines: tuple[Line, ...]

    def iterations_until(self, t_us: int) -> float:
        """Steps from the first burst of the recording to an instant, with the part of the last one."""
        first_s = float(min(start for start in self.activity.bursts.start_s.tolist() if start >= 0.0))
        return self._step_at((t_us - self.world.span.t0_us) / 1e6) - self._step_at(first_s)

    def _step_at(self, second: float) -> float:
        starts = [step.start_s for step in self.activity.steps]
        number = max(bisect_right(starts, second) - 1, 0)
        step = self.activity.steps[number]
        return number + (second - step.start_s) / (step.end_s - step.start_s)


def simulate_traffic(scenario: Scenario) -> SimulatedJob:
    """The traffic of a scenario with one job and no faults; bursts if its telemetry has them."""
    world, effects = build_world(scenario), Effects()
    seed = (scenario.seed, crc32(scenario.name.encode()))
    registry = Registry(world.span, world.fabric.name, scenario.telemetry, effects, seed)
    activity = run_job(world, world.jobs[0], effects, world.draw("activity 0"))
    producers: list[Producer] = [
        EndpointMaps(world, effects, registry),
        Counters(world, effects, registry, (activity,), world.draw("counters")),
    ]
    if scenario.telemetry.bursts:
        producers.append(BurstReports(world, registry, (activity,), world.draw("bursts")))
    seconds = range(world.span.seconds + 1)
    lines = [line for second in seconds for producer in producers for line in producer.second(second)]
    return SimulatedJob(world, activity, tuple(sorted(lines, key=lambda line: line.arrival_us)))


def write_traffic(traffic: SimulatedJob, path: Path) -> None:
    """Writes the traffic as a recording with the truth about skeletons."""
    job, span = traffic.world.jobs[0], traffic.world.span
    trains = job.plan.kind in TRAINS
    with RecordingWriter(path, compress=False) as writer:
        for topic in TOPICS:
            writer.open_topic(topic)
        for line in traffic.lines:
            writer.write_raw(line.topic, line.key, line.arrival_us, line.raw)
        expect = "skeleton" if trains else "abstain"
        truth = {
            "expect": expect,
            "jobs": {job.name: {"expect": expect, "period_s": _mean_step_s(traffic.activity) if trains else None}},
            "groups": job.truth_groups(),
            "edges": job.truth_edges() if trains else [],
        }
        ends = (span.t0_us, span.at(span.seconds))
        writer.finish(about(traffic.world.scenario.name, "Traffic only.", ends, "simulated", "Apache-2.0"), truth)


def try_job(name: str, parameters: Parameters) -> tuple[Trial, ...]:
    """Simulates a drawn job and judges its skeleton in each view."""
    traffic = simulate_traffic(drawn_scenario(name))
    with tempfile.TemporaryDirectory(prefix=f"{name}-") as place:
        path = Path(place) / name
        write_traffic(traffic, path)
        return tuple(_trial(name, traffic, row) for view in VIEWS for row in judge_recording(path, view, parameters))


def try_jobs(
    names: Sequence[str], parameters: Parameters, workers: int, finished: Callable[[int], None]
) -> tuple[Trial, ...]:
    """All trials, in the order of the names."""
    return tuple(_tried(names, parameters, workers, finished))


def _tried(
    names: Sequence[str], parameters: Parameters, workers: int, finished: Callable[[int], None]
) -> Iterator[Trial]:
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        futures = [pool.submit(try_job, name, parameters) for name in names]
        for number, future in enumerate(futures, start=1):
            yield from future.result()
            finished(number)


def _trial(name: str, traffic: SimulatedJob, row: TraceRow) -> Trial:
    after_us = row.trusted_at_us
    score = row.score
    return Trial(
        name=name,
        plan=traffic.world.jobs[0].plan,
        row=row,
        directed_pairs=2 * row.edges,
        exact=score.recall == 1.0 and score.precision == 1.0,
        iterations=None if after_us is None or not traffic.activity.steps else traffic.iterations_until(after_us),
    )


def _mean_step_s(activity: JobActivity) -> float:
    whole = [step.end_s - step.start_s for step in activity.steps]
    return sum(whole) / len(whole)
