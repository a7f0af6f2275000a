"""Traced hops become links only when there is no doubt, and traces end before they reach the destination."""

from __future__ import annotations

import pytest

from collectors.probing.paths import Fabric
from collectors.probing.tracing import MOST_HOPS, Trace, Tracer
from collectors.probing.transport import Peer
from schemas.instants import SECOND_US
from schemas.maps import FabricMap, Node
from tests.unit.collectors.probing.facts import fabric_map

A, B = "ha/r", "hb/r"
HOPS = ["10.1.0.1", "10.11.1.2", "10.12.1.1"]
PATH = ("a", "l1-s1", "l2-s1", "b")


def leaf_spine(version: int = 1) -> FabricMap:
    nodes = [
        Node(id="l1", kind="leaf", addresses={"10.1.0.1": "host"}),
        Node(id="l2", kind="leaf", addresses={"10.12.1.1": "s1", "10.12.2.1": "s2"}),
        Node(id="s1", kind="spine", addresses={"10.11.1.2": "l1"}),
        Node(id="s2", kind="spine", addresses={"10.11.2.2": "l1", "10.11.2.6": "l1-second"}),
        Node(id=A, kind="rnic"),
        Node(id=B, kind="rnic"),
    ]
    links = [("a", f"{A}/1", "l1/host"), ("b", f"{B}/1", "l2/host"), ("l1-s2-second", "l1/s2-second", "s2/l1-second")]
    links += [
        (f"{leaf}-{spine}", f"{leaf}/{spine}", f"{spine}/{leaf}") for leaf in ("l1", "l2") for spine in ("s1", "s2")
    ]
    return fabric_map(nodes, links, version)


@pytest.mark.parametrize(
    ("hops", "path"),
    [
        (HOPS, PATH),
        (["10.1.0.1", "10.11.1.2", "10.12.2.1"], PATH),  # the leaf answers by another of its ports
        (["10.1.0.1", "10.11.2.2", "10.12.2.1"], ("a", "l1-s2", "l2-s2", "b")),
        (["10.1.0.1", "10.11.2.6", "10.12.2.1"], ("a", "l1-s2-second", "l2-s2", "b")),
        (["10.1.0.1", None, "10.12.1.1"], None),
        (["10.1.0.1", "192.0.2.1", "10.12.1.1"], None),
        (["10.1.0.1", "10.12.1.1"], None),
        (["10.1.0.1"], None),
        ([], None),
    ],
)
def test_a_path_is_known_or_it_is_not(hops: list[str | None], path: tuple[str, ...] | None) -> None:
    assert Fabric(leaf_spine()).path(A, hops, B) == path


def test_parallel_links_that_look_alike_are_not_guessed() -> None:
    nodes = [Node(id="l", kind="leaf", addresses={"10.0.0.1": ""}), Node(id=A, kind="rnic"), Node(id=B, kind="rnic")]
    links = [("x", f"{A}/1", "l/1"), ("y", f"{A}/2", "l/2"), ("b", f"{B}/1", "l/3")]
    assert Fabric(fabric_map(nodes, links)).path(A, ["10.0.0.1"], B) is None


FLOW = ("a/r", "b/r", 50_000)


def trace() -> Trace:
    return Trace(FLOW, Peer(endpoint="b/r", ip="10.2.0.2"), "rdma", (A, B), ("j", None, 1))


def tracer(every_s: float = 60.0) -> Tracer:
    one = Tracer(every_s)
    one.take_fabric(Fabric(leaf_spine()))
    return one


def test_a_trace_asks_hop_by_hop_and_stops_at_the_last_switch() -> None:
    one, way = tracer(), trace()
    for seq, hop in enumerate(HOPS):
        assert not one.is_done(way, 5)
        assert way.ttl == seq + 1
        one.note_sent(seq, way, 0)
        assert one.note_hop(seq, hop) is way
    assert one.is_done(way, 5)
    assert one.path(FLOW) == PATH
    ((_, result),) = one.take_results()
    assert (result.kind, result.outcome, result.sent, result.lost, result.path) == ("traceroute", "reply", 3, 0, PATH)


def test_a_silent_hop_ends_the_trace_and_the_last_known_path_stays() -> None:
    one = tracer()
    one._paths[FLOW] = PATH
    way = trace()
    assert not one.is_done(way, 0)
    one.note_sent(1, way, 100)
    one.expire(100, 5)
    assert one.take_results() == []
    one.expire(101, 5)
    ((_, result),) = one.take_results()
    assert (result.outcome, result.sent, result.lost, result.path) == ("lost", 1, 1, None)
    assert one.path(FLOW) == PATH
    assert one.note_hop(1, HOPS[0]) is None
    assert one.wants(FLOW, (A, B), 100 + 6 * SECOND_US)  # sooner than a trace that was good


def test_a_fabric_that_loops_does_not_trace_for_ever() -> None:
    one, way = tracer(), trace()
    for seq in range(MOST_HOPS):
        assert not one.is_done(way, 0)
        one.note_sent(seq, way, 0)
        one.note_hop(seq, HOPS[0])
    assert one.is_done(way, 0)


def test_each_flow_is_traced_at_its_interval_and_not_without_a_map() -> None:
    assert not Tracer(60.0).wants(FLOW, (A, B), 0)
    assert not tracer(0.0).wants(FLOW, (A, B), 0)
    one = tracer()
    assert one.wants(FLOW, (A, B), 0)
    assert not one.wants(FLOW, (A, B), 59 * SECOND_US)
    other = ("a/r", "b/r", 50_001)
    assert not one.wants(other, (A, B), SECOND_US // 2)  # one a second: switches answer no more
    assert one.wants(other, (A, B), SECOND_US)
    assert one.wants(FLOW, (A, B), 60 * SECOND_US)
    assert not one.wants(("a/r", "x/r", 1), (A, "hx/r"), 0)
    one.take_fabric(Fabric(leaf_spine(version=2)))
    assert one.wants(FLOW, (A, B), 62 * SECOND_US)


def test_who_is_asked_for_a_path_traces_it_out_of_turn_but_no_faster_than_traces_go() -> None:
    one, other = tracer(), ("a/r", "c/r", 50_002)
    assert one.wants(FLOW, (A, B), 0)
    assert one.wants(other, (A, B), SECOND_US)
    one.hurry([FLOW[:2]])
    assert not one.wants(FLOW, (A, B), SECOND_US + 1)
    assert not one.wants(other, (A, B), 2 * SECOND_US)
    assert one.wants(FLOW, (A, B), 2 * SECOND_US)
    assert not one.wants(FLOW, (A, B), 3 * SECOND_US)


def test_an_agent_that_may_not_trace_does_not_trace_on_request_either() -> None:
    one = tracer(0.0)
    one.hurry([FLOW[:2]])
    assert not one.wants(FLOW, (A, B), 0)
