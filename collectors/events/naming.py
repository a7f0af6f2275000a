"""What do maps call the RNICs that logs call by the kernel's names? Component ids are of the maps.

A placement says how its RNIC is found (a device name, a PCI address, a GUID, a network device), so that ``mlx5_3`` of a
log line is ``rnic:<host>/r3`` where the endpoint map says ``r3``. An endpoint may own a function of a card (SR-IOV):
what the card says is then of its RNIC too, unless endpoints of several RNICs live on that card. A card that is gone, or
is being reset, is still known by the names that it had. Cost: the files of ``devices``, and those of a card when it
comes or is born again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from collectors.events.devices import Devices, read_devices
from collectors.rnic.devices import Device, Inventory
from collectors.rnic.placement import Placement, Placements
from collectors.rnic.port_text import parse_pci_address


class NamedDevices:
    """Reads the host's devices, by the names that its endpoints' maps use."""

    def __init__(self, sys: Path, host: str, placements: Placements) -> None:
        self._sys, self._host, self._placements = sys, host, placements
        self._inventory = Inventory(sys)
        self._known = Devices(host=host)

    def __call__(self) -> Devices:
        """The devices as they are now."""
        found = read_devices(self._sys, self._host)
        with suppress(OSError):  # devices that can't be listed just now keep the names that they had
            self._inventory.refresh()
        self._known = self._with_lost(rename(found, self._names(found, self._placements())))
        return self._known

    def _with_lost(self, found: Devices) -> Devices:
        """With cards that were here before: what is written when one goes, or is reset, is about it."""
        before, net = self._known, self._sys / "class" / "net"
        gone = {name: rnic for name, rnic in before.by_netdev.items() if not (net / name).exists()}
        by_pci = {**before.by_pci, **found.by_pci}
        return replace(
            found,
            by_pci=by_pci,
            by_netdev={**gone, **found.by_netdev},
            below_bridge={**before.below_bridge, **found.below_bridge},
            by_rdma={**before.by_rdma, **found.by_rdma},
            others={address: name for address, name in found.others.items() if address not in by_pci},
        )

    def _names(self, found: Devices, placements: Sequence[Placement]) -> dict[str, str]:
        """RNICs of the maps by the kernel's names."""
        names: dict[str, str] = {}
        cards: dict[str, set[str]] = {}
        for placement in placements:
            device = self._inventory.choose(placement.selector).device
            if device is None:
                continue
            names[device.name] = placement.rnic
            card = found.by_pci.get(_card_of(device) or "")
            if card is not None:
                cards.setdefault(card, set()).add(placement.rnic)
        alone = {card: next(iter(rnics)) for card, rnics in cards.items() if len(rnics) == 1}
        return alone | names


def _card_of(device: Device) -> str | None:
    """The PCI address of the card that a function belongs to."""
    if device.kind != "virtual":
        return None
    return parse_pci_address(os.path.realpath(f"{device.folder}/device/physfn"))


def rename(found: Devices, names: dict[str, str]) -> Devices:
    """The same devices under the names of the maps; those that no map names keep the kernel's."""
    return replace(
        found,
        by_pci={address: names.get(name, name) for address, name in found.by_pci.items()},
        by_netdev={netdev: names.get(name, name) for netdev, name in found.by_netdev.items()},
        below_bridge={
            bridge: tuple(sorted({names.get(name, name) for name in below}))
            for bridge, below in found.below_bridge.items()
        },
        by_rdma={name: names.get(name, name) for name in found.rnics()},
    )
