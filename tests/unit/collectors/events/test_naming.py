"""Log lines speak of devices by the kernel's names, components have the names of the maps."""

from __future__ import annotations

import shutil
from pathlib import Path

from collectors.events.classifying import classify
from collectors.events.devices import Devices, read_devices
from collectors.events.framing import parse_line
from collectors.events.naming import NamedDevices, rename
from collectors.events.notices import Subject
from collectors.rnic.placement import Placement
from tests.unit.collectors.events.hosts import NOW
from tests.unit.collectors.rnic.trees import card, placed, put


def components(devices: Devices, *subjects: tuple[str, str]) -> list[str | None]:
    return [devices.component(Subject(kind, name)) for kind, name in subjects]  # type: ignore[arg-type]


def test_a_device_is_told_under_the_name_of_the_map_however_it_is_found(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_3", "0000:1a:00.0", {})
    put(tmp_path, "devices/pci0000:1a/0000:1a:00.0/net/eth2/mtu", "9000")
    for selector in ("mlx5_3", "0000:1a:00.0", "eth2"):
        named = NamedDevices(tmp_path, "h", lambda selector=selector: placed("r3", device=selector))()  # type: ignore[misc]
        found = components(named, ("pci", "0000:1a:00.0"), ("netdev", "eth2"), ("rdma", "mlx5_3"), ("rdma", "mlx5_9"))
        assert found == ["rnic:h/r3", "rnic:h/r3", "rnic:h/r3", "host:h"], selector


def test_a_device_that_no_map_names_keeps_its_own_name_and_maps_may_come_later(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_0", "0000:1a:00.0", {})
    placements: list[Placement] = []
    named = NamedDevices(tmp_path, "h", lambda: placements)
    assert components(named(), ("pci", "0000:1a:00.0"), ("rdma", "mlx5_0")) == ["rnic:h/mlx5_0"] * 2
    placements += placed("r0", device="0000:1a:00.0")
    assert components(named(), ("pci", "0000:1a:00.0"), ("rdma", "mlx5_0")) == ["rnic:h/r0"] * 2
    assert NamedDevices(tmp_path / "nowhere", "h", lambda: placements)() == Devices(host="h")


def test_what_a_card_says_is_of_the_only_rnic_that_owns_a_function_of_it(tmp_path: Path) -> None:
    card(tmp_path, "mlx5_0", "0000:1a:00.0", {})
    for number in (1, 2):
        card(tmp_path, f"mlx5_{number}", f"0000:1a:00.{number}", {})
        put(tmp_path, f"devices/pci0000:1a/0000:1a:00.{number}/physfn", "-> ../0000:1a:00.0")
    both = (("pci", "0000:1a:00.0"), ("pci", "0000:1a:00.1"))
    one = NamedDevices(tmp_path, "h", lambda: placed("r0", device="mlx5_1"))()
    assert components(one, *both) == ["rnic:h/r0", "rnic:h/r0"]
    shared = (*placed("r0", device="mlx5_1"), *placed("r0", container="c1", device="mlx5_2"))
    assert components(NamedDevices(tmp_path, "h", lambda: shared)(), *both) == ["rnic:h/r0", "rnic:h/r0"]
    apart = (*placed("r0", device="mlx5_1"), *placed("r1", container="c1", device="mlx5_2"))
    assert components(NamedDevices(tmp_path, "h", lambda: apart)(), *both) == ["rnic:h/mlx5_0", "rnic:h/r0"]


def test_a_card_that_is_lost_or_reset_is_still_known_and_its_name_may_be_another_card_s(tmp_path: Path) -> None:
    folder = card(tmp_path, "mlx5_0", "0000:1a:00.0", {})
    put(tmp_path, "devices/pci0000:1a/0000:1a:00.0/net/eth2/mtu", "9000")
    named = NamedDevices(tmp_path, "h", lambda: placed("r0", device="0000:1a:00.0"))
    names = (("pci", "0000:1a:00.0"), ("netdev", "eth2"), ("rdma", "mlx5_0"))
    assert components(named(), *names) == ["rnic:h/r0"] * 3
    (tmp_path / "class/infiniband/mlx5_0").unlink()
    shutil.rmtree(folder)
    assert components(named(), *names) == ["rnic:h/r0"] * 3
    put(tmp_path, "devices/pci0000:03/0000:03:00.0/net/eth2/device", "-> ../..")
    put(tmp_path, "class/net/eth2", "-> ../../devices/pci0000:03/0000:03:00.0/net/eth2")
    found = components(named(), *names[:2], ("pci", "0000:03:00.0"))
    assert found == ["rnic:h/r0", "port:h/eth2", "port:h/eth2"]


def test_a_card_for_management_accuses_neither_an_rnic_nor_the_host(tmp_path: Path) -> None:
    put(tmp_path, "devices/pci0000:03/0000:03:00.0/net/eno1/device", "-> ../..")
    put(tmp_path, "class/net/eno1", "-> ../../devices/pci0000:03/0000:03:00.0/net/eno1")
    devices = NamedDevices(tmp_path, "h", tuple)()
    line = parse_line("bnxt_en 0000:03:00.0 eno1: Firmware not responding, status: 0x1", NOW.t_us)
    notice = classify(line)
    assert notice is not None and notice.code == "fw_health"
    assert devices.component(notice.subject) == "port:h/eno1"
    assert devices.component(Subject("pci", "0000:03:00.0", known_only=True)) is None


def test_bridges_go_with_the_devices_below_them() -> None:
    found = Devices(host="h", by_pci={"0000:1a:00.0": "m0"}, below_bridge={"0000:19:00.0": ("m0",)})
    renamed = rename(found, {"m0": "r0"})
    assert renamed.below_bridge == {"0000:19:00.0": ("r0",)}
    assert components(renamed, ("pci", "0000:19:00.0")) == ["rnic:h/r0"]


def test_a_domain_of_more_than_four_digits_is_another_domain(tmp_path: Path) -> None:
    path = "devices/pci0000:e0/0000:e0:0e.0/pci10000:e0/10000:e0:03.0/10000:e1:00.0"
    (tmp_path / path / "net" / "eth2").mkdir(parents=True)
    folder = tmp_path / "class" / "infiniband" / "mlx5_0"
    folder.mkdir(parents=True)
    (folder / "device").symlink_to(tmp_path / path)
    found = read_devices(tmp_path, "h1")
    assert found.by_pci == {"10000:e1:00.0": "mlx5_0"} and found.by_netdev == {"eth2": "mlx5_0"}
    assert found.below_bridge == {"0000:e0:0e.0": ("mlx5_0",), "10000:e0:03.0": ("mlx5_0",)}
