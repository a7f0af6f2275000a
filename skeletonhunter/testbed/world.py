"""What exists in a simulation? Fabric, jobs, members, and a generator of random numbers for each purpose.

Every purpose (placement, a fault, one host's tables) draws from its own generator, so that a change in one part of a
scenario leaves the others as they were.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from zlib import crc32

import numpy as np

from skeletonhunter.testbed.clos import RailSpec, rail_fabric
from skeletonhunter.testbed.fabric import Fabric
from skeletonhunter.testbed.jobs import Job, JobBuilder, Landlord
from skeletonhunter.testbed.members import Member
from skeletonhunter.testbed.paths import PathTable, edge_port
from skeletonhunter.testbed.physics import Trains
from skeletonhunter.testbed.producers import Span
from skeletonhunter.testbed.scenario import Scenario

EPOCH_US = 1_735_689_600_000_000
"""2025-01-01T00:00:00Z; recordings begin within a year of it, at a whole second drawn from the seed."""


def generator(scenario: Scenario, purpose: str) -> np.random.Generator:
    """The generator of a purpose."""
    return np.random.default_rng([scenario.seed, crc32(purpose.encode()), crc32(scenario.name.encode())])


@dataclass(frozen=True)
class World:
    """All that a scenario says exists; nothing in it changes over time but by ``Effects``."""

    scenario: Scenario
    span: Span
    spec: RailSpec
    fabric: Fabric
    jobs: tuple[Job, ...]
    members: tuple[Member, ...]
    paths: PathTable
    job_of: dict[int, Job] = field(repr=False)

    def draw(self, purpose: str) -> np.random.Generator:
        """The generator of a purpose."""
        return generator(self.scenario, purpose)

    @property
    def hosts(self) -> list[str]:
        """Hosts that run at least one container, in the fabric's order."""
        used = {member.host for member in self.members}
        return [host for host in self.spec.hosts if host in used]

    def on_host(self, host: str) -> list[Member]:
        """Members on a host."""
        return [member for member in self.members if member.host == host]

    def edges_at(self, second: float) -> np.ndarray:
        """Pairs of members that all jobs use at ``second``, each once; shape (n, 2)."""
        parts = [job.phase_at(second).member_edges() for job in self.jobs if second < job.ends_s]
        return np.concatenate(parts) if parts else np.zeros((0, 2), dtype=int)

    def edge_trains(self, second: float) -> Trains:
        """The jobs' own flows at ``second`` in both directions, as if each were a train."""
        edges = self.edges_at(second)
        src, dst = np.concatenate([edges[:, 0], edges[:, 1]]), np.concatenate([edges[:, 1], edges[:, 0]])
        sport = np.array([edge_port(a, b) for a, b in zip(src.tolist(), dst.tolist(), strict=True)], dtype=int)
        epoch = self.paths.epoch_at(second)
        path = self.paths.look_up(src, dst, sport, epoch)
        return Trains(src, dst, path, sport, np.full(len(src), second))


def build_world(scenario: Scenario) -> World:
    """The world of a scenario.

    Raises:
        ScenarioError: the jobs don't fit on the fabric.
    """
    rng = generator(scenario, "world")
    plan = scenario.fabric
    numbers = sorted(int(n) for n in rng.choice(np.arange(1000, 10_000), plan.hosts, replace=False))
    spec = RailSpec(
        fabric="fab-1",
        hosts=tuple(f"h-{number}" for number in numbers),
        rails=plan.rails,
        hosts_per_leaf=plan.hosts_per_leaf,
        spines=plan.spines,
        salt=f"{rng.integers(1 << 16):x}",
        dual_tor=plan.dual_tor,
        segments_per_pod=plan.segments_per_pod,
    )
    landlord = Landlord(spec, generator(scenario, "seats"))
    jobs: list[Job] = []
    for number, job_plan in enumerate(scenario.jobs):
        first = sum(len(job.members) for job in jobs)
        builder = JobBuilder(number, job_plan, landlord, first, generator(scenario, f"job {number}"))
        jobs.append(builder.build(scenario.seconds))
    members = tuple(member for job in jobs for member in job.members)
    fabric = rail_fabric(spec)
    t0_us = EPOCH_US + int(rng.integers(0, 31_000_000)) * 1_000_000
    job_of = {member.number: job for job in jobs for member in job.members}
    span = Span(t0_us, scenario.seconds)
    return World(scenario, span, spec, fabric, tuple(jobs), members, PathTable(fabric, members), job_of)
