"""Which GID of a device stands for an endpoint's address? Read from sysfs; ``sys`` is its root.

``class/infiniband/<device>/ports/<port>/gids/<index>`` holds the GID, ``gid_attrs/types/<index>`` its type: only
``RoCE v2`` can be routed. Empty entries are zeros, and their type can't be read (EINVAL). Chosen is the RoCE v2
entry of the endpoint's own address, else (InfiniBand, or an address that the device does not have) the first that is
not link-local, else the first. Indices move when addresses come and go, so this is read again and again. Cost: 15 us
an entry.
"""

from __future__ import annotations

from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from pathlib import Path

from msgspec import Struct

MOST_ENTRIES = 256
V4_PREFIX = bytes(10) + b"\xff\xff"


class Gid(Struct, frozen=True):
    """One entry of a port's GID table."""

    index: int
    packed: bytes
    type: str

    def __str__(self) -> str:
        return gid_text(self.packed)


def gid_text(packed: bytes) -> str:
    """As the kernel writes it: eight groups."""
    return IPv6Address(packed).exploded


def read_gids(sys: Path, device: str, port: int = 1) -> list[Gid]:
    """The entries in use, by index.

    Raises:
        OSError: the device is not there.
    """
    folder = _port_folder(sys, device, port) / "gids"
    indices = sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdecimal())[:MOST_ENTRIES]
    return [gid for index in indices if (gid := read_gid(sys, device, index, port)) is not None]


def read_gid(sys: Path, device: str, index: int, port: int = 1) -> Gid | None:
    """One entry; None: it is not in use (any more)."""
    folder = _port_folder(sys, device, port)
    with suppress(OSError, ValueError):
        packed = IPv6Address((folder / "gids" / str(index)).read_text().strip()).packed
        if any(packed[8:]):
            return Gid(index, packed, (folder / "gid_attrs/types" / str(index)).read_text().strip())
    return None


def _port_folder(sys: Path, device: str, port: int) -> Path:
    return sys / "class/infiniband" / device / "ports" / str(port)


def packed_address(ip: str) -> bytes:
    """The 16 bytes of the RoCE GID that an IP address makes."""
    address = ip_address(ip)
    return address.packed if address.version == 6 else V4_PREFIX + address.packed


def choose_gid(gids: list[Gid], ip: str) -> Gid | None:
    """The one for an endpoint at ``ip``; None: there is none at all."""
    wanted = packed_address(ip)
    routable = [gid for gid in gids if gid.type == "RoCE v2"] or gids
    own = [gid for gid in routable if gid.packed == wanted]
    wide = [gid for gid in routable if not IPv6Address(gid.packed).is_link_local]
    return next(iter(own or wide or routable), None)


def driver_of(sys: Path, device: str) -> str:
    """The kernel driver of a device, "" = not known. Soft-RoCE has no hardware behind it, but names its ``parent``."""
    folder = sys / "class/infiniband" / device
    with suppress(OSError):
        return (folder / "device/driver").readlink().name
    return "rdma_rxe" if (folder / "parent").exists() else ""


def source_gid(header: bytes) -> bytes:
    """Who sent a datagram: from the 40 bytes that the device writes before it (IBTA A17.4.5).

    An IPv6 header, or an IPv4 one in the last 20 with anything before it; its checksum decides where both are possible.
    """
    v4 = header[20:40]
    if header[0] >> 4 != 6 or (v4[0] == 0x45 and _checksum_holds(v4)):
        return V4_PREFIX + v4[12:16]
    return header[8:24]


def _checksum_holds(header: bytes) -> bool:
    total = sum(int.from_bytes(header[i : i + 2], "big") for i in range(0, len(header), 2))
    return (total & 0xFFFF) + (total >> 16) in (0xFFFF, 0x1FFFE)
