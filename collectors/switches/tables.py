"""Which numbers are in the tables that switches print? SONiC's ``show`` commands, and one of NX-OS.

A SONiC table is a line of headings, a line of dashes, and rows; blocks follow each other, one for each port or
direction. ``show queue counters`` and ``show queue wredcounters`` (also ``--json``), ``show pfc counters`` (``Port
Rx``, ``Port Tx``), ``show pfcwd stats``, ``show queue watermark``, ``show lldp table``, ``show version``. Of
``Counter/pkts`` nothing is taken: what it counts changed from release to release (field case S05); ``Drop/pkts`` did
not, but 0 proves nothing, as some releases never count. NX-OS's ``show interface priority-flow-control`` gives pauses
of a port over all priorities; internal ports (``ii1/1/1``) are read like others, and are on no cable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import msgspec
from msgspec import Struct

from collectors.plain_text import plain
from collectors.switches.counters_db import Storm
from collectors.switches.readings import PORT, Column, Reading, parse_number, queue_name

_DASHES = re.compile(r"\s*-{2,}(?:\s+-{2,})+\s*")
_PORT_NAME = re.compile(r"[A-Za-z][\w/.:-]{0,63}", re.ASCII)
_QUEUE_NAME = re.compile(r"(?:UC|MC|ALL)?\d{1,4}", re.ASCII)
_VERSION = re.compile(r"(?m)^SONiC Software Version: *(\S{1,128})")
QUEUE_COLUMNS: dict[str, Column] = {"Drop/pkts": "dropped", "EcnMarked/pkts": "ecn_marked"}
JSON_COLUMNS: dict[str, Column] = {"droppacket": "dropped", "ecnmarkedpacket": "ecn_marked"}
_PFC_COLUMN = re.compile(r"PFC([0-7])")
_NEXUS = re.compile(r"^(\S{2,32})\s+(?:Auto|On|Off)\s+\w+\s*(?:\(\w*\))?\s+([\d,]{1,26})\s+([\d,]{1,26})(?!\S)", re.M)


class Row(Struct, frozen=True):
    """One row of a table: cells by heading."""

    cells: dict[str, str]


def rows_of(text: str) -> Iterator[Row]:
    """Rows of all tables of an output, headings by their words."""
    names: list[str] = []
    spans: list[tuple[int, int]] = []
    before = ""
    lines = plain(text).splitlines()
    for line, after in pairwise([*lines, ""]):
        if _DASHES.fullmatch(line):
            spans = [found.span() for found in re.finditer(r"-{2,}", line)]
            names = _cells(before, spans)
        elif not line.strip() or _DASHES.fullmatch(after):  # the headings of the next table are no row of this one
            spans = []
        elif spans:
            cells = _cells(line, spans)
            if len(cells) == len(names) and cells[0]:
                yield Row(dict(zip(names, cells, strict=True)))
        before = line


def _cells(line: str, spans: list[tuple[int, int]]) -> list[str]:
    """Cells of a line: its words, if there is one for each column; else what stands between the columns' edges."""
    words = line.split()
    if len(words) == len(spans):
        return words
    edges = [(0, spans[0][1])] + [(one[1], other[1]) for one, other in pairwise(spans)]
    return [line[start:end].strip() for start, end in edges]


def queue_counters(text: str) -> Iterator[Reading]:
    """``show queue counters`` and ``show queue wredcounters``, as a table or JSON.

    Raises:
        ValueError: it begins like JSON and is none.
    """
    text = plain(text)
    if text.lstrip().startswith("{"):
        yield from _queue_counters_json(text)
        return
    for row in rows_of(text):
        port, queue = row.cells.get("Port"), row.cells.get("TxQ")
        if port and queue and _is_queue(port, queue):
            for heading, column in QUEUE_COLUMNS.items():
                if heading in row.cells:
                    yield Reading(port, queue_name(queue), column, parse_number(row.cells[heading]))


def _queue_counters_json(text: str) -> Iterator[Reading]:
    try:
        top = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"show queue counters: not JSON: {error}") from error
    for port, queues in top.items() if isinstance(top, dict) else ():
        for queue, fields in queues.items() if isinstance(queues, dict) else ():
            if isinstance(fields, dict) and _is_queue(str(port), str(queue)):
                for name, column in JSON_COLUMNS.items():
                    if name in fields:
                        yield Reading(str(port), queue_name(str(queue)), column, parse_number(fields[name]))


def _is_queue(port: str, queue: str) -> bool:
    """Whether these are names of a port and a queue, and not words of a line between tables."""
    return _PORT_NAME.fullmatch(port) is not None and _QUEUE_NAME.fullmatch(queue) is not None


def pfc_counters(text: str) -> Iterator[Reading]:
    """``show pfc counters``: pauses received and sent, by priority."""
    for row in rows_of(text):
        column: Column = "pfc_rx" if "Port Rx" in row.cells else "pfc_tx"
        port = row.cells.get("Port Rx") or row.cells.get("Port Tx")
        for name, cell in row.cells.items():
            if port and _PORT_NAME.fullmatch(port) and (found := _PFC_COLUMN.fullmatch(name)):
                yield Reading(port, int(found[1]), column, parse_number(cell))


def queue_watermarks(text: str) -> Iterator[Reading]:
    """``show queue watermark unicast``: the highest depth since it was cleared, bytes."""
    for row in rows_of(text):
        port = row.cells.get("Port")
        for name, cell in row.cells.items():
            if port and _PORT_NAME.fullmatch(port) and re.fullmatch(r"UC\d{1,4}", name, re.ASCII):
                yield Reading(port, queue_name(name), "depth_bytes", parse_number(cell), 2)


def watchdog(text: str) -> Iterator[Storm]:
    """``show pfcwd stats``; ``LAST`` columns are since the last storm, and no totals."""
    for row in rows_of(text):
        port, _, queue = row.cells.get("QUEUE", "").partition(":")
        detected, _, restored = row.cells.get("STORM DETECTED/RESTORED", "").partition("/")
        status = row.cells.get("STATUS", "")
        if _is_queue(port, queue):
            yield Storm(
                port,
                queue_name(queue),
                status == "stormed" if status in ("stormed", "operational") else None,
                parse_number(detected),
                parse_number(restored),
            )


def neighbours(text: str) -> dict[str, str]:
    """``show lldp table``: what is attached to each port, ``<device>/<its port>``; of several the first."""
    found: dict[str, str] = {}
    for row in rows_of(text):
        port, device = row.cells.get("LocalPort", ""), row.cells.get("RemoteDevice", "")
        if _PORT_NAME.fullmatch(port) and device:
            found.setdefault(port, f"{device}/{row.cells.get('RemotePortID', '')}".rstrip("/")[:128])
    return found


def software_version(text: str) -> str | None:
    """``show version``: the image, None: it does not say."""
    found = _VERSION.search(plain(text))
    return found[1] if found else None


def nexus_pauses(text: str) -> Iterator[Reading]:
    """NX-OS ``show interface priority-flow-control``: pauses of each port."""
    for port, received, sent in _NEXUS.findall(plain(text)):
        yield Reading(port, PORT, "pfc_rx", parse_number(received))
        yield Reading(port, PORT, "pfc_tx", parse_number(sent))
