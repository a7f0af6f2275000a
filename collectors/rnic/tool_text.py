"""What do the printouts of the usual tools say, in one shape? Pure and total: odd lines are left out, never guessed.

Read are ``rdma statistic show`` (one line per port, or with ``-p`` a name and value per line), "Port n hw counters:"
listings, ``grep "" .../hw_counters/*`` (path:value), ``ethtool -S``, two of them side by side (``diff -y``),
``perfquery`` and ``ibqueryerrors``. Names stay raw. A counter whose port is not told belongs to port 0 (unknown): it
is not given to the port that comes next. Numbers as in ``counter_text``; data counters of fabric tools become bytes.
"""

from __future__ import annotations

import re

from collectors.rnic.counter_text import parse_counter
from collectors.rnic.quantities import bytes_of

Counters = dict[str, int]
Port = tuple[str, int]
"""Device name ("" = not told) and port (0 = not told)."""

LINK = re.compile(r"link\s+([^\s/]{1,64})/([0-9]{1,3})(?:\s+(.*))?", re.DOTALL)
HEADER = re.compile(r"port\s+([0-9]{1,3})\s+hw\s+counters:?", re.IGNORECASE)
PATH = re.compile(
    r"\S*/infiniband/([^/:\s]{1,64})/(?:ports/([0-9]{1,3})/)?(?:hw_)?counters(?:_ext)?/([^/:\s]{1,64}):(.*)"
)
NAMED = re.compile(r"\s*([A-Za-z_][\w.]{0,63})\s*:\s*(\S+)\s*")
INDENTED = re.compile(r"\s+([A-Za-z_][\w.]{0,63})\s+(\S+)\s*")
STATISTIC = re.compile(r"\s*(\S.{0,79}?):\s+(-?[0-9][0-9,]*)\s*")
SIDES = re.compile(r"\s*(\S[^:]{0,79}):\s+([0-9]+)\s+[|<>]?\s*(\S[^:]{0,79}):\s+([0-9]+)(?:\s+DIFF:.*)?\s*")
ERRORS = re.compile(r"GUID\s+(0x[0-9a-fA-F]{1,16})\s+port\s+(ALL|[0-9]{1,3}):?\s*(\[.*)")
BRACKET = re.compile(r"\[([A-Za-z]\w{0,63})\s*==\s*([0-9]{1,20})(?:\s*\([^)\]]{0,40}\))?\]")
DOTTED = re.compile(r"([A-Za-z][A-Za-z0-9]{0,63}):\.{2,64}(\S+)")


def _number(text: str) -> int | None:
    value = parse_counter(text.encode("utf-8", "replace"))
    return value if type(value) is int else None


def _put(found: dict[Port, Counters], port: Port, name: str, text: str) -> None:
    value = _number(text)
    if value is not None:
        found.setdefault(port, {})[name] = value


def parse_hw_counters(text: str) -> dict[Port, Counters]:
    """Counters by device and port, from any of the first four forms."""
    found: dict[Port, Counters] = {}
    port: Port = ("", 0)
    for line in text.splitlines():
        link, path, header = LINK.fullmatch(line.strip()), PATH.fullmatch(line.strip()), HEADER.fullmatch(line.strip())
        if link is not None:
            port = (link[1], int(link[2]))
            words = (link[3] or "").split()
            for name, value in zip(words[::2], words[1::2], strict=False):
                _put(found, port, name, value)
        elif path is not None:
            _put(found, (path[1], int(path[2] or 0)), path[3], path[4])
        elif header is not None:
            port = ("", int(header[1]))
        elif (pair := NAMED.fullmatch(line) or INDENTED.fullmatch(line)) is not None:
            _put(found, port, pair[1], pair[2])
        elif not line.strip():
            port = ("", 0)
    return found


def parse_ethtool(text: str) -> Counters:
    """``ethtool -S``: raw names, the first of two equal ones; "ERROR: 1" of a bond is no statistic."""
    found: Counters = {}
    for line in text.splitlines():
        match = STATISTIC.fullmatch(line)
        if match is not None and match[1] != "ERROR" and match[1] not in found:
            value = _number(match[2])
            if value is not None:
                found[match[1]] = value
    return found


def parse_side_by_side(text: str) -> tuple[Counters, Counters]:
    """Two printouts beside each other: before and after."""
    before: Counters = {}
    after: Counters = {}
    for line in text.splitlines():
        match = SIDES.fullmatch(line)
        if match is not None and match[1].strip() == match[3].strip():
            first, second = _number(match[2]), _number(match[4])
            if first is not None and second is not None:
                before[match[1].strip()], after[match[1].strip()] = first, second
    return before, after


def parse_perfquery(text: str) -> list[tuple[int, Counters]]:
    """``perfquery`` of one or more ports: (port, counters), data in bytes; masks and selectors are no counters."""
    ports: list[tuple[int, Counters]] = []
    for line in text.splitlines():
        match = DOTTED.fullmatch(line.strip())
        if match is None:
            continue
        name, value = match[1], _number(match[2])
        if value is None:
            continue
        if name == "PortSelect":
            ports.append((value, {}))
        elif not name.startswith("CounterSelect"):
            if not ports:
                ports.append((0, {}))
            ports[-1][1][name] = bytes_of(name, value)
    return ports


def parse_ibqueryerrors(text: str) -> dict[Port, Counters]:
    """``ibqueryerrors``: counters by node GUID and port, 0 = all ports of the node; warnings between are left out."""
    found: dict[Port, Counters] = {}
    for line in text.splitlines():
        match = ERRORS.fullmatch(line.strip())
        if match is not None:
            counters = {name: bytes_of(name, int(value)) for name, value in BRACKET.findall(match[3])}
            found.setdefault((match[1].lower(), 0 if match[2] == "ALL" else int(match[2])), {}).update(counters)
    return found
