"""Which numbers are in SONiC's COUNTERS_DB? As JSON, by gNMI (target COUNTERS_DB) or out of the database's dump.

Objects are keyed by ``Ethernet68:3`` (port and queue) or ``Ethernet68`` (port), values are texts; empty objects are
queues without counters, ``Ethernet68:1:periodic`` is a high-water mark of an interval and no queue. The watchdog's
fields (``PFC_WD_*``) are read as ``Storm``: times there are microseconds. OIDs and other tables are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from collectors.switches.readings import PORT, Column, Reading, parse_number, queue_name

QUEUE_STATS: dict[str, tuple[Column, int]] = {
    "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES": ("depth_bytes", 0),
    "SAI_QUEUE_STAT_WATERMARK_BYTES": ("depth_bytes", 2),
    "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES": ("depth_bytes", 3),
    "SAI_QUEUE_STAT_DROPPED_PACKETS": ("dropped", 0),
    "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS": ("ecn_marked", 0),
}
PORT_STATS: dict[str, tuple[Column, int]] = {
    "SAI_PORT_STAT_ETHER_STATS_CRC_ALIGN_ERRORS": ("crc_errors", 0),
    "SAI_PORT_STAT_ETHER_RX_CRC_ERRORS": ("crc_errors", 0),
}
_PORT_NAME = re.compile(r"(Ethernet[\w/-]{1,32})(?::(\d{1,4}))?")
_PFC = re.compile(r"SAI_PORT_STAT_PFC_([0-7])_(RX|TX)_PKTS")
DEEPEST = 8


class Storm(Struct, frozen=True):
    """What the PFC watchdog counts of one queue since it was enabled; None: not told."""

    port: str
    queue: int | str
    stormed: bool | None
    detected: int | None
    restored: int | None


def readings_of_db(path: Sequence[str], value: object) -> Iterator[Reading]:
    """Readings of a value below ``COUNTERS``; ``path``: the steps behind it (port, ``Queues`` or a field's name)."""
    for port, queue, fields in _objects(path, value, DEEPEST):
        for name, text in fields.items():
            reading = _reading(port, queue, str(name), text)
            if reading is not None:
                yield reading


def storms_of_db(path: Sequence[str], value: object) -> Iterator[Storm]:
    """What the watchdog says in a value below ``COUNTERS``."""
    for port, queue, fields in _objects(path, value, DEEPEST):
        status = fields.get("PFC_WD_STATUS")
        if queue is None or status is None:
            continue
        yield Storm(
            port,
            queue_name(queue),
            status == "stormed" if status in ("stormed", "operational") else None,
            parse_number(fields.get("PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED")),
            parse_number(fields.get("PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED")),
        )


def _objects(path: Sequence[str], value: object, depth: int) -> Iterator[tuple[str, str | None, dict[str, object]]]:
    """(port, queue, fields) of every object keyed by a port or queue; ``path`` may name the port and the field."""
    if depth == 0:
        return
    if isinstance(value, dict):
        if any(_PORT_NAME.match(str(name)) for name in value):
            for name, inner in value.items():
                yield from _objects([str(name)], inner, depth - 1)
            return
        found = _PORT_NAME.fullmatch(path[-1]) or _PORT_NAME.fullmatch(path[0]) if path else None
        if found is not None:
            yield found[1], found[2], value
        elif not path or not path[-1].startswith("Ethernet"):
            for name, inner in value.items():
                yield from _objects([*path[:1], str(name)], inner, depth - 1)
    elif len(path) >= 2 and (found := _PORT_NAME.fullmatch(path[0])) is not None:
        yield found[1], found[2], {path[-1]: value}


def _reading(port: str, queue: str | None, name: str, value: object) -> Reading | None:
    if queue is not None:
        found = QUEUE_STATS.get(name)
        return Reading(port, int(queue), found[0], parse_number(value), found[1]) if found else None
    if pfc := _PFC.fullmatch(name):
        return Reading(port, int(pfc[1]), "pfc_rx" if pfc[2] == "RX" else "pfc_tx", parse_number(value))
    found = PORT_STATS.get(name)
    return Reading(port, PORT, found[0], parse_number(value), found[1]) if found else None
