"""Small plans and maps for the pure parts of probing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schemas.envelope import Clock, Producer
from schemas.maps import Ecmp, Endpoint, EndpointMap, FabricMap, Link, Node
from schemas.probing import ExpectedRound, Probe, ProbeBudget, ProbePlan

BODY: dict[str, Any] = {
    "v": 1,
    "t_us": 1,
    "producer": Producer(id="agent:test/x", kind="test", boot="b", seq=1),
    "clock": Clock(source="none", offset_us=0.0, error_us=0.0),
    "fabric": "f",
}


def plan(slots: Sequence[Sequence[Probe]], round_s: float, pps: float | None = None, **more: Any) -> ProbePlan:
    fields: dict[str, Any] = {
        "job": "j",
        "plan": "p",
        "version": 1,
        "skeleton_version": None,
        "mode": "basic",
        "budget": ProbeBudget(pps_per_rnic=pps),
        "expected": ExpectedRound(round_s=round_s, probes=sum(map(len, slots)), lower_bound_s=round_s),
        "slots": tuple(tuple(slot) for slot in slots),
        "excluded": (),
    }
    return ProbePlan(**BODY, **(fields | more))


def endpoint(name: str, state: str = "ready", **more: Any) -> Endpoint:
    container, _, rnic = name.partition("/")
    fields: dict[str, Any] = {
        "host": f"host-of-{container}",
        "rail": 0,
        "ip": f"10.0.0.{container[1:]}",
        "state": state,
    }
    return Endpoint(endpoint=name, container=container, rnic=rnic, **(fields | more))


def endpoint_map(
    endpoints: Sequence[Endpoint], version: int = 1, state: str = "running", job: str = "j"
) -> EndpointMap:
    return EndpointMap(**BODY, job=job, version=version, state=state, reason="test", endpoints=tuple(endpoints))


def fabric_map(nodes: Sequence[Node], links: Sequence[tuple[str, str, str]], version: int = 1) -> FabricMap:
    made = tuple(Link(id=name, a=a, b=b) for name, a, b in links)
    return FabricMap(**BODY, version=version, nodes=tuple(nodes), links=made, ecmp=Ecmp(method="traced"))
