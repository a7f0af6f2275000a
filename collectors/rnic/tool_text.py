"""What do printouts of a host's usual tools say, in one shape? Pure and total: odd lines are left out, never guessed.

Read are ``rdma statistic show`` (one line per port; with ``-p`` a name and value per line; with ``-j`` JSON), "Port n
hw counters:" listings, ``grep "" .../hw_counters/*`` (path:value), ``ethtool -S``, and two printouts side by side
(``diff -y``, or ``name: before / after``). Names stay raw, data counters become bytes. A counter whose port is not told
belongs to port 0 (unknown): it is not given to the port that comes next, nor to the one before when a name comes twice,
as the heading between was lost then. What is counted of some queue pairs only (``rdma statistic qp show``, told by
``cntn``) is no counter of the port, and left out, as are the ids and states of ``rdma resource`` and ``rdma link``.
What is not supported, or stands at its ceiling, has a reason in place of a number. Tools of a fabric are in
``fabric_text``.
"""

from __future__ import annotations

import re

import msgspec

from collectors.plain_text import plain
from collectors.rnic.counter_text import Unread, parse_counter
from collectors.rnic.quantities import bytes_of, is_at_ceiling

Value = int | Unread
Counters = dict[str, Value]
Port = tuple[str, int]
"""Device name ("" = not told) and port (0 = not told)."""

TOLD = (Unread.UNSUPPORTED, Unread.CEILING)
_NUMBER = r"[0-9][0-9,]*"
LINK = re.compile(r"link\s+([^\s/]{1,64})/([0-9]{1,3})(?:\s+(.*))?", re.DOTALL)
HEADER = re.compile(r"port\s+([0-9]{1,3})\s+(?:hw\s+|port\s+)?counters:?", re.IGNORECASE)
PATH = re.compile(
    r"(?:\S*/infiniband/([^/:\s]{1,64})/(?:ports/([0-9]{1,3})/)?|(?:\S*/)?([^/:\s]{1,64})/ports/([0-9]{1,3})/)"
    r"(?:hw_)?counters(?:_ext)?/([^/:\s]{1,64}):(.*)"
)
NO_COUNTERS = frozenset(
    (
        "cntn",
        "lqpn",
        "cqn",
        "mrn",
        "pdn",
        "ctxn",
        "srqn",
        "cm-idn",
        "state",
        "subnet_prefix",
        "supported",
        "unsupported",
    )
)
"""What ``rdma`` tells first of things that are no port's counters: sets of some queue pairs, objects, states."""

NAMED = re.compile(r"\s*([A-Za-z_][\w.]{0,63})\s*:\s*(N/A\b.*|\S+)\s*")
INDENTED = re.compile(r"\s+([A-Za-z_][\w.]{0,63})\s+(N/A\b.*|\S+)\s*")
PAIRS = re.compile(rf"\s*[A-Za-z_][\w.]{{0,63}}\s+{_NUMBER}(?:\s+[A-Za-z_][\w.]{{0,63}}\s+{_NUMBER})+\s*")
PAIR = re.compile(rf"[A-Za-z_][\w.]{{0,63}}\s+{_NUMBER}\s*")
STATISTIC = re.compile(rf"\s*(\S.{{0,79}}?):\s+(-?{_NUMBER})\s*")
SIDES = re.compile(rf"\s*(\S[^:]{{0,79}}):\s+({_NUMBER})\s+[|<>]?\s*(\S[^:]{{0,79}}):\s+({_NUMBER})(?:\s+DIFF:.*)?\s*")
SLASHED = re.compile(rf"\s*(\S[^:]{{0,79}}):\s+({_NUMBER})\s*(?:/|->)\s*({_NUMBER})\s*")


def read_value(name: str, text: str) -> Value:
    """A counter of a tool; data in bytes. A counter at the width that IBTA gives it has no number."""
    value = parse_counter(text.encode("utf-8", "replace"))
    if type(value) is not int:
        return value
    return Unread.CEILING if is_at_ceiling(name, value) else bytes_of(name, value)


def _number(text: str) -> int | None:
    value = parse_counter(text.encode("utf-8", "replace"))
    return value if type(value) is int else None


class _Listing:
    """What was read, and whose the lines that come are."""

    def __init__(self) -> None:
        self.found: dict[Port, Counters] = {}
        self._port: Port | None = ("", 0)
        self._names: set[str] = set()

    def begin(self, port: Port | None) -> None:
        """A heading; None: what follows is left out."""
        self._port, self._names = port, set()

    @property
    def is_of_device(self) -> bool:
        """Whether the last heading told a device: what follows may be its line, wrapped."""
        return self._port is None or bool(self._port[0])

    def take(self, name: str, text: str) -> None:
        """A counter below the last heading; one that was there already is of another, unknown port."""
        if self._port is None:
            return
        if name in self._names:
            self.begin(("", 0))
        self._names.add(name)
        self.put(self._port, name, text)

    def put(self, port: Port, name: str, text: str) -> None:
        """A counter of a port that is told, or of an unknown one: then the first of a name counts."""
        value = read_value(name, text)
        known = self.found.get(port, {})
        if (type(value) is int or value in TOLD) and not (port == ("", 0) and name in known):
            self.found.setdefault(port, {})[name] = value


def parse_hw_counters(text: str) -> dict[Port, Counters]:
    """Counters by device and port, from any of the first forms; of two snapshots in one paste the newer one
    (``snapshots`` keeps both).
    """
    text = plain(text)
    if text.lstrip()[:1] in ("[", "{"):
        return _of_json(text)
    listing = _Listing()
    for line in text.splitlines():
        _read_line(listing, line)
    return listing.found


def _read_line(listing: _Listing, line: str) -> None:
    stripped = line.strip()
    if (link := LINK.fullmatch(stripped)) is not None:
        words = link[3] or ""
        told = words.partition(" ")[0] not in NO_COUNTERS
        listing.begin((link[1], int(link[2])) if told else None)
        _read_pairs(listing, words)
    elif (path := PATH.fullmatch(stripped)) is not None:
        listing.put((path[1] or path[3], int(path[2] or path[4] or 0)), path[5], path[6])
    elif (header := HEADER.fullmatch(stripped)) is not None:
        listing.begin(("", int(header[1])))
    elif (pair := NAMED.fullmatch(line) or INDENTED.fullmatch(line)) is not None:
        listing.take(pair[1], pair[2])
    elif PAIRS.fullmatch(line) or (listing.is_of_device and PAIR.fullmatch(line)):
        _read_pairs(listing, line)
    elif not stripped:
        listing.begin(("", 0))


def _read_pairs(listing: _Listing, text: str) -> None:
    words = text.split()
    for name, value in zip(words[::2], words[1::2], strict=False):
        listing.take(name, value)


def _of_json(text: str) -> dict[Port, Counters]:
    """``rdma -j statistic show``: an object per port; numbers may be texts."""
    try:
        top = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return {}
    listing = _Listing()
    for one in top if isinstance(top, list) else [top]:
        if not isinstance(one, dict) or not isinstance(one.get("ifname"), str) or _is_no_port(one):
            continue
        port = one.get("port")
        key = (str(one["ifname"]), port if isinstance(port, int) and 0 < port < 1000 else 0)
        for name, value in one.items():
            if name not in ("ifindex", "ifname", "port") and type(value) in (int, str):
                listing.put(key, str(name), str(value))
    return listing.found


def _is_no_port(one: dict[object, object]) -> bool:
    return any(one.get(name) is not None for name in NO_COUNTERS)


def parse_ethtool(text: str) -> dict[str, int]:
    """``ethtool -S``: raw names, the first of two equal ones; "ERROR: 1" of a bond is no statistic."""
    found: dict[str, int] = {}
    for line in plain(text).splitlines():
        match = STATISTIC.fullmatch(line)
        if match is not None and match[1] != "ERROR" and match[1] not in found:
            value = _number(match[2])
            if value is not None:
                found[match[1]] = value
    return found


def parse_side_by_side(text: str) -> tuple[dict[str, int], dict[str, int]]:
    """Two printouts beside each other: before and after."""
    before: dict[str, int] = {}
    after: dict[str, int] = {}
    for line in plain(text).splitlines():
        match, slashed = SIDES.fullmatch(line), SLASHED.fullmatch(line)
        if match is not None and match[1].strip() == match[3].strip():
            name, first, second = match[1].strip(), _number(match[2]), _number(match[4])
        elif slashed is not None:
            name, first, second = slashed[1].strip(), _number(slashed[2]), _number(slashed[3])
        else:
            continue
        if first is not None and second is not None:
            before[name], after[name] = first, second
    return before, after


def snapshots(text: str) -> list[str]:
    """A paste cut where its first counter comes again: before and after are then two texts."""
    parts: list[list[str]] = [[]]
    first, headings = "", 0
    for line in plain(text).splitlines():
        pair = PATH.fullmatch(line.strip()) or NAMED.fullmatch(line) or STATISTIC.fullmatch(line)
        link = LINK.fullmatch(line.strip())
        name = f"link {link[1]}/{link[2]}" if link else line.partition(":")[0].strip() if pair else ""
        if name and name == first:
            head = parts[-1][len(parts[-1]) - headings :]
            del parts[-1][len(parts[-1]) - headings :]
            parts.append(head)
        first = first or name
        headings = 0 if name else headings + 1
        parts[-1].append(line)
    return ["\n".join(part) for part in parts]
