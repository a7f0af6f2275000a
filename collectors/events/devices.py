"""Which component is a PCI address, a network device or a bridge? RNICs by all the names that log lines use for them.

Read from ``<sys>/class/infiniband/<rnic>/device`` (a link into the PCI tree: its last part is the RNIC's address, those
before are the bridges above it), its ``net`` folder, and the network devices that are enslaved to one of those (a bond
has one RDMA device over two wires). Bridges above several RNICs belong to the host, not to one of them. A device
without a PCI address (rxe) is known by its network device (``parent``).

A card that is no RNIC is ``port:<host>/<network device>``: its faults are told, but the management network of a host is
not on the way of RDMA, and must not accuse the host. Cost: some twenty files for each RNIC.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from collectors.events.notices import Subject

PCI_ADDRESS = r"\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
"""Its domain has more than four digits behind a controller of volumes (``10000:e1:00.0``)."""
_ADDRESS = re.compile(PCI_ADDRESS)


class Devices(Struct, frozen=True, kw_only=True):
    """Names of the RNICs of a host: PCI addresses, network devices, and bridges with all RNICs below them."""

    host: str
    by_pci: Mapping[str, str] = {}
    by_netdev: Mapping[str, str] = {}
    below_bridge: Mapping[str, tuple[str, ...]] = {}
    by_rdma: Mapping[str, str] = {}
    """RNICs by the kernel's names, where maps call them otherwise."""
    others: Mapping[str, str] = {}
    """Network devices of cards that are no RNICs, by PCI address."""

    def component(self, subject: Subject) -> str | None:
        """Its component id; None: it is no RNIC, and only RNICs are of interest."""
        name = subject.name
        if subject.kind in ("pci", "netdev", "rdma"):
            return self._card(subject)
        if subject.kind in ("container", "port", "switch"):
            return f"{subject.kind}:{name}" if name else f"host:{self.host}"
        if subject.kind == "config":
            return f"config:{name or self.host}"
        return f"{subject.kind}:{self.host}"

    def _card(self, subject: Subject) -> str | None:
        name = subject.name
        if subject.kind == "rdma":
            known = self.by_rdma.get(name, name if name in self.rnics() else None)
            return f"host:{self.host}" if known is None else f"rnic:{self.host}/{known}"
        rnic = self.by_netdev.get(name) if subject.kind == "netdev" else self.by_pci.get(full_address(name))
        if rnic is not None:
            return f"rnic:{self.host}/{rnic}"
        if subject.kind == "netdev":
            return f"port:{self.host}/{name}"
        other = self.others.get(full_address(name))
        if other is not None:
            return None if subject.known_only else f"port:{self.host}/{other}"
        below = self.below_bridge.get(full_address(name), ())
        if len(below) == 1:
            return f"rnic:{self.host}/{below[0]}"
        return None if subject.known_only and not below else f"host:{self.host}"

    def rnics(self) -> set[str]:
        """All RNICs."""
        return {*self.by_pci.values(), *self.by_netdev.values()}


def full_address(text: str) -> str:
    """A PCI address with its domain, which the IOMMU leaves out when it is 0."""
    return text if text.count(":") != 1 else f"0000:{text}"


def read_devices(sys: Path, host: str) -> Devices:
    """Looks through sysfs; a device that can't be read is left out."""
    by_pci: dict[str, str] = {}
    by_netdev: dict[str, str] = {}
    below: dict[str, set[str]] = {}
    for folder in _listed(sys / "class" / "infiniband"):
        rnic = folder.name
        path = _resolved(folder / "device") or ""
        addresses = _ADDRESS.findall(path)
        if addresses:
            by_pci.setdefault(addresses[-1], rnic)
            for bridge in addresses[:-1]:
                below.setdefault(bridge, set()).add(rnic)
        for netdev in (*_names(folder / "device" / "net"), *_parent(folder)):
            by_netdev.setdefault(netdev, rnic)
    _add_bonds(sys, by_netdev, by_pci)
    bridges = {bridge: tuple(sorted(rnics)) for bridge, rnics in below.items()}
    return Devices(
        host=host, by_pci=by_pci, by_netdev=by_netdev, below_bridge=bridges, others=_others(sys, by_netdev, by_pci)
    )


def _others(sys: Path, by_netdev: Mapping[str, str], by_pci: Mapping[str, str]) -> dict[str, str]:
    """Cards that are no RNICs: for management, storage, a front-end."""
    found: dict[str, str] = {}
    for folder in _listed(sys / "class" / "net"):
        addresses = _ADDRESS.findall(_resolved(folder / "device") or "")
        if addresses and addresses[-1] not in by_pci and folder.name not in by_netdev:
            found.setdefault(addresses[-1], folder.name)
    return found


def _add_bonds(sys: Path, by_netdev: dict[str, str], by_pci: dict[str, str]) -> None:
    """Members of a bond, and the bond itself, are known by the RNIC of the member that has one."""
    members: dict[str, list[str]] = {}
    for folder in _listed(sys / "class" / "net"):
        master = _resolved(folder / "master")
        if master is not None:
            members.setdefault(Path(master).name, []).append(folder.name)
    for bond, slaves in members.items():
        rnic = next((by_netdev[name] for name in (bond, *sorted(slaves)) if name in by_netdev), None)
        for name in (bond, *slaves) if rnic is not None else ():
            by_netdev.setdefault(name, rnic)  # type: ignore[arg-type]
            address = _ADDRESS.findall(_resolved(sys / "class" / "net" / name / "device") or "")
            if address:
                by_pci.setdefault(address[-1], rnic)  # type: ignore[arg-type]


def _listed(folder: Path) -> Iterable[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return ()


def _names(folder: Path) -> list[str]:
    return [path.name for path in _listed(folder)]


def _parent(folder: Path) -> list[str]:
    try:
        return [(folder / "parent").read_text(errors="replace").strip()]
    except OSError:
        return []


def _resolved(link: Path) -> str | None:
    try:
        return str(link.resolve(strict=True)) if link.exists() else None
    except (OSError, RuntimeError):
        return None
