"""The collector of states: what changes on ports, GIDs, PCIe links, bonds and cards becomes events."""

from __future__ import annotations

from pathlib import Path

import msgspec

from collectors.observing import Observed
from collectors.rnic.following import Cards
from collectors.rnic.placement import Placement
from collectors.rnic.settings import RnicSettings
from collectors.rnic.state import RnicState
from schemas.codec import decode
from tests.unit.collectors.rnic.test_counters import reborn
from tests.unit.collectors.rnic.trees import at, card, placed, put

SETTINGS = RnicSettings(gids_s=1.0, pcie_s=1.0, devices_s=1.0)
V4 = "0000:0000:0000:0000:0000:ffff:c633:6401"
ZERO = "0000:0000:0000:0000:0000:0000:0000:0000"
BYTES: dict[str, int | str] = {"counters/port_xmit_data": 1, "counters/port_rcv_data": 1}
UP: dict[str, int | str] = {**BYTES, "state": "4: ACTIVE", "phys_state": "5: LinkUp", "counters/link_downed": 7}


def watching(sys: Path, placements: tuple[Placement, ...], settings: RnicSettings = SETTINGS) -> RnicState:
    return RnicState(lambda: placements, Cards(sys, settings.devices_s), settings)


def look(part: RnicState, *seconds: float, without: str = "rnic_inventory") -> list[Observed]:
    return [one for second in seconds for one in part.collect(at(second)) if one.fields["event"] != without]


def codes(observed: list[Observed]) -> list[str]:
    return [one.fields["event"] for one in observed]


def test_a_port_that_goes_down_and_comes_back(tmp_path: Path) -> None:
    folder = card(tmp_path, "mlx5_0", "0000:01:00.0", UP)
    part = watching(tmp_path, placed("mlx5_0"))
    assert look(part, 0, 1) == []
    put(folder, "ports/1/state", "1: DOWN")
    put(folder, "ports/1/phys_state", "3: Disabled")
    (down,) = look(part, 2, 3)
    assert (down.fields["event"], down.fields["device"], down.fields["severity"]) == (
        "port_down",
        "rnic:h/mlx5_0",
        "error",
    )
    assert "disabled" in down.fields["text"]
    put(folder, "ports/1/state", "4: ACTIVE")
    (up,) = look(part, 4)
    assert up.fields["event"] == "port_up" and up.fields["values"]["stable"] is False
    assert codes(look(part, 5, 650)) == ["port_stable"]


def test_flaps_between_looks_are_found_and_old_totals_are_none(tmp_path: Path) -> None:
    folder = card(tmp_path, "mlx5_0", "0000:01:00.0", UP)
    part = watching(tmp_path, placed("mlx5_0"))
    assert look(part, 0) == []
    put(folder, "ports/1/counters/link_downed", "13")
    told = look(part, 1)
    assert set(codes(told)) == {"port_down", "port_up"} and told[0].fields["values"]["flaps"] == 6


def test_a_gid_that_moves_is_told_at_once_and_the_health_message_knows(tmp_path: Path) -> None:
    folder = card(
        tmp_path, "mlx5_0", "0000:01:00.0", {**UP, "gids/3": V4, "gids/4": ZERO, "gid_attrs/types/3": "RoCE v2"}
    )
    put(folder, "ports/1/gid_attrs/types/4", "RoCE v2")
    part = watching(tmp_path, placed("mlx5_0"))
    assert look(part, 0) == [] and part.gids == {"c0/mlx5_0": V4}
    put(folder, "ports/1/gids/3", ZERO)
    put(folder, "ports/1/gids/4", V4)
    (moved,) = look(part, 1, 2)
    values = moved.fields["values"]
    assert moved.fields["event"] == "gid_changed"
    assert (values["old_index"], values["new_index"], values["gid"], values["endpoint"]) == (3, 4, V4, "c0/mlx5_0")


def test_a_card_is_watched_while_its_state_can_be_read(tmp_path: Path) -> None:
    folder = card(tmp_path, "mlx5_0", "0000:01:00.0", UP)
    card(tmp_path, "mlx5_1", "0000:02:00.0", UP)
    part = watching(tmp_path, placed("mlx5_0", "mlx5_1", "mlx5_7"))
    assert part.watches == ()
    look(part, 0)
    assert part.watches == ("rnic:h/mlx5_0", "rnic:h/mlx5_1")
    put(folder, "ports/1/state", "nonsense")
    look(part, 1)
    assert part.watches == ("rnic:h/mlx5_1",)


def test_another_gid_beside_the_one_in_use_is_no_change(tmp_path: Path) -> None:
    folder = card(tmp_path, "mlx5_0", "0000:01:00.0", {**UP, "gids/3": V4, "gid_attrs/types/3": "RoCE v2"})
    part = watching(tmp_path, placed("mlx5_0"))
    look(part, 0)
    put(folder, "ports/1/gids/1", V4[:-1] + "7")
    put(folder, "ports/1/gid_attrs/types/1", "RoCE v2")
    assert look(part, 1, 100) == [] and part.gids == {"c0/mlx5_0": V4}


def test_a_gid_that_is_gone_for_a_moment_is_nothing_and_for_longer_a_hole(tmp_path: Path) -> None:
    folder = card(tmp_path, "mlx5_0", "0000:01:00.0", {**UP, "gids/3": V4, "gid_attrs/types/3": "RoCE v2"})
    part = watching(tmp_path, placed("mlx5_0"))
    look(part, 0)
    put(folder, "ports/1/gids/3", ZERO)
    assert look(part, 1) == []
    put(folder, "ports/1/gids/3", V4)
    assert look(part, 2) == []
    put(folder, "ports/1/gids/3", ZERO)
    (hole,) = look(part, 3, 4, 5, 6)
    assert hole.fields["values"]["gid"] is None and part.gids == {}
    put(folder, "ports/1/gids/3", V4)
    assert codes(look(part, 7, 8)) == ["gid_restored"]


def test_a_pinned_index_without_gid_is_a_matter_of_configuration(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_0", "0000:01:00.0", {**UP, "gids/6": V4, "gid_attrs/types/6": "RoCE v2"})
    (told,) = look(watching(tmp_path, placed("mlx5_0", gid_index=3)), 0, 1, 2)
    assert (told.fields["event"], told.fields["device"]) == ("gid_missing", "config:h")
    assert told.fields["values"]["indexes"] == [6]


def test_a_pinned_index_of_the_link_only_is_told_where_routable_ones_exist(tmp_path: Path) -> None:
    local = {"gids/0": "fe80::1", "gid_attrs/types/0": "RoCE v2"}
    card(tmp_path, "mlx5_0", "0000:01:00.0", {**UP, **local, "gids/3": V4, "gid_attrs/types/3": "RoCE v2"})
    (told,) = look(watching(tmp_path, placed("mlx5_0", gid_index=0)), 0, 1, 2)
    assert told.fields["event"] == "gid_missing" and "link only" in told.fields["text"]
    assert look(watching(tmp_path, placed("mlx5_0", gid_index=3)), 0, 1, 2) == []


def pcie(sys: Path, *ends: tuple[str, str, int]) -> None:
    """Widths of a path: folder below devices, address, lanes that it is trained at."""
    for folder, address, lanes in ends:
        for which, width in (("current", lanes), ("max", 16)):
            put(sys, f"devices/{folder}/{address}/{which}_link_width", str(width))
            put(sys, f"devices/{folder}/{address}/{which}_link_speed", "32.0 GT/s PCIe")


def test_a_narrow_pcie_link_names_the_card_and_the_bridge_after_three_looks(tmp_path: Path) -> None:
    root, bridge = "pci0000:97", "0000:97:01.0"
    folder = f"devices/{root}/{bridge}/0000:9c:00.0/infiniband/mlx5_0"
    put(tmp_path, f"{folder}/device", "-> ../..")
    for path, content in {**UP, "rate": "400 Gb/sec (4X NDR)"}.items():
        put(tmp_path, f"{folder}/ports/1/{path}", str(content))
    (tmp_path / "class/infiniband").mkdir(parents=True)
    (tmp_path / "class/infiniband/mlx5_0").symlink_to(tmp_path / folder)
    pcie(tmp_path, (root, bridge, 8), (f"{root}/{bridge}", "0000:9c:00.0", 8))
    part = watching(tmp_path, placed("rail0", device="mlx5_0"))
    assert look(part, 0, 1) == []
    (told,) = look(part, 2, 3, 4)
    assert (told.fields["event"], told.fields["device"]) == ("pcie_degraded", "host:h")
    values = told.fields["values"]
    assert (values["victim"], values["limiting"], values["rnic"]) == ("0000:9c:00.0", bridge, "rail0")
    pcie(tmp_path, (root, bridge, 16), (f"{root}/{bridge}", "0000:9c:00.0", 16))
    assert codes(look(part, 5, 6, 7, 8)) == ["pcie_restored"]


def test_a_card_is_missing_after_three_looks_and_its_return_is_told(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_0", "0000:01:00.0", UP)
    part = watching(tmp_path, placed("mlx5_0"))
    look(part, 0)
    link = tmp_path / "class/infiniband/mlx5_0"
    target = link.readlink()
    link.unlink()
    assert look(part, 1, 2) == []
    (gone,) = look(part, 3, 4, 5)
    assert (gone.fields["event"], gone.fields["severity"]) == ("rnic_missing", "error")
    link.symlink_to(target)
    assert codes(look(part, 6, 7)) == ["rnic_present"]


def test_a_short_absence_and_a_listing_that_fails_are_not_a_missing_card(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_0", "0000:01:00.0", UP)
    part = watching(tmp_path, placed("mlx5_0"))
    look(part, 0)
    link = tmp_path / "class/infiniband/mlx5_0"
    target = link.readlink()
    for second in range(1, 20, 3):
        link.unlink()
        assert look(part, second, second + 1) == []
        link.symlink_to(target)
        assert look(part, second + 2) == []


def test_one_listing_without_the_card_is_not_three(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_0", "0000:01:00.0", UP)
    part = watching(tmp_path, placed("mlx5_0"), RnicSettings(devices_s=5.0))
    look(part, 0)
    link = tmp_path / "class/infiniband/mlx5_0"
    target = link.readlink()
    link.unlink()
    assert look(part, 5.0, 5.1, 5.15, 5.2) == []
    link.symlink_to(target)
    assert look(part, 5.5, 6, 7, 8, 9, 10, 11) == []


def test_a_listing_that_fails_says_nothing_of_cards_that_are_known(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_0", "0000:01:00.0", UP)
    part = watching(tmp_path, placed("mlx5_0"))
    look(part, 0)
    folder = tmp_path / "class/infiniband"
    folder.rename(tmp_path / "class/kept")
    put(tmp_path, "class/infiniband", "not a folder")
    assert look(part, *range(1, 9)) == []


def test_a_card_that_was_never_seen_is_perhaps_a_wrong_name(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_0", "0000:01:00.0", UP)
    (told,) = look(watching(tmp_path, placed("mlx5_0", "mlx5_9")), *range(6))
    assert told.fields["event"] == "rnic_not_found" and "mlx5_9" in told.fields["text"]


def test_a_driver_loaded_again_is_a_reset(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_0", "0000:01:00.0", UP)
    part = watching(tmp_path, placed("mlx5_0"))
    look(part, 0)
    reborn(tmp_path, "mlx5_0", "0000:01:00.0", UP)
    assert codes(look(part, 1, 2)) == ["rnic_reset"]


def test_the_inventory_is_told_at_first_and_when_it_changes(tmp_path: Path) -> None:
    folder = card(
        tmp_path, "mlx5_0", "0000:01:00.0", {**UP, "link_layer": "Ethernet"}, fw_ver="22.31.1014", hca_type="MT4123"
    )
    part = watching(tmp_path, placed("mlx5_0"))
    (first,) = look(part, 0, 1, without="")
    assert first.fields["values"]["firmware"] == "22.31.1014" and first.fields["values"]["changed"] == {}
    put(folder, "fw_ver", "22.32.2004")
    (update,) = look(part, 2, 3, without="")
    assert update.fields["values"]["changed"] == {"firmware": ["22.31.1014", "22.32.2004"]}
    assert update.fields["severity"] == "info"
    put(folder, "ports/1/rate", "50 Gb/sec (2X HDR)")
    (slower,) = look(part, 4, 5, without="")
    assert slower.fields["severity"] == "warning" and slower.fields["values"]["changed"] == {"gbps": [100.0, 50.0]}


def test_a_port_slower_than_its_equals_is_told_and_a_function_is_not_compared(tmp_path: Path) -> None:
    for number, rate in enumerate(("200 Gb/sec (4X HDR)", "100 Gb/sec (2X HDR)")):
        card(tmp_path, f"mlx5_{number}", f"0000:0{number}:00.0", UP, hca_type="MT4123", ports__1__rate=rate)
    card(tmp_path, "mlx5_2", "0000:02:00.0", UP, hca_type="MT4123", ports__1__rate="40 Gb/sec (4X QDR)")
    put(tmp_path, "devices/pci0000:02/0000:02:00.0/physfn", "-> ../x")
    (told,) = look(watching(tmp_path, placed("mlx5_0", "mlx5_1", "mlx5_2")), *range(6))
    assert (told.fields["event"], told.fields["device"]) == ("speed_degraded", "rnic:h/mlx5_1")


def test_a_rate_below_that_of_its_role_is_told_and_a_slow_role_is_right(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_0", "0000:00:00.0", UP, ports__1__rate="40 Gb/sec (4X QDR)")
    card(tmp_path, "mlx5_1", "0000:01:00.0", UP, ports__1__rate="100 Gb/sec (2X HDR)")
    placements = placed("mlx5_0", gbps=40.0) + placed("mlx5_1", gbps=200.0)
    (told,) = look(watching(tmp_path, placements), *range(6))
    assert (told.fields["event"], told.fields["values"]["expected_gbps"]) == ("speed_degraded", 200.0)


def test_a_port_with_another_mtu_than_its_equals_is_told(tmp_path: Path) -> None:
    for number, mtu in enumerate((4200, 1500, 4200)):
        card(tmp_path, f"mlx5_{number}", f"0000:0{number}:00.0", {**UP, "gid_attrs/ndevs/0": f"eth{number}"})
        put(tmp_path, f"class/net/eth{number}/mtu", str(mtu))
    (told,) = look(watching(tmp_path, placed("mlx5_0", "mlx5_1", "mlx5_2")), *range(6))
    assert (told.fields["event"], told.fields["device"]) == ("mtu_mismatch", "rnic:h/mlx5_1")


def test_an_mtu_that_the_settings_ask_for_counts_more_than_that_of_equals(tmp_path: Path) -> None:
    for number, mtu in enumerate((1500, 1500, 9000)):
        card(tmp_path, f"mlx5_{number}", f"0000:0{number}:00.0", {**UP, "gid_attrs/ndevs/0": f"eth{number}"})
        put(tmp_path, f"class/net/eth{number}/mtu", str(mtu))
    told = look(watching(tmp_path, placed("mlx5_0", "mlx5_1", "mlx5_2", mtu=9000)), *range(6))
    assert [(one.fields["device"], one.fields["values"]) for one in told] == [
        (f"rnic:h/mlx5_{number}", {"mtu": 1500, "expected": 9000}) for number in (0, 1)
    ]


def test_a_bond_with_a_dead_member_is_degraded_and_told_once(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_bond_0", "0000:01:00.0", {**UP, "gid_attrs/ndevs/0": "bond0"})
    put(tmp_path, "class/net/bond0/bonding/slaves", "eth0 eth1")
    for name in ("eth0", "eth1"):
        put(tmp_path, f"class/net/{name}/bonding_slave/mii_status", "up")
    part = watching(tmp_path, placed("mlx5_bond_0"))
    assert look(part, 0) == []
    put(tmp_path, "class/net/eth1/bonding_slave/mii_status", "down")
    (told,) = look(part, 1, 2, 3)
    assert (told.fields["event"], told.fields["values"]["members"]) == ("bond_degraded", ["eth1"])
    put(tmp_path, "class/net/eth1/bonding_slave/mii_status", "up")
    assert codes(look(part, 4, 5)) == ["bond_restored"]


def test_events_fit_the_contract(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_0", "0000:01:00.0", UP)
    observed = list(watching(tmp_path, placed("mlx5_0", "mlx5_9")).collect(at(0)))
    assert observed
    for one in observed:
        envelope = {
            "v": 1,
            "t_us": one.t_us,
            "producer": {"id": "agent:a/x", "kind": "k", "boot": "b", "seq": 0},
            "clock": {"source": "none", "offset_us": 0.0, "error_us": 1.0},
            "fabric": "f",
        }
        decode(one.topic, b"f", msgspec.json.encode({**envelope, **one.fields}), one.t_us)
