"""Paths are those of another implementation (the testbed's), on every kind of fabric that it builds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from localization.routing import distances, hashed_path
from localization.topology import Topology
from probe_planner.paths import Flows, flow_hash
from probe_planner.wiring import Wiring, read_wiring
from schemas.folding import DERIVED_CLOCK, derived_producer
from schemas.maps import Ecmp, Endpoint, FabricEndpoints, FabricMap, Link, Node
from skeletonhunter.testbed.clos import RailSpec, rail_fabric
from skeletonhunter.testbed.fabric import Fabric

CABLINGS: list[dict[str, Any]] = [
    {},
    {"spines": 3},
    {"dual_tor": True},
    {"segments_per_pod": 2, "cores_per_plane": 2},
    {"segments_per_pod": 2, "cores_per_plane": 3, "dual_tor": True, "spines": 3},
    {"hosts_per_leaf": 1, "spines": 8},
]
SPAN = 500


def built(cabling: dict[str, Any]) -> tuple[Fabric, list[str], Wiring]:
    hosts = tuple(f"h{number:02d}" for number in range(24))
    fabric = rail_fabric(RailSpec("f", hosts, 2, salt="99", **{"hosts_per_leaf": 4, **cabling}))
    rnics = [node.id for node in fabric.nodes if node.kind == "rnic"]
    return fabric, rnics, read_wiring(fabric.nodes, fabric.links, rnics)


def address(number: int) -> str:
    return f"10.{number}.7.{number * 3 % 256}"


def flows_of(wiring: Wiring, rnics: list[str], ecmp: Ecmp, count: int) -> tuple[Flows, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    source = rng.integers(0, len(rnics), count)
    target = (source + rng.integers(1, len(rnics), count)) % len(rnics)
    addresses = [address(number) for number in range(len(rnics))]
    rows = np.array([wiring.rnic[name] for name in rnics])
    hashing = flow_hash(ecmp, wiring, addresses, (source, target), (50_000, SPAN))
    return Flows(wiring, rows[source], rows[target], *hashing), source, target


@pytest.mark.parametrize("cabling", CABLINGS)
def test_hashed_paths_are_the_testbeds(cabling: dict[str, Any]) -> None:
    fabric, rnics, wiring = built(cabling)
    flows, source, target = flows_of(wiring, rnics, Ecmp(method="hash", function="crc32", salt="99"), 400)
    port = np.random.default_rng(6).integers(0, SPAN, 400)
    paths = flows.hashed(np.arange(400), port)
    ways = flows.possible()
    for row, (a, b) in enumerate(zip(source.tolist(), target.tolist(), strict=True)):
        expected = fabric.path((rnics[a], address(a)), (rnics[b], address(b)), 50_000 + int(port[row]))
        assert tuple(wiring.links[link] for link in paths[row] if link >= 0) == expected
        assert any((way == paths[row]).all() for way in ways[row]), "a path that is taken is one of the possible ones"


@pytest.mark.parametrize("cabling", CABLINGS)
def test_every_possible_path_is_taken_by_some_port(cabling: dict[str, Any]) -> None:
    _, rnics, wiring = built(cabling)
    flows, _, _ = flows_of(wiring, rnics, Ecmp(method="hash", function="crc32", salt="99"), 20)
    ways = flows.possible()
    for row in range(20):
        taken = {tuple(path) for path in flows.hashed(np.full(SPAN, row), np.arange(SPAN)).tolist()}
        assert {tuple(way) for way in ways[row].tolist()} == taken


def test_a_salt_per_node_is_read_as_localization_reads_it() -> None:
    fabric, rnics, wiring = built({"segments_per_pod": 2, "spines": 3})
    salts: dict[str, str | int] = {name: f"s{number}" for number, name in enumerate(wiring.switches)}
    ecmp = Ecmp(method="hash", function="crc32", salt=salts)
    flows, source, target = flows_of(wiring, rnics, ecmp, 200)
    port = np.random.default_rng(7).integers(0, SPAN, 200)
    paths, ways = flows.hashed(np.arange(200), port), flows.possible()
    topology = topology_of(fabric, rnics, ecmp)
    for row, (a, b) in enumerate(zip(source.tolist(), target.tolist(), strict=True)):
        ends = endpoint_name(rnics[a]), endpoint_name(rnics[b])
        expected = hashed_path(topology, *ends, 50_000 + int(port[row]), distances(topology, rnics[b]))
        assert tuple(wiring.links[link] for link in paths[row] if link >= 0) == expected
        assert any((way == paths[row]).all() for way in ways[row])


def endpoint_name(rnic: str) -> str:
    return f"c-{rnic.replace('/', '-')}/r"


def topology_of(fabric: Fabric, rnics: list[str], ecmp: Ecmp) -> Topology:
    topology = Topology()
    heading: dict[str, Any] = {
        "v": 1,
        "t_us": 0,
        "producer": derived_producer("x", "x", 1),
        "clock": DERIVED_CLOCK,
        "fabric": "f",
        "version": 1,
    }
    topology.take_fabric(FabricMap(**heading, nodes=fabric.nodes, links=fabric.links, ecmp=ecmp))
    endpoints = tuple(
        Endpoint(
            endpoint=f"{endpoint_name(rnic)[:-2]}/{rnic.rpartition('/')[2]}",
            container=endpoint_name(rnic)[:-2],
            host=rnic.rpartition("/")[0],
            rnic=rnic.rpartition("/")[2],
            rail=0,
            ip=address(number),
            state="ready",
        )
        for number, rnic in enumerate(rnics)
    )
    topology.take_endpoints(FabricEndpoints(**heading, job="j", state="running", endpoints=endpoints))
    topology.endpoints.update({endpoint_name(f"{e.host}/{e.rnic}"): e for e in endpoints})
    return topology


def test_no_way_is_no_path_and_unknown_rnics_are_not_cabled() -> None:
    nodes = tuple(Node(id=name, kind="leaf") for name in ("a", "b"))
    rnics = [Node(id=name, kind="rnic") for name in ("h1/r", "h2/r", "h3/r")]
    links = (Link(id="1", a="h1/r/1", b="a/1"), Link(id="2", a="b/1", b="h2/r/1"))
    wiring = read_wiring((*nodes, *rnics), links, [node.id for node in rnics])
    assert set(wiring.rnic) == {"h1/r", "h2/r"}
    flows = Flows(wiring, np.array([0]), np.array([1]), None, None)
    assert (flows.possible() == -1).all()


def test_paths_that_are_only_traced_cannot_be_computed() -> None:
    _, rnics, wiring = built({})
    flows, _, _ = flows_of(wiring, rnics, Ecmp(method="traced"), 3)
    assert flows.hash is None
    with pytest.raises(ValueError, match="only traced"):
        flows.hashed(np.arange(3), np.arange(3))
