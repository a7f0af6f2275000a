"""Ports without a link, as fabrics of InfiniBand show them: what they say of themselves is no second fault."""

from __future__ import annotations

from pathlib import Path

from tests.unit.collectors.rnic.test_state import UP, codes, look, watching
from tests.unit.collectors.rnic.trees import card, placed, put

RATE, SLOWEST = "400 Gb/sec (4X NDR)", "10 Gb/sec (4X SDR)"


def test_a_port_that_is_down_is_not_slow_as_well(tmp_path: Path) -> None:
    folders = [card(tmp_path, f"mlx5_{number}", f"0000:0{number}:00.0", UP, ports__1__rate=RATE) for number in range(3)]
    part = watching(tmp_path, placed("mlx5_0", "mlx5_1", "mlx5_2"))
    assert look(part, *range(6)) == []
    for path, value in (("state", "1: DOWN"), ("phys_state", "2: Polling"), ("rate", SLOWEST)):
        put(folders[1], f"ports/1/{path}", value)
    (down,) = look(part, *range(6, 16), without="")
    assert down.fields["event"] == "port_down" and "polling" in down.fields["text"]
    for path, value in (("state", "4: ACTIVE"), ("phys_state", "5: LinkUp"), ("rate", "100 Gb/sec (4X EDR)")):
        put(folders[1], f"ports/1/{path}", value)
    assert codes(look(part, *range(16, 26))) == ["port_up", "speed_degraded"], "what came back slower is told"


def test_a_port_that_was_down_from_the_beginning_has_no_rate(tmp_path: Path) -> None:
    down = {**UP, "state": "1: DOWN", "phys_state": "2: Polling"}
    card(tmp_path, "mlx5_0", "0000:01:00.0", UP, ports__1__rate=RATE)
    card(tmp_path, "mlx5_1", "0000:02:00.0", down, ports__1__rate=SLOWEST)
    told = look(watching(tmp_path, placed("mlx5_0", "mlx5_1")), *range(6), without="")
    rates = {one.fields["device"]: one.fields["values"]["gbps"] for one in told if "gbps" in one.fields["values"]}
    assert rates == {"rnic:h/mlx5_0": 400.0, "rnic:h/mlx5_1": None}
    assert "speed_degraded" not in codes(told)


def test_flaps_are_counted_by_the_port_where_ipoib_is_off(tmp_path: Path) -> None:
    """As on most fabrics of InfiniBand only: the network device is down and counts nothing."""
    over_ib: dict[str, int | str] = {**UP, "link_layer": "InfiniBand", "gid_attrs/ndevs/0": "ib0"}
    folder = card(tmp_path, "mlx5_0", "0000:01:00.0", over_ib)
    put(tmp_path, "class/net/ib0/carrier_down_count", "1")
    part = watching(tmp_path, placed("mlx5_0"))
    assert look(part, 0) == []
    put(folder, "ports/1/counters/link_downed", "13")
    told = look(part, 1)
    assert set(codes(told)) == {"port_down", "port_up"} and told[0].fields["values"]["flaps"] == 6
