"""Neighbours by LLDP as lldpctl prints them, and whether a cable has moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.events.lldp import Neighbour, Neighbours, parse_neighbours
from tests.unit.collectors.events.hosts import NOW, devices, text


def test_neighbours_are_a_list_an_object_or_json0() -> None:
    assert parse_neighbours(text("lldp_two.json")) == (
        Neighbour(netdev="eth2", switch="leaf-0", port="Ethernet4", chassis_id="02:00:00:00:00:01", age_s=836140),
        Neighbour(netdev="eth3", switch="leaf-1", port="Ethernet8", chassis_id="02:00:00:00:00:02", age_s=10789405),
    )
    (one,) = parse_neighbours(text("lldp_one.json"))
    assert (one.netdev, one.switch, one.port, one.age_s) == ("eth2", "leaf-7", "Ethernet12", 62)
    (zero,) = parse_neighbours(text("lldp_json0.json"))
    assert (zero.netdev, zero.switch, zero.port, zero.age_s) == ("eth2", "leaf-0", "Ethernet4", 86405)
    number = '"port": {"descr": "ge-0/0/12.0", "id": {"type": "local", "value": "539"'
    junos = text("lldp_one.json").replace('"port": {"id": {"type": "ifname", "value": "Ethernet12"', number)
    assert [each.port for each in parse_neighbours(junos)] == ["ge-0/0/12"]
    assert parse_neighbours("{}") == parse_neighbours('{"lldp": {}}') == ()
    with pytest.raises(ValueError, match="lldpctl: not JSON"):
        parse_neighbours("error: no daemon")


def test_a_cable_that_moved_is_told(tmp_path: Path) -> None:
    answer = tmp_path / "answer.json"
    part = Neighbours(devices, ("cat", str(answer)))
    answer.write_text(text("lldp_two.json"))
    assert list(part.collect(NOW)) == [] and part.switch_ports == {"mlx5_0": "leaf-1/Ethernet8"}
    answer.write_text("{}")
    assert list(part.collect(NOW)) == [], "silence is no move"
    answer.write_text(text("lldp_one.json"))
    (fact,) = part.collect(NOW)
    assert (fact.fields["event"], fact.fields["device"]) == ("neighbour_changed", "rnic:h1/mlx5_0")
    assert fact.fields["values"] == {"switch_port": "leaf-7/Ethernet12", "before": "leaf-0/Ethernet4"}


def test_a_second_neighbour_behind_a_device_is_no_move(tmp_path: Path) -> None:
    answer = tmp_path / "answer.json"
    part = Neighbours(devices, ("cat", str(answer)))
    entry = '{{"eth2": {{"chassis": {{"{}": {{}}}}, "port": {{"id": {{"type": "ifname", "value": "{}"}}}}}}}}'
    leaf, card, other = entry.format("leaf-0", "Ethernet4"), entry.format("a card", "p0"), entry.format("leaf-9", "E1")
    for entries in ((leaf,), (card, leaf), (leaf, card), (card, leaf)):
        answer.write_text(f'{{"lldp": {{"interface": [{", ".join(entries)}]}}}}')
        assert list(part.collect(NOW)) == [] and part.switch_ports == {"mlx5_0": "leaf-0/Ethernet4"}
    answer.write_text(f'{{"lldp": {{"interface": [{other}]}}}}')
    assert [fact.fields["event"] for fact in part.collect(NOW)] == ["neighbour_changed"]
    assert list(part.collect(NOW)) == []
