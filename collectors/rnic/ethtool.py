"""What does a network device say of itself: its own statistics, by priority, pause frame and lane?

Asked by the kernel's SIOCETHTOOL (ETHTOOL_GSSET_INFO, GSTRINGS, GSTATS; ``linux/ethtool.h``), because only drivers' own
statistics tell of priorities. Names are kept raw: ``port.rx_dropped``, ``duplicate metric`` and ``duplicate_metric``
are three names. Of the hundreds that a driver has (one set per queue) those are taken that tell of the wire:
priorities, pauses, discards, errors, lanes, ECN, stalls of PCIe.

A device without statistics (a bond, ``lo``) gives none: that is no error of the card, its members have them.
The kernel writes as many numbers as the driver has *now*: the buffer has room for twice as many as it had, and names
are read again when the number differs. Cost: the driver's (1-3 ms for mlx5) and 20 us here.
"""

from __future__ import annotations

import fcntl
import re
import socket
import struct
from array import array

from msgspec import Struct

SIOCETHTOOL = 0x8946
GSTRINGS, GSTATS, GSSET_INFO = 0x1B, 0x1D, 0x37
SET_OF_STATISTICS = 1
NAME_BYTES = 32
MOST, MOST_TAKEN = 20_000, 256
ROOM = 1_024

TELLING = re.compile(
    r"prio(?:rity)?_?[0-7]|_pri[0-7]|_phy$|pause|discard|dropped|crc|fcs|symbol|ecn|cnp|pfc|xoff|xon|out_of_buffer|link_down|pci"
)
PER_QUEUE = re.compile(r"(?:\[\d+\]:|[rt]xq?\d+[_:]|ch\d+_|queue_\d+_|[rt]x_queue_\d+_).*|.*:\s.*")


class Statistics(Struct, frozen=True):
    """Names of a device's statistics that are taken, by their place among all ``total``."""

    total: int
    places: tuple[tuple[int, str], ...]


def is_telling(name: str) -> bool:
    """Whether a statistic tells of the wire, not of a queue of the driver."""
    return TELLING.search(name) is not None and PER_QUEUE.fullmatch(name) is None


def parse_names(data: bytes, total: int) -> Statistics:
    """Names as GSTRINGS gives them, 32 bytes each, ended by a zero byte when shorter; the first of a name counts."""
    taken: dict[str, int] = {}
    for place in range(min(total, len(data) // NAME_BYTES)):
        raw = data[place * NAME_BYTES : (place + 1) * NAME_BYTES].partition(b"\0")[0]
        name = raw.decode("ascii", "replace").strip()
        if name not in taken and is_telling(name) and len(taken) < MOST_TAKEN:
            taken[name] = place
    return Statistics(total, tuple((place, name) for name, place in taken.items()))


def parse_values(data: bytes, statistics: Statistics) -> dict[str, int]:
    """Numbers as GSTATS gives them; what lies behind the end is left out."""
    return {
        name: struct.unpack_from("=Q", data, place * 8)[0]
        for place, name in statistics.places
        if (place + 1) * 8 <= len(data)
    }


class Ethtool:
    """Asks the kernel; remembers names."""

    def __init__(self) -> None:
        self._known: dict[str, Statistics] = {}

    def read(self, netdev: str) -> dict[str, int]:
        """Chosen statistics by their raw names; empty when the device has none or is not there."""
        try:
            return self._read(netdev)
        except OSError:
            self._known.pop(netdev, None)
            return {}

    def _read(self, netdev: str) -> dict[str, int]:
        known = self._known.get(netdev)
        if known is None:
            known = self._known[netdev] = self._names(netdev)
        if not known.places:
            return {}
        answer = self._ask(netdev, struct.pack("=II", GSTATS, known.total), (2 * known.total + ROOM) * 8)
        if struct.unpack_from("=I", answer, 4)[0] != known.total:
            del self._known[netdev]
            return {}
        return parse_values(answer[8 : 8 + known.total * 8], known)

    def _names(self, netdev: str) -> Statistics:
        answer = self._ask(netdev, struct.pack("=IIQ", GSSET_INFO, 0, 1 << SET_OF_STATISTICS), 8)
        mask, total = struct.unpack_from("=QI", answer, 8)
        if not mask or not 0 < total <= MOST:
            return Statistics(0, ())
        head = struct.pack("=III", GSTRINGS, SET_OF_STATISTICS, total)
        answer = self._ask(netdev, head, (2 * total + ROOM) * NAME_BYTES)
        return parse_names(answer[12 : 12 + total * NAME_BYTES], total)

    def _ask(self, netdev: str, head: bytes, room: int) -> bytes:
        """One SIOCETHTOOL.

        Raises:
            OSError: there is no such device, or its driver has no statistics.
        """
        buffer = array("B", head + bytes(room))
        request = struct.pack("16sP16x", netdev.encode()[:15], buffer.buffer_info()[0])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as asked:
            fcntl.ioctl(asked.fileno(), SIOCETHTOOL, request)
        return buffer.tobytes()
