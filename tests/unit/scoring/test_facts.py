"""What the recording's own messages say: pair-hours, seats, the newest fabric map."""

from __future__ import annotations

import pytest

from schemas.folding import DERIVED_CLOCK, derived_producer
from schemas.maps import Ecmp, Endpoint, EndpointMap, FabricMap, Link, Node
from schemas.probing import ProbeResult, ProbeResults
from schemas.telemetry import JobProgress
from skeletonhunter.scoring import FactsCollector
from tests.unit.scoring.cases import at

ENVELOPE = {"v": 1, "producer": derived_producer("t", "k", 0), "clock": DERIVED_CLOCK, "fabric": "fab"}


def probes(src: str, *seen: tuple[str, float]) -> ProbeResults:
    results = tuple(
        ProbeResult(dst=dst, t_us=at(t), kind="rdma", outcome="reply", sent=1, lost=0, rtt_us=(9.0,)) for dst, t in seen
    )
    last = max(t for _, t in seen)
    return ProbeResults(**ENVELOPE, t_us=at(last), job="j1", src=src, plan_version=1, results=results)  # type: ignore[arg-type]


def fabric(version: int, links: int) -> FabricMap:
    nodes = (Node(id="leaf", kind="leaf"), Node(id="h1/r0", kind="rnic"))
    cables = tuple(Link(id=f"l{n}", a=f"h1/r0/{n}", b=f"leaf/{n}") for n in range(links))
    return FabricMap(**ENVELOPE, t_us=at(0), version=version, nodes=nodes, links=cables, ecmp=Ecmp(method="traced"))  # type: ignore[arg-type]


def endpoint_map(host: str) -> EndpointMap:
    seat = Endpoint(endpoint="c1/r0", container="c1", host=host, rnic="r0", rail=0, state="ready")
    return EndpointMap(**ENVELOPE, t_us=at(0), job="j1", version=1, state="running", reason="", endpoints=(seat,))  # type: ignore[arg-type]


def test_pair_hours_add_up_each_pair_s_own_span() -> None:
    collector = FactsCollector("r", at(0), at(7200))
    collector.observe(probes("a", ("b", 0), ("c", 0)))
    collector.observe(probes("a", ("b", 3600), ("c", 1800)))
    collector.observe(probes("b", ("a", 10)))
    assert collector.facts().pair_hours == pytest.approx(1.5)


def test_newest_fabric_map_holds_whatever_the_order() -> None:
    for order in ([1, 2], [2, 1]):
        collector = FactsCollector("r", at(0), at(1))
        for version in order:
            collector.observe(fabric(version, links=version))
        facts = collector.facts()
        assert len(facts.links) == 2
        assert facts.rnics == {"h1/r0"}


def test_seats_before_and_after_a_migration_are_both_kept() -> None:
    collector = FactsCollector("r", at(0), at(1))
    for host in ("h1", "h2"):
        collector.observe(endpoint_map(host))
    assert [seat.host for seat in collector.facts().seats] == ["h1", "h2"]


def test_seats_and_steps_are_kept_once() -> None:
    collector = FactsCollector("r", at(0), at(1))
    step = JobProgress(**ENVELOPE, t_us=at(5), job="j1", step=1, step_s=5.0)  # type: ignore[arg-type]
    for message in (endpoint_map("h1"), endpoint_map("h1"), step, step):
        collector.observe(message)
    facts = collector.facts()
    assert [seat.host for seat in facts.seats] == ["h1"]
    assert [(item.job, item.end_us, item.step_s) for item in facts.steps] == [("j1", at(5), 5.0)]
