"""Which GIDs does a port have, which one does an endpoint use, and has it moved? Pure.

A GID is written as eight groups of four hexadecimal digits, lower case. The same GID may stand at several indexes
(RoCE v1 and v2), tables have holes, and in a shared network namespace they begin at index 4, 6 or 12: the slots of
others read as zero and have no type. Jobs pin an index, so a GID that moves from 3 to 4 breaks them like one that goes.

In use is: what stands at the pinned index; else the GID that the endpoint map lists; else what collective libraries
choose: RoCE v2 with an IPv4 address, with a global address, any RoCE v2, InfiniBand, RoCE v1; lowest index first.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

GidKind = Literal["ib", "v1", "v2", "unknown"]

KINDS: dict[str, GidKind] = {
    "roce v2": "v2",
    "v2": "v2",
    "ib/roce v1": "v1",
    "roce v1": "v1",
    "v1": "v1",
    "ib": "ib",
    "infiniband": "ib",
}
IPV4_MAPPED = "0000:0000:0000:0000:0000:ffff:"
LINK_LOCAL = "fe80:"


class Gid(Struct, frozen=True):
    """One entry of a table."""

    index: int
    gid: str
    kind: GidKind
    netdev: str = ""


def parse_gid(text: str) -> str | None:
    """A GID in any spelling of an IPv6 address; None when it is none, or all zero."""
    try:
        raw = socket.inet_pton(socket.AF_INET6, text.strip(" \t\r\n\0"))
    except (OSError, ValueError):
        return None
    if not any(raw):
        return None
    digits = raw.hex()
    return ":".join(digits[place : place + 4] for place in range(0, 32, 4))


def parse_gid_kind(text: str) -> GidKind:
    """``gid_attrs/types/<n>``: "RoCE v2", "IB/RoCE v1"."""
    return KINDS.get(text.strip(" \t\r\n\0").lower(), "unknown")


def in_use(table: Sequence[Gid], listed: str | None = None, pinned: int | None = None) -> Gid | None:
    """The entry that an endpoint uses; None: a hole at the pinned index, or an empty table."""
    if pinned is not None:
        return next((entry for entry in table if entry.index == pinned), None)
    wanted = parse_gid(listed) if listed else None
    same = [entry for entry in table if entry.gid == wanted]
    return min(same or table, key=_preference, default=None)


def _preference(entry: Gid) -> tuple[int, int]:
    if entry.kind == "v2":
        rank = 0 if entry.gid.startswith(IPV4_MAPPED) else 2 if entry.gid.startswith(LINK_LOCAL) else 1
    else:
        rank = {"ib": 3, "v1": 4}.get(entry.kind, 5)
    return rank, entry.index


def misplaced(table: Sequence[Gid], found: Gid | None) -> str:
    """What is wrong with a pinned index: nothing stands there, or an address of the link although routable ones exist
    (an empty setting is read as index 0); empty: nothing is.
    """
    if found is None:
        return "has no GID in this namespace" if table else ""
    if found.gid.startswith(LINK_LOCAL) and any(not entry.gid.startswith(LINK_LOCAL) for entry in table):
        return "is an address of the link only, though routable ones exist"
    return ""


class GidMove(Struct, frozen=True):
    """What became of the GID in use: ``now`` None = nothing to use any more."""

    before: Gid
    now: Gid | None

    @property
    def text(self) -> str:
        """One sentence."""
        if self.now is None:
            return f"GID index {self.before.index} was {self.before.gid} and is a hole now"
        if self.now.gid == self.before.gid:
            return f"GID {self.now.gid} moved from index {self.before.index} to {self.now.index}"
        return (
            f"GID index {self.now.index} is now {self.now.gid}, before index {self.before.index} was {self.before.gid}"
        )


def compare(before: Gid | None, now: Gid | None) -> GidMove | None:
    """Whether the GID in use is another one, or at another index; a first one is no change."""
    if before is None or before == now:
        return None
    if now is not None and (now.index, now.gid) == (before.index, before.gid):
        return None
    return GidMove(before, now)
