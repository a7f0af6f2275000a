"""LLDP: what lldpctl prints becomes links, each cable once; contradictions are refused."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.maps.neighbours import FabricFromNeighbours, Neighbour, Tiers, fabric_of, parse_lldp
from schemas.envelope import Clock, Producer
from schemas.maps import FabricMap
from tests.unit.collectors.hand_clock import HandClock

TIERS = Tiers()
RNICS = {"eth2": "mlx5_0", "eth3": "mlx5_1"}
HOST = {  # lldpctl -f json of lldpd 1.0.16 on a host with two cabled ports
    "lldp": {
        "interface": [
            {
                "eth2": {
                    "via": "LLDP",
                    "rid": "1",
                    "age": "0 day, 02:11:08",
                    "chassis": {"leaf-0": {"id": {"type": "mac", "value": "00:1b:21:aa:00:01"}, "descr": "SONiC"}},
                    "port": {"id": {"type": "local", "value": "Ethernet4"}, "descr": "etp2", "ttl": "120"},
                }
            },
            {
                "eth3": {
                    "via": "LLDP",
                    "rid": "2",
                    "chassis": {"leaf-1": {"id": {"type": "mac", "value": "00:1b:21:aa:00:02"}}},
                    "port": {"id": {"type": "ifname", "value": "Ethernet4"}, "ttl": "120"},
                }
            },
        ]
    }
}
LEAF_0 = {  # one neighbour: an object instead of a list; the host is known by the MAC of its port
    "lldp": {
        "interface": {
            "Ethernet64": {
                "chassis": {"spine-0": {"id": {"type": "mac", "value": "00:1b:21:bb:00:01"}}},
                "port": {"id": {"type": "local", "value": "Ethernet0"}},
            },
            "Ethernet4": {
                "chassis": {"h-1": {"id": {"type": "mac", "value": "b8:3f:d2:00:00:01"}}},
                "port": {"id": {"type": "mac", "value": "b8:3f:d2:00:00:01"}, "descr": "eth2"},
            },
        }
    }
}
SPINE_0 = {  # json0: everything is a list
    "lldp": [
        {
            "interface": [
                {
                    "name": "Ethernet0",
                    "chassis": [{"id": [{"type": "mac", "value": "00:1b:21:aa:00:01"}], "name": [{"value": "leaf-0"}]}],
                    "port": [{"id": [{"type": "local", "value": "Ethernet64"}], "descr": [{"value": "etp17"}]}],
                }
            ]
        }
    ]
}


def write_all(folder: Path) -> None:
    for device, wire in (("h-1", HOST), ("leaf-0", LEAF_0), ("spine-0", SPINE_0)):
        (folder / f"{device}.json").write_text(json.dumps(wire))


@pytest.mark.parametrize("many", [False, True])
def test_a_switch_without_a_name_is_none_of_its_own_capabilities(many: bool) -> None:
    capability: object = {"type": "Bridge", "enabled": True}
    chassis = {"id": {"type": "mac", "value": "02:00:00:00:00:09"}, "descr": "x", "mgmt-ip": "192.0.2.9"}
    chassis["capability"] = [capability] if many else capability  # type: ignore[assignment]
    port = {"id": {"type": "ifname", "value": "Ethernet4"}}
    nameless = {"chassis": chassis, "port": port}
    assert parse_lldp("h-1", json.dumps({"lldp": {"interface": {"eth2": nameless}}}).encode()) == []
    named = {"chassis": {"leaf-0": chassis}, "port": port}
    both = {"lldp": {"interface": {"eth2": [nameless, named]}}}
    assert parse_lldp("h-1", json.dumps(both).encode()) == [Neighbour("h-1", "eth2", "leaf-0", "Ethernet4")]


def test_a_port_that_sends_a_number_is_called_by_its_description() -> None:
    """As Junos does: the id is the SNMP index."""
    port = {"id": {"type": "local", "value": "588"}, "descr": "ge-0/0/38.0"}
    wire = {"lldp": {"interface": {"eth2": {"chassis": {"leaf-0": {}}, "port": port}}}}
    assert parse_lldp("h-1", json.dumps(wire).encode()) == [Neighbour("h-1", "eth2", "leaf-0", "ge-0/0/38")]


def test_all_three_shapes_of_the_output_are_read() -> None:
    assert parse_lldp("h-1", json.dumps(HOST).encode()) == [
        Neighbour("h-1", "eth2", "leaf-0", "Ethernet4"),
        Neighbour("h-1", "eth3", "leaf-1", "Ethernet4"),
    ]
    assert parse_lldp("leaf-0", json.dumps(LEAF_0).encode()) == [
        Neighbour("leaf-0", "Ethernet4", "h-1", "eth2"),
        Neighbour("leaf-0", "Ethernet64", "spine-0", "Ethernet0"),
    ]
    assert parse_lldp("spine-0", json.dumps(SPINE_0).encode()) == [
        Neighbour("spine-0", "Ethernet0", "leaf-0", "Ethernet64")
    ]


def test_a_cable_seen_from_both_ends_is_one_link(tmp_path: Path) -> None:
    write_all(tmp_path)
    collector = FabricFromNeighbours(tmp_path, TIERS, RNICS, 2.0, 300.0)
    (observed,) = collector.collect(HandClock()())
    fields = observed.fields
    assert [(link["a"], link["b"]) for link in fields["links"]] == [
        ("h-1/mlx5_0/p0", "leaf-0/Ethernet4"),
        ("h-1/mlx5_1/p0", "leaf-1/Ethernet4"),
        ("leaf-0/Ethernet64", "spine-0/Ethernet0"),
    ]
    assert {node["id"]: node["kind"] for node in fields["nodes"]} == {
        "h-1/mlx5_0": "rnic",
        "h-1/mlx5_1": "rnic",
        "leaf-0": "leaf",
        "leaf-1": "leaf",
        "spine-0": "spine",
    }
    as_map(fields)


def as_map(fields: dict[str, Any]) -> FabricMap:
    producer, clock = Producer(id="p", kind="k", boot="b", seq=0), Clock(source="none", offset_us=0.0, error_us=0.0)
    envelope = {"v": 1, "t_us": 0, "producer": producer, "clock": clock, "fabric": "f", "version": 1}
    return msgspec.convert({**envelope, **fields}, FabricMap)


def test_the_map_is_said_when_it_changes(tmp_path: Path) -> None:
    write_all(tmp_path)
    clock = HandClock()
    collector = FabricFromNeighbours(tmp_path, TIERS, RNICS, 2.0, 300.0)
    (first,) = collector.collect(clock())
    assert list(collector.collect(clock.move(2.0))) == []
    (tmp_path / "leaf-0.json").write_text('{"lldp": {}}')  # its cables are seen from their other ends
    (same,) = collector.collect(clock.move(2.0))
    assert same.fields == first.fields
    (tmp_path / "h-1.json").write_text('{"lldp": {}}')
    (second,) = collector.collect(clock.move(2.0))
    assert second.fields["version"] > first.fields["version"]
    assert len(second.fields["links"]) == len(first.fields["links"]) - 2
    (again,) = collector.collect(clock.move(300.0))
    assert again.fields == second.fields


def test_two_neighbours_at_one_switch_port_are_refused() -> None:
    found = [Neighbour("leaf-0", "e1", "spine-0", "e0"), Neighbour("leaf-0", "e1", "spine-1", "e0")]
    with pytest.raises(ValueError, match=r"port leaf-0/e1 has two neighbours: spine-0/e0 and spine-1/e0"):
        fabric_of(found, TIERS, {})


def test_a_folder_without_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{tmp_path}: expected files <device>.json"):
        list(FabricFromNeighbours(tmp_path, TIERS, {}, 2.0, 300.0).collect(HandClock()()))


def test_what_is_not_json_is_named() -> None:
    with pytest.raises(ValueError, match=r"leaf-0: not JSON"):
        parse_lldp("leaf-0", b"lldpcli: unable to connect")


names = st.sampled_from(["leaf-0", "leaf-1", "spine-0", "h-1", "h-2"])
ports = st.sampled_from(["e0", "e1", "eth2"])


@given(st.lists(st.builds(Neighbour, names, ports, names, ports), max_size=12))
def test_every_map_that_is_made_fits_the_contract_whatever_the_order(found: list[Neighbour]) -> None:
    try:
        made = fabric_of(found, TIERS, RNICS)
    except ValueError as error:
        assert "has two neighbours" in str(error)
        return
    as_map(made)
    assert made == fabric_of(reversed(found), TIERS, RNICS)


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["lldp", "interface", "name", "chassis", "port", "id", "value", "x"]), inner)
    ),
    max_leaves=20,
)


@given(json_like | st.binary(max_size=40))
def test_nothing_but_value_errors_comes_out_of_the_parser(wire: Any) -> None:
    data = wire if isinstance(wire, bytes) else json.dumps({"lldp": wire}).encode()
    with suppress(ValueError):
        assert all(isinstance(one, Neighbour) for one in parse_lldp("d", data))
