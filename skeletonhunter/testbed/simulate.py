"""Lets a scenario happen, second by second, and writes what the monitor received, and the truth.

In each second all producers speak; what has arrived by its end is written in order of arrival and shown to the planner,
whose plans the agents then take over (closed loop). Nothing of the pipeline is known here.
Cost: about 6 us per train and 30 us per message; memory grows with the transfers of all jobs, not with messages.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol
from zlib import crc32

from schemas.instants import SECOND_US
from skeletonhunter.testbed.activity import HopLoads, run_job
from skeletonhunter.testbed.agents import Sidecars, health_lines
from skeletonhunter.testbed.effects import Effects, Injection
from skeletonhunter.testbed.flows import FlowDumper, FlowLedger
from skeletonhunter.testbed.flowtraffic import JobFlows
from skeletonhunter.testbed.injecting import add_up, inject, routing_epochs
from skeletonhunter.testbed.maps import EndpointMaps, fabric_lines, progress_lines
from skeletonhunter.testbed.plans import Plan, Planner, plan_of, true_pairs
from skeletonhunter.testbed.probing import Prober
from skeletonhunter.testbed.producers import Json, Line, Registry
from skeletonhunter.testbed.queues import build_queues
from skeletonhunter.testbed.scenario import Scenario, ScenarioError
from skeletonhunter.testbed.telemetry import BurstReports, Counters, QueueReports
from skeletonhunter.testbed.truth import truth_of
from skeletonhunter.testbed.world import World, build_world


class Sink(Protocol):
    """Takes lines in order of arrival within their topic."""

    def write_raw(self, topic: str, key: str, arrival_us: int, raw: bytes) -> None:
        """One line; ``raw`` is the value as JSON."""


Progress = Callable[[int], None]
BUSY_BYTES = 30_000.0
"""A queue that was never deeper was not congested."""


class Simulation:
    """One scenario with its world. ``run`` lets it happen; afterwards ``truth`` is known."""

    def __init__(self, scenario: Scenario, planner: Planner | None = None) -> None:
        self.scenario, self.planner = scenario, planner
        self.world: World = build_world(scenario)
        self.injections: list[Injection] = self.inject()
        self.effects: Effects = add_up(self.injections)
        self.world.paths.epochs = routing_epochs(self.effects)
        seed = (scenario.seed, crc32(scenario.name.encode()))
        self.registry = Registry(self.world.span, self.world.fabric.name, scenario.telemetry, self.effects, seed)
        self._build()

    def inject(self) -> list[Injection]:
        """The faults; a story of its own may tell others."""
        return inject(self.world)

    def first_plans(self) -> list[Plan]:
        """What is probed from the beginning when nobody plans."""
        return true_pairs(self.world, 0.0, 1)

    def _build(self) -> None:
        world, effects, registry = self.world, self.effects, self.registry
        self.activities = tuple(
            run_job(world, job, effects, world.draw(f"activity {number}")) for number, job in enumerate(world.jobs)
        )
        queues = self.queues = build_queues(world, effects, HopLoads(world, self.activities), world.draw("queues"))
        ledger = FlowLedger(world)
        self.sidecars = Sidecars(world, effects, world.draw("adoption"))
        self.prober = Prober(world, effects, registry, self.sidecars, queues, ledger, world.draw("probes"))
        self.maps = EndpointMaps(world, effects, registry)
        self.counters = Counters(world, effects, registry, self.activities, world.draw("counters"))
        self.bursts = BurstReports(world, registry, self.activities, world.draw("bursts"))
        self.queue_reports = QueueReports(world, effects, registry, queues, world.draw("queue samples"))
        traffic = JobFlows(world, self.activities, ledger)
        self.dumper = FlowDumper(world, effects, registry, ledger, world.draw("dumps"), traffic.second)
        self.numbers = {member.endpoint: member.number for member in world.members}

    def run(self, sink: Sink, progress: Progress = lambda _: None) -> None:
        """Lets all seconds pass and writes every line."""
        waiting: list[Line] = []
        if self.planner is None:
            for plan in self.first_plans():
                self.sidecars.receive(plan, -60.0)
        for second in range(self.world.span.seconds + 1):
            waiting.extend(self._second(second))
            waiting.sort(key=_arrival)
            count = bisect_right(waiting, self.world.span.at(second), key=_arrival)
            arrived, waiting = waiting[:count], waiting[count:]
            self._hand_over(arrived, sink)
            self._plan(arrived, second)
            progress(second)
        self._hand_over(waiting, sink)

    def _second(self, second: int) -> Iterator[Line]:
        """All messages whose interval ends at ``second``."""
        if second == 0:
            yield from fabric_lines(self.world, self.registry)
        yield from self.maps.second(second)
        if second == 0:
            return
        yield from self.prober.second(second - 1)
        yield from self.dumper.second(second - 1)
        yield from self.counters.second(second)
        if self.scenario.telemetry.bursts:
            yield from self.bursts.second(second)
        yield from self.queue_reports.second(second)
        version = max((plan.version for plan in self.sidecars.plans), default=0)
        yield from health_lines(self.world, self.effects, self.registry, second, version)
        yield from progress_lines(self.registry, self.activities, second)
        yield from self._warnings(second)

    def _warnings(self, second: int) -> Iterator[Line]:
        for warning in self.effects.warnings:
            if second - 1 < warning.at_s <= second:
                kind = "syslog" if warning.agent not in self.world.hosts else "host-agent"
                stream = self.registry.stream("device-events", warning.agent, kind, job={})
                yield from stream.send(
                    warning.at_s,
                    {
                        "device": warning.device,
                        "event": warning.event,
                        "severity": warning.severity,
                        "text": warning.text,
                        "values": dict(warning.values),
                    },
                )

    def _hand_over(self, lines: Sequence[Line], sink: Sink) -> None:
        for line in lines:
            sink.write_raw(line.topic, line.key, line.arrival_us, line.raw)

    def _plan(self, arrived: Sequence[Line], second: int) -> None:
        if self.planner is not None:
            for message in self.planner.observe(arrived):
                plan = plan_of(message, self.numbers, self.world.span.t0_us / SECOND_US)
                self.sidecars.receive(plan, float(second))
            return
        if second and any(phase.from_s == second for job in self.world.jobs for phase in job.phases):
            version = max(plan.version for plan in self.sidecars.plans) + 1
            for plan in true_pairs(self.world, float(second), version):
                self.sidecars.receive(plan, float(second))

    def truth(self) -> Json:
        """What happened, for scoring only.

        Raises:
            ScenarioError: a fault never became active, so it must not count.
        """
        touched = self._touched()
        for number, (injection, trains) in enumerate(zip(self.injections, touched, strict=True)):
            if not trains and not self._acted(injection):
                where = f"faults[{number}]: {injection.what} at {injection.component}"
                raise ScenarioError(f"{where} was never active, give it another time or the scenario another seed")
        return truth_of(self.world, self.injections, touched)

    def _acted(self, injection: Injection) -> bool:
        """Whether a fault that no probe met did something to the jobs' flows, to queues, or to the monitor."""
        effects = injection.effects
        trains = self.world.edge_trains(injection.when.first_s)
        met = any((each.where.crossings(trains, self.world.paths) > 0).any() for each in effects.impairments)
        filled = any(self.queues.depths[load.hop].max() > BUSY_BYTES for load in effects.loads)
        return (
            met or filled or bool(effects.silences or effects.agents or effects.clocks) or not injection.probe_visible
        )

    def _touched(self) -> list[int]:
        """Trains that met each injection."""
        met = dict(zip(map(id, self.prober.suffered), self.prober.touched.tolist(), strict=True))
        return [
            sum(met[id(each)] for each in injection.effects.impairments + injection.effects.mute)
            for injection in self.injections
        ]


def _arrival(line: Line) -> int:
    return line.arrival_us
