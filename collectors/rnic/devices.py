"""Which RDMA devices does this host have, what are they, and are they still the same ones?

Read from ``<sys>/class/infiniband``, for any driver. What a device is:
``physical``; ``virtual``: an SR-IOV function (it has a ``physfn``), whose rate says nothing about the physical port;
``bond``: one device over two wires (``mlx5_bond_0``, or its network device is enslaved), with one set of counters;
``soft``: no hardware (rxe, siw), which lives below ``devices/virtual``.

``incarnation`` is the inode of the device's folder: sysfs never uses one twice within a boot, so another one means
that the driver was loaded again or the card was reset, and that counters may have begun anew.
Missing ``board_id``, ``hca_type``, ``node_guid`` are normal. Cost: 15 small files per device, only when one appears.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from collectors.rnic.attributes import names_in, read_text
from collectors.rnic.port_text import first_line, parse_guid, parse_netdev, parse_pci_address

Kind = Literal["physical", "virtual", "bond", "soft"]


class Device(Struct, frozen=True, kw_only=True):
    """One RDMA device. ``netdevs``: its network devices by port, "" where none is known."""

    name: str
    folder: str
    kind: Kind
    ports: tuple[int, ...]
    netdevs: tuple[str, ...] = ()
    driver: str | None = None
    pci: str | None = None
    guid: str | None = None
    firmware: str | None = None
    board: str | None = None
    model: str | None = None
    incarnation: int = 0

    def port_folder(self, port: int) -> str:
        """Where a port's files are."""
        return f"{self.folder}/ports/{port}"

    def netdev(self, port: int) -> str:
        """The network device of a port, "" when none is known."""
        place = self.ports.index(port)
        return self.netdevs[place] if place < len(self.netdevs) else ""


class Chosen(Struct, frozen=True):
    """What a selector means now: a device and a port, or the words that say why there is none."""

    device: Device | None
    port: int = 0
    why: str = ""


def incarnation_of(folder: str) -> int:
    """Number of the device's present life; 0 when it is not there."""
    try:
        return os.stat(folder).st_ino  # noqa: PTH116 - asked of every device every few seconds
    except OSError:
        return 0


class Inventory:
    """The devices below ``<sys>/class/infiniband``, described again only when one comes, goes or is born again."""

    def __init__(self, sys: Path) -> None:
        self.sys = sys
        self.folder = sys / "class" / "infiniband"
        self.devices: tuple[Device, ...] = ()
        self._lives: dict[str, int] = {}

    def refresh(self) -> bool:
        """Looks again; whether anything has changed.

        Raises:
            OSError: the folder is there and can't be listed, which says nothing about the devices.
        """
        try:
            names = sorted(os.listdir(self.folder))  # noqa: PTH208 - names are wanted
        except FileNotFoundError:
            names = []
        lives = {name: incarnation_of(f"{self.folder}/{name}") for name in names}
        if lives == self._lives:
            return False
        known = {
            device.name: device for device in self.devices if self._lives.get(device.name) == lives.get(device.name)
        }
        self.devices = tuple(known.get(name) or describe(self.sys, name) for name in names if lives[name])
        self._lives = lives
        return True

    def choose(self, selector: str) -> Chosen:
        """The device and port that a selector of a placement means."""
        return choose(self.devices, selector)


def describe(sys: Path, name: str) -> Device:
    """Everything about one device that stays as it is for its life."""
    folder = f"{sys}/class/infiniband/{name}"
    ports = tuple(sorted(int(port) for port in names_in(f"{folder}/ports") if port.isdigit() and len(port) < 4))
    netdevs = tuple(_netdev(folder, port) for port in ports)
    real = os.path.realpath(f"{folder}/device")
    pci = parse_pci_address(real)
    return Device(
        name=name,
        folder=folder,
        kind=_kind(sys, folder, name, netdevs),
        ports=ports,
        netdevs=netdevs,
        driver=_driver(folder, name),
        pci=pci,
        guid=parse_guid(read_text(f"{folder}/node_guid") or ""),
        firmware=first_line(read_text(f"{folder}/fw_ver") or "") or None,
        board=first_line(read_text(f"{folder}/board_id") or "") or None,
        model=first_line(read_text(f"{folder}/hca_type") or "") or None,
        incarnation=incarnation_of(folder),
    )


def _kind(sys: Path, folder: str, name: str, netdevs: Sequence[str]) -> Kind:
    if "/devices/virtual/" in os.path.realpath(folder) or name.startswith(("rxe", "siw")):
        return "soft"
    if "_bond_" in name or any(os.path.lexists(f"{sys}/class/net/{one}/bonding") for one in netdevs if one):
        return "bond"
    return "virtual" if os.path.lexists(f"{folder}/device/physfn") else "physical"


def _driver(folder: str, name: str) -> str | None:
    """The kernel's driver: by the link of the PCI device, for rxe by its parent, else by the name (mlx5_0: mlx5)."""
    link = f"{folder}/device/driver"
    if os.path.lexists(link):
        return Path(os.path.realpath(link)).name
    if os.path.lexists(f"{folder}/parent"):
        return "rxe"
    return name.rstrip("0123456789").rstrip("_").removesuffix("_bond") or None


def _netdev(folder: str, port: int) -> str:
    """The network device of a port: by its first GID, the soft device's parent, or the PCI function."""
    for index in ("0", "1", "2", "3"):
        name = parse_netdev(read_text(f"{folder}/ports/{port}/gid_attrs/ndevs/{index}") or "")
        if name:
            return name
    parent = parse_netdev(read_text(f"{folder}/parent") or "")
    if parent:
        return parent
    candidates = names_in(f"{folder}/device/net")
    if len(candidates) == 1:
        return candidates[0]
    for name in candidates:
        if first_line(read_text(f"{folder}/device/net/{name}/dev_port") or "") == str(port - 1):
            return name
    return ""


def choose(devices: Sequence[Device], selector: str) -> Chosen:
    """The device and port that a selector means: name, name/port, PCI address, GUID, or network device."""
    name, slash, number = selector.partition("/")
    found = _named(devices, name)
    if found is None:
        return Chosen(None, 0, f"there is no RDMA device {name!r}")
    if slash:
        port = int(number) if number.isascii() and number.isdigit() and len(number) < 4 else 0
        if port not in found.ports:
            return Chosen(found, 0, f"{found.name} has no port {number!r}")
        return Chosen(found, port)
    if name in found.netdevs:
        return Chosen(found, found.ports[found.netdevs.index(name)])
    if len(found.ports) != 1:
        ports = ", ".join(f"{found.name}/{port}" for port in found.ports) or "none"
        return Chosen(found, 0, f"{found.name} has {len(found.ports)} ports, name one of: {ports}")
    return Chosen(found, found.ports[0])


def _named(devices: Sequence[Device], name: str) -> Device | None:
    wanted = name.lower()
    for device in devices:
        if device.name == name:
            return device
    for device in devices:
        if wanted in (device.pci, device.guid) or name in device.netdevs:
            return device
    return None
