"""Is congestion control on at every port of a SONiC switch? Its CONFIG_DB: ``sonic-cfggen -d --var-json TABLE``.

Read are QUEUE (``Ethernet0|3`` -> ``wred_profile``; older releases write ``[WRED_PROFILE|NAME]``; keys may hold lists
and ranges, ``Ethernet0,Ethernet4|3-4``), WRED_PROFILE (``ecn``: marks, unless ``ecn_none``) and PORT_QOS_MAP
(``pfc_enable``: priorities). A priority that has to be lossless needs a marking profile on the queue of its number, and
PFC. A switch of which no port has either knows nothing of that priority, and is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from collectors.events.notices import Notice, Subject
from collectors.plain_text import plain

TABLES = ("QUEUE", "WRED_PROFILE", "PORT_QOS_MAP")
MOST_QUEUES = 64
_PORT = re.compile(r"[A-Za-z][\w/-]{0,63}", re.ASCII)
_RANGE = re.compile(r"(\d{1,3})(?:-(\d{1,3}))?", re.ASCII)
Table = dict[str, dict[str, Any]]


def parse_table(text: str) -> Table:
    """One table: objects by key.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        found = msgspec.json.decode(plain(text) or "{}")
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"sonic-cfggen: not JSON: {error}") from error
    listed = found.items() if isinstance(found, dict) else ()
    return {str(key): fields for key, fields in listed if isinstance(fields, dict)}


def marking_queues(queues: Table, profiles: Table) -> dict[str, set[int]]:
    """Queues of each port whose profile marks."""
    marking = {name for name, fields in profiles.items() if str(fields.get("ecn", "ecn_none")) != "ecn_none"}
    found: dict[str, set[int]] = {}
    for key, fields in queues.items():
        ports, _, numbers = key.partition("|")
        profile = str(fields.get("wred_profile", "")).strip("[]").rpartition("|")[2]
        for port in ports.split(","):
            if _PORT.fullmatch(port):
                found.setdefault(port, set()).update(_numbers(numbers) if profile in marking else ())
    return found


def lossless_priorities(maps: Table) -> dict[str, set[int]]:
    """Priorities with PFC of each port."""
    found: dict[str, set[int]] = {}
    for port, fields in maps.items():
        if _PORT.fullmatch(port) and port != "global":
            listed = str(fields.get("pfc_enable", "")).split(",")
            found[port] = {number for each in listed for number in _numbers(each.strip())}
    return found


def _numbers(text: str) -> set[int]:
    found = _RANGE.fullmatch(text)
    if found is None:
        return set()
    first, last = int(found[1]), int(found[2] or found[1])
    return set(range(first, min(last, first + MOST_QUEUES) + 1))


def judge_settings(switch: str, tables: tuple[Table, Table, Table], lossless: frozenset[int]) -> Iterator[Notice]:
    """What is missing, port by port; ``tables`` in the order of ``TABLES``."""
    marking, pausing = marking_queues(tables[0], tables[1]), lossless_priorities(tables[2])
    if not any(lossless & queues for queues in (*marking.values(), *pausing.values())):
        return
    for port in sorted({*marking, *pausing}):
        missing = [
            f"{what} {', '.join(map(str, sorted(lossless - known)))}"
            for what, known in (
                ("ECN profile missing on queue", marking.get(port, set())),
                ("PFC off on priority", pausing.get(port, set())),
            )
            if lossless - known
        ]
        if missing:
            yield Notice(
                code="cc_disabled",
                severity="warning",
                subject=Subject("config", f"{switch}/{port}"),
                text=f"{switch}/{port}: {'; '.join(missing)}",
                values={"port": port},
            )
