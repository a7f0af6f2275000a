"""Jobs, skeletons and fabrics for the planner's benchmarks.

Rank = ((dp x PP + pp) x EP + ep) x TP + tp, a container of TP RNICs per host, rail = tp; edges: cliques over dp and ep,
neighbours in pp. tp 8, pp 8, dp 8 is the paper's Figure 9a, tp 8, ep 4, pp 4, dp 4 its Figure 9b.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from probe_planner.engine import PlannerEngine, PlannerState
from probe_planner.parameters import PlannerParameters
from schemas.folding import DERIVED_CLOCK, Observation, TimeReached, derived_producer
from schemas.maps import Ecmp, Endpoint, EndpointMap, JobFabric, Parallelism
from schemas.skeletons import SkeletonUpdate
from skeletonhunter.testbed.clos import RailSpec, rail_fabric

T_US = 1_753_000_000_000_000
Pair = tuple[int, int]


@dataclass(frozen=True)
class Job:
    """Degrees of parallelism; ``first`` host; ``shuffled``: containers are named in another order than ranks."""

    tp: int = 8
    pp: int = 1
    dp: int = 1
    ep: int = 1
    first: int = 0
    shuffled: bool = False

    @property
    def ranks(self) -> int:
        """RNICs."""
        return self.tp * self.pp * self.dp * self.ep

    @property
    def containers(self) -> int:
        """Containers, each on a host."""
        return self.ranks // self.tp

    def edges(self) -> list[Pair]:
        """Pairs of ranks, the lesser first."""
        rank = np.arange(self.ranks).reshape(self.dp, self.pp, self.ep, self.tp)
        found: set[Pair] = set()
        for pp, ep, tp in product(range(self.pp), range(self.ep), range(self.tp)):
            found.update(combinations(rank[:, pp, ep, tp].tolist(), 2))
        for dp, pp, tp in product(range(self.dp), range(self.pp), range(self.tp)):
            found.update(combinations(rank[dp, pp, :, tp].tolist(), 2))
        for pp in range(self.pp - 1):
            found.update(zip(rank[:, pp].ravel().tolist(), rank[:, pp + 1].ravel().tolist(), strict=True))
        return sorted(found)

    def name(self, rank: int) -> str:
        """The endpoint of a rank."""
        number = rank // self.tp
        if self.shuffled:
            number = int(np.random.default_rng(3).permutation(self.containers)[number])
        return f"c{self.first + number:04d}/mlx5_{rank % self.tp}"


def _heading(source: str, seq: int) -> dict[str, Any]:
    producer = derived_producer(source, "j", seq)
    return {"v": 1, "t_us": T_US, "producer": producer, "clock": DERIVED_CLOCK, "fabric": "f", "job": "j"}


def endpoint_map(job: Job, version: int = 1, gone: frozenset[int] = frozenset()) -> EndpointMap:
    """All endpoints ready but those of some containers."""
    endpoints = []
    for rank in range(job.ranks):
        host = job.first + rank // job.tp
        name = job.name(rank)
        number = host * 8 + rank % job.tp
        endpoints.append(
            Endpoint(
                endpoint=name,
                container=name.partition("/")[0],
                host=f"h{host:04d}",
                rnic=f"mlx5_{rank % job.tp}",
                rail=rank % job.tp,
                rank=rank,
                ip=f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}",
                state="gone" if rank // job.tp in gone else "ready",
            )
        )
    return EndpointMap(
        **_heading("map", version), version=version, state="running", reason="", endpoints=tuple(endpoints)
    )


def skeleton(job: Job, version: int = 1) -> SkeletonUpdate:
    """The trusted skeleton of the job, with the endpoint map of the same version."""
    edges = []
    for a, b in job.edges():
        one, two = sorted((job.name(a), job.name(b)))
        edges.append((one, two, "pp" if b - a == job.tp * job.ep else "dp"))
    return SkeletonUpdate(
        **_heading("skeleton", version),
        skeleton="s",
        version=version,
        supersedes=None,
        endpoint_map_version=version,
        state="trusted",
        confidence=1.0,
        coverage=1.0,
        period_s=10.0,
        groups=(),
        edges=tuple(edges),
        parallelism=Parallelism(),
        reason="",
    )


def fabric(job: Job, **cabling: Any) -> JobFabric:
    """The rail-optimised fabric of the job's hosts."""
    hosts = tuple(f"h{job.first + number:04d}" for number in range(job.containers))
    built = rail_fabric(RailSpec("f", hosts, job.tp, salt="7", **cabling))
    ecmp = Ecmp(method="hash", function="crc32", salt="7")
    return JobFabric(
        **_heading("fabric", 1), version=1, fabric_version=1, nodes=built.nodes, links=built.links, ecmp=ecmp
    )


def told(parameters: PlannerParameters, *values: Any) -> tuple[PlannerEngine, PlannerState]:
    """A planner that knows these and has not planned yet."""
    engine = PlannerEngine(parameters)
    state = engine.start("j")
    topics = {EndpointMap: "endpoint-map", SkeletonUpdate: "skeleton-updates", JobFabric: "job-fabrics"}
    for value in values:
        state, _ = engine.step(state, Observation(topics[type(value)], value))
    return engine, state


def planned(parameters: PlannerParameters, *values: Any) -> Any:
    """The plan that it makes."""
    engine, state = told(parameters, *values)
    _, sent = engine.step(state, TimeReached(T_US))
    return sent[-1].value
