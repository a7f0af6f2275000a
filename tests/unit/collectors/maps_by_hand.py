"""Endpoint maps, plans and requests for tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schemas.envelope import Clock, Producer
from schemas.maps import Endpoint, EndpointMap
from schemas.probing import ExpectedRound, ProbeBudget, ProbePlan
from schemas.requests import EvidenceRequest

T_US = 1_753_000_000_000_000
ENVELOPE: dict[str, Any] = {
    "v": 1,
    "t_us": T_US,
    "producer": Producer(id="scheduler:x/endpoint-map", kind="scheduler", boot="b", seq=0),
    "clock": Clock(source="ntp", offset_us=0.0, error_us=1.0),
    "fabric": "pod-7",
}


def endpoint(container: str, rail: int, host: str, state: Any = "ready") -> Endpoint:
    name = f"{container}/mlx5_{rail}"
    return Endpoint(endpoint=name, container=container, host=host, rnic=f"mlx5_{rail}", rail=rail, state=state)


def job_map(job: str, version: int, endpoints: Iterable[Endpoint], state: Any = "running") -> EndpointMap:
    return EndpointMap(job=job, version=version, state=state, reason="by hand", endpoints=tuple(endpoints), **ENVELOPE)


def job_plan(job: str, version: int, slots: Any = ()) -> ProbePlan:
    return ProbePlan(
        job=job,
        plan=f"plan-{version}",
        version=version,
        skeleton_version=None,
        mode="basic",
        budget=ProbeBudget(),
        expected=ExpectedRound(round_s=1.0, probes=0, lower_bound_s=0.0),
        slots=slots,
        excluded=(),
        **ENVELOPE,
    )


def evidence_request(host: str, kind: Any = "flow-tables", expires_us: int = T_US + 10**9) -> EvidenceRequest:
    fields = {"request": "r-1", "incident": "i-1", "endpoints": ("c/mlx5_0",), "reason": "by hand"}
    towards = ("d/mlx5_0",) if kind == "traceroute" else ()
    return EvidenceRequest(host=host, kind=kind, towards=towards, expires_us=expires_us, **fields, **ENVELOPE)
