"""Are network devices as they should be: speed, MTU, carrier, master? Read from sysfs, compared with what is expected.

What is expected is configured, or learned once from a host that was well (field case N14): of physical devices and
bonds only, as interfaces of containers come and go, and virtual functions move into them. A device that is not expected
may do as it likes: ports may be down by design. Without carrier the kernel still tells the last speed, so
speed counts only with carrier. A bond whose members all have carrier and none of whom is enslaved has been configured
for other cards (a swap changed their addresses): the fault is the configuration, not the link. Speeds are Mb/s (a
bond's is the sum).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from collectors.events.notices import Notice, Severity, Subject, SubjectKind, Value


class Interface(Struct, frozen=True, kw_only=True):
    """A network device as the kernel tells it; None: not told. ``master``: its bond.

    ``lasting``: a physical device or a bond, which stay where they are.
    """

    name: str
    carrier: bool | None = None
    mtu: int | None = None
    speed_mbps: int | None = None
    master: str | None = None
    lasting: bool = True


class Expected(Struct, frozen=True, kw_only=True):
    """What a network device should be; None: anything."""

    mtu: int | None = None
    speed_mbps: int | None = None
    master: str | None = None


class Listed(Protocol):
    """A network device as settings list it."""

    @property
    def netdev(self) -> str: ...
    @property
    def mtu(self) -> int | None: ...
    @property
    def speed_mbps(self) -> int | None: ...
    @property
    def master(self) -> str | None: ...


def expected_of(listed: Iterable[Listed]) -> dict[str, Expected] | None:
    """What settings expect; None: nothing is listed, so it is learned."""
    found = {each.netdev: Expected(mtu=each.mtu, speed_mbps=each.speed_mbps, master=each.master) for each in listed}
    return found or None


def read_interfaces(sys: Path) -> dict[str, Interface]:
    """All network devices of ``<sys>/class/net``."""
    folder = sys / "class" / "net"
    try:
        names = sorted(path.name for path in folder.iterdir() if path.is_dir())
    except OSError:
        return {}
    return {name: _interface(folder / name) for name in names}


def _interface(folder: Path) -> Interface:
    carrier, speed = _number(folder / "carrier"), _number(folder / "speed")
    master = folder / "master"
    physical = (folder / "device").exists() and not (folder / "device" / "physfn").exists()
    return Interface(
        name=folder.name,
        carrier=None if carrier is None else carrier == 1,
        mtu=_number(folder / "mtu"),
        speed_mbps=speed if speed is not None and 0 < speed < 1 << 31 else None,
        master=master.resolve().name if (master / "bonding").exists() else None,
        lasting=physical or (folder / "bonding").exists(),
    )


def _number(path: Path) -> int | None:
    """A number; reading ``carrier`` or ``speed`` of a device that is off is an error of the kernel's, not ours."""
    try:
        return int(path.read_text(errors="replace").strip())
    except (OSError, ValueError):
        return None


def learn(found: Mapping[str, Interface]) -> dict[str, Expected]:
    """What is expected from now on: the state of every lasting device that has carrier."""
    return {
        name: Expected(mtu=each.mtu, speed_mbps=each.speed_mbps, master=each.master)
        for name, each in found.items()
        if each.carrier and each.lasting
    }


def judge_interfaces(expected: Mapping[str, Expected], found: Mapping[str, Interface]) -> Iterator[Notice]:
    """What differs, device by device."""
    unmastered = _swapped(expected, found)
    for bond, members in sorted(unmastered.items()):
        text = (
            f"none of {', '.join(members)} is enslaved to {bond}, though each has carrier: configured for other cards?"
        )
        yield _notice(("bond_failed", "error"), "config", "", text, {"bond": bond, "member": ",".join(members)})
    for name, wanted in sorted(expected.items()):
        each = found.get(name)
        if each is None:
            yield _notice(("interface_missing", "error"), "netdev", name, f"{name} is gone", {"netdev": name})
            continue
        if not each.carrier:
            if name not in unmastered:
                yield _notice(("port_down", "error"), "netdev", name, f"{name} has no carrier", {"netdev": name})
            continue
        yield from _differences(name, wanted, each, wanted.master in unmastered)


def _swapped(expected: Mapping[str, Expected], found: Mapping[str, Interface]) -> dict[str, list[str]]:
    """Bonds none of whose expected members is enslaved although all have carrier."""
    bonds: dict[str, list[str]] = {}
    for name, wanted in expected.items():
        if wanted.master is not None:
            bonds.setdefault(wanted.master, []).append(name)
    return {
        bond: sorted(members)
        for bond, members in bonds.items()
        if all((each := found.get(name)) is not None and each.carrier and each.master != bond for name in members)
    }


def _differences(name: str, wanted: Expected, each: Interface, swapped: bool) -> Iterator[Notice]:
    values: dict[str, Value] = {"netdev": name}
    if wanted.master is not None and each.master != wanted.master and not swapped:
        text = f"{name} is not enslaved to {wanted.master}"
        yield _notice(("bond_degraded", "warning"), "netdev", wanted.master, text, {"member": name})
    if wanted.mtu is not None and each.mtu is not None and each.mtu != wanted.mtu and not swapped:
        text = f"{name}: MTU {each.mtu}, expected {wanted.mtu}"
        yield _notice(
            ("mtu_mismatch", "warning"), "config", "", text, {**values, "mtu": each.mtu, "expected": wanted.mtu}
        )
    if wanted.speed_mbps is not None and each.speed_mbps is not None and each.speed_mbps < wanted.speed_mbps:
        text = f"{name}: {each.speed_mbps} Mb/s, expected {wanted.speed_mbps}"
        values |= {"speed_mbps": each.speed_mbps, "expected": wanted.speed_mbps}
        yield _notice(("speed_degraded", "warning"), "netdev", name, text, values)


def _notice(what: tuple[str, Severity], kind: SubjectKind, name: str, text: str, values: dict[str, Value]) -> Notice:
    return Notice(code=what[0], severity=what[1], subject=Subject(kind, name), text=text, values=values)
