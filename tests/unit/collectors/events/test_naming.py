"""Log lines speak of devices by the kernel's names, components have the names of the maps."""

from __future__ import annotations

from pathlib import Path

from collectors.events.devices import Devices
from collectors.events.naming import NamedDevices, rename
from collectors.events.notices import Subject
from collectors.rnic.placement import Placement
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


def test_bridges_go_with_the_devices_below_them() -> None:
    found = Devices(host="h", by_pci={"0000:1a:00.0": "m0"}, below_bridge={"0000:19:00.0": ("m0",)})
    renamed = rename(found, {"m0": "r0"})
    assert renamed.below_bridge == {"0000:19:00.0": ("r0",)}
    assert components(renamed, ("pci", "0000:19:00.0")) == ["rnic:h/r0"]
