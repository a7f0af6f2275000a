"""Which numbers are in a gNMI update? Paths of OpenConfig (and SONiC's databases) mapped to readings.

A path is ``qos/interfaces/interface[interface-id=Ethernet4]/output/queues/queue[name=3]/state/dropped-pkts``; module
names before a colon are left out, a value may be a whole JSON subtree. Read are, below the interface's key:

- ``output/queues/queue``: ``avg-queue-len``, ``max-queue-len`` (bytes), ``dropped-pkts``, ``ecn-marked-pkts``
  (vendors' augments);
- ``pfc-priority`` or ``pfc`` priorities: ``pause-frames-rx``, ``pause-frames-tx``; the priority's number is the
  queue's;
- ``interfaces/interface``: ``in-crc-errors``, else ``in-fcs-errors``, of the port;
- ``software-version`` anywhere: the release that the switch runs.

A path below ``COUNTERS`` is SONiC's COUNTERS_DB, see ``counters_db``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from collectors.switches.counters_db import Storm, readings_of_db, storms_of_db
from collectors.switches.readings import PORT, Column, Reading, parse_number, queue_name

SUBSCRIPTIONS = (
    "qos/interfaces/interface/output/queues/queue/state",
    "qos/interfaces/interface/pfc/pfc-priorities/pfc-priority/state",
    "interfaces/interface/ethernet/state/counters",
    "system/state/software-version",
)
"""What is asked for by default. Without names of modules: pygnmi makes an origin of them, which few switches know."""

DEEPEST = 16
_ELEMENT = re.compile(r"([^/\[\]]+)((?:\[[^\[\]=]+=(?:[^\]\\]|\\.)*\])*)")
_KEY = re.compile(r"\[([^\[\]=]+)=((?:[^\]\\]|\\.)*)\]")
_QUEUE_LEAVES: dict[str, tuple[Column, int]] = {
    "queue-len": ("depth_bytes", 0),
    "instantaneous-queue-len": ("depth_bytes", 0),
    "avg-queue-len": ("depth_bytes", 1),
    "max-queue-len": ("depth_bytes", 2),
    "dropped-pkts": ("dropped", 0),
    "ecn-marked-pkts": ("ecn_marked", 0),
    "ecn-marked-packets": ("ecn_marked", 0),
}
_PRIORITY_LEAVES: dict[str, tuple[Column, int]] = {
    "pause-frames-rx": ("pfc_rx", 0),
    "pause-frames-tx": ("pfc_tx", 0),
}
_PORT_LEAVES: dict[str, tuple[Column, int]] = {"in-crc-errors": ("crc_errors", 0), "in-fcs-errors": ("crc_errors", 1)}
_PRIORITIES = ("pfc-priority", "priority", "pfc-statistics", "pfc-priority-stats")


class Element(Struct, frozen=True):
    """One step of a path with its keys."""

    name: str
    keys: dict[str, str] = {}


class Update(Struct, frozen=True):
    """What an update holds: readings, and the switch's release if it tells it."""

    readings: tuple[Reading, ...]
    software: str | None = None


def parse_path(text: str) -> tuple[Element, ...]:
    """Steps of a path; slashes inside keys belong to the key."""
    found = []
    for name, keys in _ELEMENT.findall(text):
        found.append(
            Element(_bare(name), {_bare(key): re.sub(r"\\(.)", r"\1", value) for key, value in _KEY.findall(keys)})
        )
    return tuple(found)


def _bare(name: str) -> str:
    return name.rpartition(":")[2].strip()


def readings_of(path: str, value: object, prefix: str = "") -> Update:
    """What one update says; nothing, if it is about something else."""
    steps = parse_path(f"{prefix}/{path}")
    below = _below_counters(steps)
    if below is not None:
        return Update(tuple(readings_of_db(below, value)))
    readings: list[Reading] = []
    software: str | None = None
    for leaf_steps, leaf in _leaves(steps, value, DEEPEST):
        if leaf_steps and leaf_steps[-1].name == "software-version" and isinstance(leaf, str):
            software = leaf[:128]
            continue
        reading = _reading(leaf_steps, leaf)
        if reading is not None:
            readings.append(reading)
    return Update(tuple(readings), software)


def storms_of(path: str, value: object, prefix: str = "") -> Iterator[Storm]:
    """What the watchdog of SONiC says in an update; nothing, if it is about something else."""
    below = _below_counters(parse_path(f"{prefix}/{path}"))
    return iter(()) if below is None else storms_of_db(below, value)


def _below_counters(steps: tuple[Element, ...]) -> list[str] | None:
    """The steps behind SONiC's table ``COUNTERS``, wherever prefix and path are cut; None: it is another one."""
    names = [step.name for step in steps]
    return names[names.index("COUNTERS") + 1 :] if "COUNTERS" in names else None


def _leaves(steps: tuple[Element, ...], value: object, depth: int) -> Iterator[tuple[tuple[Element, ...], object]]:
    """All leaves of a JSON subtree with their paths; a list's entries are told apart by their own fields."""
    if depth == 0:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves((*steps, Element(_bare(str(name)))), inner, depth - 1)
    elif isinstance(value, list):
        for entry in value:
            if isinstance(entry, dict):
                keys = {_bare(str(key)): str(text) for key, text in entry.items() if isinstance(text, str | int)}
                named = Element(steps[-1].name, {**steps[-1].keys, **keys}) if steps else Element("", keys)
                yield from _leaves((*steps[:-1], named), entry, depth - 1)
    else:
        yield steps, value


def _reading(steps: tuple[Element, ...], value: object) -> Reading | None:
    if not steps:
        return None
    port = _key(steps, "interface", ("interface-id", "name"))
    if port is None:
        return None
    leaf = steps[-1].name
    if (queue := _key(steps, "queue", ("name", "id"))) is not None and leaf in _QUEUE_LEAVES:
        column, rank = _QUEUE_LEAVES[leaf]
        return Reading(port, queue_name(queue), column, parse_number(value), rank)
    if leaf in _PRIORITY_LEAVES:
        priority = next(
            (found for name in _PRIORITIES if (found := _key(steps, name, ("dot1p", "cos"))) is not None), None
        )
        column, rank = _PRIORITY_LEAVES[leaf]
        return Reading(port, queue_name(priority), column, parse_number(value), rank) if priority is not None else None
    if leaf in _PORT_LEAVES:
        column, rank = _PORT_LEAVES[leaf]
        return Reading(port, PORT, column, parse_number(value), rank)
    return None


def _key(steps: tuple[Element, ...], name: str, keys: tuple[str, ...]) -> str | None:
    """The key of the last step of a name."""
    for step in reversed(steps):
        if step.name == name:
            found = next((step.keys[key] for key in keys if step.keys.get(key)), None)
            if found is not None:
                return found[:128]
    return None
