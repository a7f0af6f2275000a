"""What do the texts of a port say: its state, its rate, its link layer, addresses, a PCIe link? Pure and total.

The number and the word of a state need not agree ("4: ACTIVE" under ``phys_state``, where 5 is LinkUp): the word is
taken when it is known, else the number. A rate comes as "100 Gb/sec (4X EDR)", "25 Gb/sec (1X EDR)", "10 Gb/sec (4X)",
"2.5 Gb/sec", or not at all. Speeds of network devices are Mb/s. Cost: microseconds.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

PortState = Literal["down", "init", "armed", "active", "active_defer", "unknown"]
PhysicalState = Literal["sleep", "polling", "disabled", "training", "link_up", "recovery", "test", "unknown"]

STATES: dict[str, PortState] = {
    "down": "down",
    "init": "init",
    "armed": "armed",
    "active": "active",
    "active_defer": "active_defer",
}
STATE_NUMBERS: dict[int, PortState] = {1: "down", 2: "init", 3: "armed", 4: "active", 5: "active_defer"}
PHYSICAL: dict[str, PhysicalState] = {
    "sleep": "sleep",
    "polling": "polling",
    "disabled": "disabled",
    "portconfigurationtraining": "training",
    "linkup": "link_up",
    "linkerrorrecovery": "recovery",
    "phy test": "test",
    "phytest": "test",
    "active": "link_up",
}
PHYSICAL_NUMBERS: dict[int, PhysicalState] = {
    1: "sleep",
    2: "polling",
    3: "disabled",
    4: "training",
    5: "link_up",
    6: "recovery",
    7: "test",
}
NUMBERED = re.compile(r"\s*([0-9]{1,4})\s*:\s*([^\r\n\0]*).*", re.DOTALL)
RATE = re.compile(
    r"\s*([0-9]{1,6}(?:\.[0-9]{1,3})?)\s*Gb/sec(?:\s*\(\s*([0-9]{1,2})X(?:\s+([A-Za-z0-9]+))?\s*\))?.*", re.DOTALL
)
PCI_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
NETDEV = re.compile(r"[^\s/\0:]{1,15}")
GUID = re.compile(r"[0-9a-f]{4}(?::[0-9a-f]{4}){3}")


class Rate(Struct, frozen=True):
    """Signalling rate of a port; lanes and generation when they are told. A rate never needs the lanes to count."""

    gbps: float
    lanes: int | None = None
    generation: str | None = None


def first_line(text: str) -> str:
    """A value without what surrounds it: files end with a newline, two, or none."""
    lines = text.strip(" \t\r\n\0").splitlines()
    return lines[0].strip() if lines else ""


def _numbered(text: str) -> tuple[int | None, str]:
    match = NUMBERED.fullmatch(text)
    return (int(match[1]), match[2].strip().lower()) if match else (None, first_line(text).lower())


def parse_state(text: str) -> PortState:
    """``state``: "4: ACTIVE"."""
    number, word = _numbered(text)
    return STATES.get(word) or STATE_NUMBERS.get(number or 0, "unknown")


def parse_physical_state(text: str) -> PhysicalState:
    """``phys_state``: "5: LinkUp"."""
    number, word = _numbered(text)
    return PHYSICAL.get(word) or PHYSICAL_NUMBERS.get(number or 0, "unknown")


def parse_rate(text: str) -> Rate | None:
    """``rate``; None when it is not told."""
    match = RATE.fullmatch(text)
    if match is None or not float(match[1]):
        return None
    return Rate(float(match[1]), int(match[2]) if match[2] else None, match[3])


def parse_link_layer(text: str) -> Literal["InfiniBand", "Ethernet", "unknown"]:
    """``link_layer``, which some kernels end with a blank line."""
    word = first_line(text).lower()
    return "InfiniBand" if word == "infiniband" else "Ethernet" if word == "ethernet" else "unknown"


def parse_net_speed(text: str) -> float | None:
    """``speed`` of a network device (Mb/s) in Gb/s; -1 and 4294967295 say that there is no link."""
    word = first_line(text)
    if not (word.isascii() and word.isdigit()) or len(word) > 9:
        return None
    return int(word) / 1000.0 or None


def parse_guid(text: str) -> str | None:
    """``node_guid``, lower case; None when it is none or all zero."""
    word = first_line(text).lower()
    return word if GUID.fullmatch(word) and word.strip("0:") else None


def parse_pci_address(text: str) -> str | None:
    """The last part of a device's path, when that is a PCI function."""
    word = text.rstrip("/").rpartition("/")[2].lower()
    return word if PCI_ADDRESS.fullmatch(word) else None


def parse_netdev(text: str) -> str:
    """The name of a network device; "" when it is none (a name never holds a slash or a blank)."""
    word = first_line(text)
    return word if NETDEV.fullmatch(word) and word not in (".", "..") else ""
