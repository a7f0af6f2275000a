"""Is a bond whole? Its members' links, aggregators and speeds, from sysfs. The judgement is pure.

*Failed*: no member carries. *Degraded*: a member is down, sits in another aggregator than the one that carries (than
most, if that is not told), left the bond, or runs slower than the others. The speed that a member without link shows is
an old one and does not count. That one member carries all the traffic is no error of the bond: RDMA places queue pairs,
not flows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from collectors.rnic.attributes import read_text
from collectors.rnic.port_text import first_line, parse_net_speed, parse_netdev


class Member(Struct, frozen=True):
    """One member: ``up`` and ``aggregator`` None = not told; ``gbps`` None = not known."""

    name: str
    up: bool | None
    gbps: float | None = None
    aggregator: str | None = None


class BondVerdict(Struct, frozen=True):
    """How a bond is, and which members are why."""

    state: Literal["whole", "degraded", "failed"]
    members: tuple[str, ...] = ()
    why: str = ""


def judge_bond(members: Sequence[Member], former: Sequence[str] = (), active: str | None = None) -> BondVerdict:
    """How a bond is; ``former``: members that it had before; ``active``: the aggregator that carries (802.3ad)."""
    known = [member for member in members if member.up is not None]
    down = [member.name for member in known if not member.up]
    gone = sorted(set(former) - {member.name for member in members})
    alive = [member for member in known if member.up]
    if (known or gone) and not alive:
        return BondVerdict("failed", tuple(down + gone), "no member carries")
    faults = [(name, "is down") for name in down] + [(name, "left the bond") for name in gone]
    groups = Counter(member.aggregator for member in alive if member.aggregator is not None)
    if len(groups) > 1:
        usual = active if active in groups else min(groups, key=lambda one: (-groups[one], one))
        faults += [(one.name, "is in another aggregator") for one in alive if one.aggregator not in (None, usual)]
    fastest = max((one.gbps for one in alive if one.gbps is not None), default=0.0)
    faults += [
        (one.name, f"runs at {one.gbps:g} Gb/s, others at {fastest:g}")
        for one in alive
        if 0 < (one.gbps or 0) < fastest
    ]
    if not faults:
        return BondVerdict("whole")
    return BondVerdict(
        "degraded", tuple(name for name, _ in faults), ", ".join(f"{name} {why}" for name, why in faults)
    )


def bond_of(sys: str, netdev: str) -> str | None:
    """The bond that a network device is, or is a member of."""
    if read_text(f"{sys}/class/net/{netdev}/bonding/slaves") is not None:
        return netdev
    events = read_text(f"{sys}/class/net/{netdev}/master/uevent") or ""
    for line in events.splitlines():
        name = parse_netdev(line.removeprefix("INTERFACE="))
        if line.startswith("INTERFACE=") and name and read_text(f"{sys}/class/net/{name}/bonding/slaves") is not None:
            return name
    return None


def active_aggregator(sys: str, bond: str) -> str | None:
    """The aggregator of a bond that carries; None with other modes than 802.3ad."""
    word = first_line(read_text(f"{sys}/class/net/{bond}/bonding/ad_aggregator") or "")
    return word if word.isdigit() else None


def read_members(sys: str, bond: str) -> tuple[Member, ...] | None:
    """The members of a bond; None when that can't be read."""
    listed = read_text(f"{sys}/class/net/{bond}/bonding/slaves")
    return None if listed is None else tuple(_member(sys, name) for name in listed.split() if parse_netdev(name))


def _member(sys: str, name: str) -> Member:
    folder = f"{sys}/class/net/{name}"
    status = first_line(read_text(f"{folder}/bonding_slave/mii_status") or "").lower()
    carrier = first_line(read_text(f"{folder}/carrier") or "")
    up = {"up": True, "down": False}.get(status, {"1": True, "0": False}.get(carrier))
    aggregator = first_line(read_text(f"{folder}/bonding_slave/ad_aggregator_id") or "")
    speed = parse_net_speed(read_text(f"{folder}/speed") or "") if up else None
    return Member(name, up, speed, aggregator if aggregator.isdigit() else None)
