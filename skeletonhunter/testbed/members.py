"""Where does a job run? Containers on hosts, their endpoints, and which of them holds which rank from when to when.

An endpoint is a container's RNIC. A container of fewer RNICs than its host has takes a slot of neighbouring rails. A
container that is migrated is followed by another one on another host with the same ranks. Times are seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

from skeletonhunter.testbed.clos import RailSpec
from skeletonhunter.testbed.fabric import rnic_name, rnic_node

State = Literal["starting", "ready", "gone"]


@dataclass(frozen=True)
class Member:
    """One endpoint of a job. ``number`` counts the endpoints of a simulation; alive during [created_s, gone_s)."""

    number: int
    endpoint: str
    container: str
    host: str
    rnic: str
    rail: int
    rank: int
    ip: str
    switch_port: str
    created_s: float = -inf
    ready_s: float = -inf
    gone_s: float = inf

    @property
    def node(self) -> str:
        """Node id of its RNIC in the fabric."""
        return rnic_node(self.host, self.rnic)

    @property
    def address(self) -> tuple[str, str]:
        """What ``Fabric.route`` wants: node and IP."""
        return self.node, self.ip

    @property
    def vif(self) -> str:
        """The container's interface, an SR-IOV function."""
        return f"vf{self.rail}"

    def state_at(self, second: float) -> State:
        """What the scheduler says of it at ``second``."""
        if second >= self.gone_s:
            return "gone"
        return "ready" if second >= self.ready_s else "starting"


@dataclass(frozen=True)
class Seat:
    """A place for a container: host number and first rail."""

    host: int
    first_rail: int = 0


@dataclass(frozen=True)
class Life:
    """When a container is created, ready, and gone, seconds."""

    created_s: float = -inf
    ready_s: float = -inf
    gone_s: float = inf


def seat_container(
    container: str, ranks: Sequence[int], seat: Seat, spec: RailSpec, numbers: tuple[int, int], life: Life = Life()
) -> list[Member]:
    """The endpoints of a container with one RNIC per rank; ``numbers`` = (number of the first endpoint, IP subnet)."""
    first, subnet = numbers
    members = []
    for place, rank in enumerate(ranks):
        rail, number = seat.first_rail + place, first + place
        members.append(
            Member(
                number=number,
                endpoint=f"{container}/{rnic_name(rail)}",
                container=container,
                host=spec.hosts[seat.host],
                rnic=rnic_name(rail),
                rail=rail,
                rank=rank,
                ip=f"10.{subnet}.{number // 250}.{number % 250 + 1}",
                switch_port=spec.switch_port(seat.host, rail),
                created_s=life.created_s,
                ready_s=life.ready_s,
                gone_s=life.gone_s,
            )
        )
    return members


def endpoint_row(member: Member, state: State = "ready") -> dict[str, object]:
    """An endpoint as the endpoint map lists it."""
    return {
        "endpoint": member.endpoint,
        "container": member.container,
        "host": member.host,
        "rnic": member.rnic,
        "rail": member.rail,
        "rank": member.rank if state != "gone" else None,
        "vif": member.vif,
        "ip": member.ip,
        "gid": gid_of(member.ip),
        "switch_port": member.switch_port,
        "state": state,
    }


def gid_of(ip: str) -> str:
    """The RoCE v2 GID of an IPv4 address (IPv4-mapped IPv6, written in full)."""
    a, b, c, d = (int(part) for part in ip.split("."))
    return f"0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}"
