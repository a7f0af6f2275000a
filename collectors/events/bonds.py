"""Is a bond whole? ``/proc/net/bonding/<bond>``, judged as operators do (field cases B01, N14).

A bond is at fault only if a member is down, sits in another aggregator than the active one, or runs at another speed
than the rest; all members down, or no active aggregator, is a failure. Traffic on one member of a healthy bond is not:
RDMA places queue pairs, not flows. Speeds are in Mb/s, printed as ``400000 Mbps``; ``Unknown`` is null.
"""

from __future__ import annotations

import re

from msgspec import Struct

from collectors.events.notices import Notice, Subject
from collectors.plain_text import plain

_SPEED = re.compile(r"(\d{1,9}) ?Mb(?:ps|/s)")


class Member(Struct, frozen=True):
    """One network device of a bond."""

    netdev: str
    up: bool
    speed_mbps: int | None = None
    aggregator: int | None = None
    failures: int | None = None


class Bond(Struct, frozen=True, kw_only=True):
    """A bond as the kernel tells it. ``aggregator``: the active one, with 802.3ad only and where it is shown."""

    netdev: str
    mode: str
    up: bool
    aggregator: int | None
    members: tuple[Member, ...]
    is_idle: bool = False
    """The kernel says that no aggregator is active."""


def parse_bond(text: str, netdev: str) -> Bond | None:
    """Reads the file of one bond; None: it is no such file."""
    head, *blocks = re.split(r"(?m)^\s*Slave Interface:", plain(text))
    mode = _field(head, "Bonding Mode")
    if mode is None:
        return None
    members = []
    for block in blocks:
        name, _, rest = block.partition("\n")
        speed = _SPEED.match(_field(rest, "Speed") or "")
        members.append(
            Member(
                netdev=name.strip()[:32],
                up=_field(rest, "MII Status") == "up",
                speed_mbps=int(speed[1]) if speed else None,
                aggregator=_number(_field(rest, "Aggregator ID")),
                failures=_number(_field(rest, "Link Failure Count")),
            )
        )
    up = _field(head, "MII Status") == "up"
    return Bond(
        netdev=netdev,
        mode=mode,
        up=up,
        aggregator=_number(_field(head, "Aggregator ID")),
        members=tuple(members),
        is_idle="has no active aggregator" in head,
    )


def _field(text: str, name: str) -> str | None:
    found = re.search(rf"(?m)^\s*{name}: *(.*?)\s*$", text)
    return found[1] if found else None


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else None


def judge_bond(bond: Bond, expected: tuple[str, ...] = ()) -> Notice | None:
    """What is wrong with a bond; None: nothing. ``expected``: members that it should have."""
    present = {member.netdev for member in bond.members}
    missing = [name for name in expected if name not in present]
    down = [member.netdev for member in bond.members if not member.up]
    speeds = {member.speed_mbps for member in bond.members if member.up and member.speed_mbps is not None}
    apart = [
        m.netdev
        for m in bond.members
        if m.up and None not in (bond.aggregator, m.aggregator) and m.aggregator != bond.aggregator
    ]
    slowest = min(speeds, default=0)
    slow = [m.netdev for m in bond.members if len(speeds) > 1 and m.up and m.speed_mbps == slowest]
    reasons = [
        f"{', '.join(names)} {what}"
        for names, what in (
            (missing, "not enslaved"),
            (down, "down"),
            (apart, "in another aggregator"),
            (slow, f"at {slowest} Mb/s, slower than the rest"),
        )
        if names
    ]
    working = len(bond.members) - len(down)
    if bond.is_idle and bond.members:
        reasons.append("no active aggregator")
    if not reasons and (bond.up or not bond.members):
        return None
    failed = not bond.up or not working or bond.is_idle
    members = ",".join(dict.fromkeys([*missing, *down, *apart, *slow]))
    return Notice(
        code="bond_failed" if failed else "bond_degraded",
        severity="error" if failed else "warning",
        subject=Subject("netdev", bond.netdev),
        text=f"bond {bond.netdev}: {'; '.join(reasons) or 'down'}",
        values={"member": members, "working": working, "members": len(bond.members)},
    )
