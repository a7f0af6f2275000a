"""Is a card's way to its host as wide and fast as it can be, and which link is the bottleneck? Pure, and a reader.

As the kernel does it (``pcie_bandwidth_available``): walk from the card up to the root, take the least bandwidth, and
of equals the one nearest the root, because both ends of a link show the same. Bandwidth = lanes x rate x coding
(2.5 and 5 GT/s 8b/10b, to 32 GT/s 128b/130b, 64 GT/s flits), Mb/s in whole numbers as the kernel rounds.

*Degraded* is a link that is trained below what both its ends can do, so that the card gets less than it could use; a
board that is built narrower is no fault. Links slow down when nothing moves: a look at a low *speed* counts only while
the card moves data, and nothing counts that was not seen at several looks in a row.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from collectors.rnic.attributes import read_text
from collectors.rnic.port_text import first_line, parse_pci_address

MBPS_PER_LANE = {2.5: 2000, 5.0: 4000, 8.0: 7876, 16.0: 15753, 32.0: 31507, 64.0: 64000, 128.0: 128000}
DEEPEST = 16


class PcieLink(Struct, frozen=True):
    """One end of a link: what it runs at and what it can do; None = not told."""

    address: str
    gts: float | None
    width: int | None
    most_gts: float | None = None
    most_width: int | None = None


class Bottleneck(Struct, frozen=True):
    """Where a card gets less than it could: ``victim`` and ``limiting`` are PCI addresses; Gb/s."""

    victim: str
    limiting: str
    cause: Literal["width", "speed"]
    available_gbps: float
    capable_gbps: float
    text: str


def parse_link_speed(text: str) -> float | None:
    """``current_link_speed``: "32.0 GT/s PCIe", "5 GT/s", "Unknown"."""
    number, _, unit = first_line(text).partition(" ")
    if not unit.startswith("GT/s") or len(number) > 6 or not number.replace(".", "", 1).isdecimal():
        return None
    return float(number) if float(number) in MBPS_PER_LANE else None


def parse_link_width(text: str) -> int | None:
    """``current_link_width``: "16"; 0 and 255 say that it is not known."""
    word = first_line(text).removeprefix("x")
    return int(word) if word.isascii() and word.isdigit() and len(word) < 4 and 0 < int(word) <= 32 else None


def mbps(gts: float | None, width: int | None) -> int | None:
    """Bandwidth of a link."""
    return None if gts is None or width is None else MBPS_PER_LANE.get(gts, 0) * width or None


def find_bottleneck(chain: Sequence[PcieLink]) -> Bottleneck | None:
    """The degraded link between a card (first) and the root (last), if there is one."""
    if not chain:
        return None
    card = chain[0]
    capable = mbps(card.most_gts, card.most_width)
    running = [(bandwidth, place) for place, link in enumerate(chain) if (bandwidth := mbps(link.gts, link.width))]
    if capable is None or not running:
        return None
    available = min(bandwidth for bandwidth, _ in running)
    place = max(place for bandwidth, place in running if bandwidth == available)
    if available >= capable:
        return None
    limiting = chain[place]
    gts, width = _possible(chain, place)
    narrow = width is not None and limiting.width is not None and limiting.width < width
    slow = gts is not None and limiting.gts is not None and limiting.gts < gts
    if not narrow and not slow:
        return None
    text = (
        f"{available / 1000:.3f} Gb/s available PCIe bandwidth for {card.address}, limited by {limiting.gts} GT/s "
        f"x{limiting.width} at {limiting.address} (capable of {capable / 1000:.3f} Gb/s)"
    )
    cause: Literal["width", "speed"] = "width" if narrow else "speed"
    return Bottleneck(card.address, limiting.address, cause, available / 1000, capable / 1000, text)


def _possible(chain: Sequence[PcieLink], place: int) -> tuple[float | None, int | None]:
    """What both ends of a link can do; what nobody tells is taken to be what the card can."""
    ends = [chain[place]]
    if place and (chain[place - 1].gts, chain[place - 1].width) == (chain[place].gts, chain[place].width):
        ends.append(chain[place - 1])
    gts = min((end.most_gts for end in ends if end.most_gts is not None), default=chain[0].most_gts)
    width = min((end.most_width for end in ends if end.most_width is not None), default=chain[0].most_width)
    return gts, width


class PcieWatch:
    """Looks at one card in a row: tells a bottleneck once it is sure, and when it is over."""

    __slots__ = ("_confirm", "_good", "_seen", "told")

    def __init__(self, confirm: int) -> None:
        self._confirm = confirm
        self._seen: list[Bottleneck] = []
        self._good = 0
        self.told: Bottleneck | None = None

    def look(self, found: Bottleneck | None, busy: bool) -> Bottleneck | Literal["restored"] | None:
        """Takes one look; what is new, if anything. ``busy``: the card has moved data since the last one."""
        if found is None:
            self._seen = []
            self._good += 1
            if self.told is not None and self._good >= self._confirm:
                self.told = None
                return "restored"
            return None
        if found.cause == "speed" and not busy:
            return None
        self._good = 0
        if self._seen and (self._seen[-1].limiting, self._seen[-1].cause) != (found.limiting, found.cause):
            self._seen = []
        self._seen = [*self._seen[1 - self._confirm :], found] if self._confirm > 1 else [found]
        known = self.told is not None and (self.told.limiting, self.told.cause) == (found.limiting, found.cause)
        if len(self._seen) < self._confirm or known:
            return None
        self.told = found
        return found


def read_chain(device_folder: str) -> tuple[PcieLink, ...]:
    """Links from a device (``/sys/class/infiniband/<name>/device``) to its root; a virtual function has its card's."""
    path = os.path.realpath(device_folder)
    if os.path.lexists(f"{path}/physfn"):
        path = os.path.realpath(f"{path}/physfn")
    chain: list[PcieLink] = []
    while (address := parse_pci_address(path)) is not None and len(chain) < DEEPEST:
        chain.append(
            PcieLink(
                address,
                parse_link_speed(read_text(f"{path}/current_link_speed") or ""),
                parse_link_width(read_text(f"{path}/current_link_width") or ""),
                parse_link_speed(read_text(f"{path}/max_link_speed") or ""),
                parse_link_width(read_text(f"{path}/max_link_width") or ""),
            )
        )
        path = path.rpartition("/")[0]
    return tuple(chain)
