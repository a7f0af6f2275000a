"""Jobs, skeletons and fabrics for tests of the planner, and what it says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from probe_planner.engine import PlannerEngine, PlannerState
from probe_planner.parameters import PlannerParameters
from schemas.diagnosis import JobSuspects, Suspect
from schemas.envelope import Message
from schemas.folding import DERIVED_CLOCK, Observation, TimeReached, derived_producer
from schemas.instants import SECOND_US
from schemas.maps import Ecmp, Endpoint, EndpointMap, EndpointState, JobFabric, Parallelism
from schemas.plan_changes import newer_plan
from schemas.probing import ProbePlan, ProbePlanDelta
from schemas.skeletons import Edge, SkeletonUpdate
from skeletonhunter.testbed.clos import RailSpec, rail_fabric
from tests.simulated_jobs import BEGIN_US, Shape, endpoint_map, name_of

TOPICS = {
    "EndpointMap": "endpoint-map",
    "SkeletonUpdate": "skeleton-updates",
    "JobFabric": "job-fabrics",
    "JobSuspects": "job-suspects",
}


def job_map(shape: Shape, version: int = 1, states: Mapping[int, EndpointState] | None = None) -> EndpointMap:
    """The map of a job with addresses; ``states`` by container."""
    whole = endpoint_map(shape, version)
    endpoints = tuple(
        msgspec.structs.replace(
            endpoint,
            ip=f"10.{rank >> 8}.{rank & 255}.1",
            state=(states or {}).get(rank // shape.tp, "ready"),
        )
        for rank, endpoint in enumerate(whole.endpoints)
    )
    return msgspec.structs.replace(whole, endpoints=endpoints)


def edges_of(shape: Shape) -> tuple[Edge, ...]:
    """The edges of a job, neighbours in the pipeline first."""
    found = []
    for a, b in sorted(shape.edges()):
        one, two = sorted((name_of(shape, a), name_of(shape, b)))
        found.append((one, two, "pp" if b - a == shape.tp * shape.ep else "dp"))
    return tuple(found)


def skeleton(shape: Shape, version: int = 1, map_version: int = 1, **changes: Any) -> SkeletonUpdate:
    """A trusted skeleton of a job."""
    update = SkeletonUpdate(
        v=1,
        t_us=BEGIN_US,
        producer=derived_producer("skeleton", "j", version),
        clock=DERIVED_CLOCK,
        fabric="f",
        job="j",
        skeleton=f"s{version}",
        version=version,
        supersedes=None,
        endpoint_map_version=map_version,
        state="trusted",
        confidence=0.9,
        coverage=1.0,
        period_s=10.0,
        groups=(),
        edges=edges_of(shape),
        parallelism=Parallelism(),
        reason="",
    )
    return msgspec.structs.replace(update, **changes)


def fabric(shape: Shape, method: str = "hash", version: int = 1, **cabling: Any) -> JobFabric:
    """A rail fabric with a host per container."""
    hosts = tuple(f"h{number:03d}" for number in range(shape.ranks // shape.tp))
    built = rail_fabric(RailSpec("f", hosts, shape.tp, salt="7", **cabling))
    nodes = tuple(msgspec.structs.replace(node, id=node.id) for node in built.nodes)
    return JobFabric(
        v=1,
        t_us=BEGIN_US,
        producer=derived_producer("fabric", "j", version),
        clock=DERIVED_CLOCK,
        fabric="f",
        job="j",
        version=version,
        fabric_version=1,
        nodes=nodes,
        links=built.links,
        ecmp=Ecmp(method=method, function="crc32", salt="7"),  # type: ignore[arg-type]
    )


def suspects(version: int, **components: int) -> JobSuspects:
    """Suspicions, names with ``__`` for ``:`` and ``_slash_`` for ``/``."""
    return JobSuspects(
        v=1,
        t_us=BEGIN_US,
        producer=derived_producer("fabric", "j", version),
        clock=DERIVED_CLOCK,
        fabric="f",
        job="j",
        version=version,
        suspects=tuple(
            Suspect(component=name.replace("__", ":").replace("_slash_", "/"), anomalies=count)
            for name, count in components.items()
        ),
    )


@dataclass
class Planning:
    """A planner at work: ``tell`` it something each second; ``sent`` messages, and the plan that an agent follows."""

    parameters: PlannerParameters = field(default_factory=PlannerParameters)
    sent: list[ProbePlan | ProbePlanDelta] = field(default_factory=list)
    followed: ProbePlan | None = None
    second: int = 0

    def __post_init__(self) -> None:
        self.engine = PlannerEngine(self.parameters)
        self.state: PlannerState = self.engine.start("j")

    def tell(self, *values: Message, seconds: int = 1) -> list[ProbePlan | ProbePlanDelta]:
        """What is sent in the next seconds, the first of which brings ``values``."""
        before = len(self.sent)
        for value in values:
            self.state, nothing = self.engine.step(self.state, Observation(TOPICS[type(value).__name__], value))
            assert not nothing
        for _ in range(seconds):
            self.state, emitted = self.engine.step(self.state, TimeReached(BEGIN_US + self.second * SECOND_US))
            self.second += 1
            for emission in emitted:
                message = emission.value
                assert isinstance(message, ProbePlan | ProbePlanDelta) and emission.key == "j"
                topic = "probe-plans" if isinstance(message, ProbePlan) else "probe-plan-deltas"
                assert emission.topic == topic
                self.sent.append(message)
                self.followed = newer_plan(self.followed, message)
        return self.sent[before:]

    @property
    def plan(self) -> ProbePlan:
        """The plan that an agent follows."""
        assert self.followed is not None
        return self.followed


def directed(plan: ProbePlan) -> set[tuple[str, str]]:
    """Who probes whom."""
    return {(src, dst) for slot in plan.slots for src, dst, _ in slot}


def undirected(plan: ProbePlan) -> set[tuple[str, str]]:
    """Which pairs are probed."""
    return {(min(pair), max(pair)) for pair in directed(plan)}


def busiest(plan: ProbePlan, rnic_of: Mapping[str, str]) -> int:
    """The most probes that one RNIC takes part in within a slot."""
    counts: list[int] = []
    for slot in plan.slots:
        ends = [rnic_of[end] for src, dst, _ in slot for end in (src, dst)]
        counts += [ends.count(rnic) for rnic in set(ends)]
    return max(counts, default=0)


def rnics(endpoints: Sequence[Endpoint]) -> dict[str, str]:
    """The physical RNIC of each endpoint."""
    return {each.endpoint: f"{each.host}/{each.rnic}" for each in endpoints}
