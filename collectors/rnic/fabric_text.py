"""What do the tools of an InfiniBand fabric print: ``perfquery``, ``ibqueryerrors``, ``ibnetdiscover -p``? Pure, total.

Their counters are those of IBTA: data in 4-byte words (bytes here), and each stops at its own width, where it has a
reason in place of a number. ``PortXmitWait`` is congestion: it points at no component. A host that does not answer is
one that is switched off or being worked on, unless the port at the other end of its cable has errors too.

The agent reads sysfs itself; these are for printouts that operators have at hand.
"""

from __future__ import annotations

import re

from msgspec import Struct

from collectors.plain_text import plain
from collectors.rnic.tool_text import TOLD, Counters, Port, read_value

ERRORS = re.compile(r"GUID\s+(0x[0-9a-fA-F]{1,16})\s+port\s+(ALL|[0-9]{1,3}):?\s*(\[.*)")
BRACKET = re.compile(r"\[([A-Za-z]\w{0,63})\s*==\s*([0-9]{1,20})(?:\s*\([^)\]]{0,40}\))?\]")
DOTTED = re.compile(r"([A-Za-z][A-Za-z0-9]{0,63}):\.{1,64}(\S+)")
_SIDE = r"(CA|SW|RT)\s+(\d{1,5})\s+(\d{1,3})\s+(0x[0-9a-fA-F]{1,16})"
CABLE = re.compile(rf"{_SIDE}\s+(\d{{1,2}})x\s+(\S{{1,16}})(?:\s+-\s+{_SIDE})?\s+(.*)")
SLOW = frozenset({"SDR"})
"""A port trains at the slowest speed when its cable or its peer is not well."""


class End(Struct, frozen=True):
    """One end of a cable: ``kind`` CA (a host's card), SW or RT; ``name`` as the node describes itself."""

    kind: str
    lid: int
    port: int
    guid: str
    name: str = ""


class Cable(Struct, frozen=True):
    """What a port is connected to; ``speed`` None: the tool does not know it; ``far`` None: nobody is there."""

    near: End
    far: End | None
    width: int
    speed: str | None

    @property
    def is_dead(self) -> bool:
        """Whether nobody answers at the other end. It may be a host that is switched off."""
        return self.far is None

    @property
    def is_slow(self) -> bool:
        """Whether it runs at the slowest speed, which nobody builds any more."""
        return self.speed in SLOW


def parse_perfquery(text: str) -> list[tuple[int, Counters]]:
    """``perfquery`` of one or more ports: (port, counters); masks and selectors are no counters."""
    ports: list[tuple[int, Counters]] = []
    for line in plain(text).splitlines():
        match = DOTTED.fullmatch(line.strip())
        if match is None:
            continue
        name, value = match[1], read_value(match[1], match[2])
        if name == "PortSelect" and type(value) is int:
            ports.append((value, {}))
        elif not name.startswith("CounterSelect") and (type(value) is int or value in TOLD):
            if not ports:
                ports.append((0, {}))
            ports[-1][1][name] = value
    return ports


def parse_ibqueryerrors(text: str) -> dict[Port, Counters]:
    """``ibqueryerrors``: counters by node GUID and port, 0 = all ports of the node; warnings between are left out."""
    found: dict[Port, Counters] = {}
    for line in plain(text).splitlines():
        match = ERRORS.fullmatch(line.strip())
        if match is not None:
            counters = {name: read_value(name, value) for name, value in BRACKET.findall(match[3])}
            found.setdefault((match[1].lower(), 0 if match[2] == "ALL" else int(match[2])), {}).update(counters)
    return found


def parse_cables(text: str) -> list[Cable]:
    """``ibnetdiscover -p``: one cable a line, seen from each of its ends; other lines are left out."""
    found = []
    for line in plain(text).splitlines():
        match = CABLE.fullmatch(line.strip())
        if match is None:
            continue
        names = re.findall(r"'([^']{0,64})'", match[11])
        near = End(match[1], int(match[2]), int(match[3]), match[4].lower(), names[0] if names else "")
        far = None
        if match[7] is not None:
            name = names[1] if len(names) > 1 else ""
            far = End(match[7], int(match[8]), int(match[9]), match[10].lower(), name)
        found.append(Cable(near, far, int(match[5]), None if "?" in match[6] else match[6]))
    return found
