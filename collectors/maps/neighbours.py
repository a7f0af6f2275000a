"""Which fabric do LLDP neighbours add up to? From the output of ``lldpctl -f json`` of each device, as files.

Each line of evidence is "my port p sees port q of device d"; a cable seen from both ends is one link. A device is a
leaf, spine or core by its name; every other device is a host, whose ports become RNIC nodes ``<host>/<rnic>`` with one
port ``p0``. A host names network devices, so ``rnics`` may say which RNIC stands behind each ("eth2" to "mlx5_0").
Contradictions (two neighbours at one switch port) are refused: a map that guesses would blame the wrong cable.
``ecmp`` is ``traced``: LLDP does not know how switches choose.

Format: lldpd's ``json`` (one neighbour is an object, several are a list of objects with one name each) and ``json0``
(everything a list). Links between two hosts are left out: they are no part of the fabric.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from msgspec import Struct

from collectors.lldp_ports import port_name
from collectors.observing import Now, Observed
from schemas.instants import SECOND_US

HOST_PORT = "p0"
CHASSIS_FIELDS = frozenset({"id", "name", "descr", "mgmt-ip", "mgmt-iface", "capability"})
"""What stands in a chassis that has no name; any other key is its name. A single capability is an object, no list."""


class Neighbour(Struct, frozen=True, order=True):
    """``port`` of ``device`` sees ``far_port`` of ``far_device``."""

    device: str
    port: str
    far_device: str
    far_port: str


class Tiers(Struct, frozen=True, kw_only=True):
    """Patterns (searched anywhere in the name) that tell switches apart; what matches none is a host."""

    leaf: str = "leaf"
    spine: str = "spine"
    core: str = "core"

    def of(self, device: str) -> str | None:
        """The kind of a switch; None: a host."""
        for kind in ("leaf", "spine", "core"):
            pattern = getattr(self, kind)
            if pattern and re.search(pattern, device):
                return kind
        return None


def parse_lldp(device: str, data: bytes) -> list[Neighbour]:
    """What a device sees; neighbours without a name or port are left out.

    Raises:
        ValueError: it is not the JSON of lldpctl.
    """
    try:
        wire = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{device}: not JSON: {error}") from error
    found = []
    for part in _listed(wire.get("lldp") if isinstance(wire, dict) else None, device):
        for name, about in _interfaces(part):
            far_device, far_port = _far_device(about), _far_port(about)
            if name and far_device and far_port:
                found.append(Neighbour(device, name, far_device, far_port))
    return sorted(set(found))


def fabric_of(neighbours: Iterable[Neighbour], tiers: Tiers, rnics: Mapping[str, str]) -> dict[str, Any]:
    """``nodes``, ``links`` and ``ecmp`` of the fabric.

    Raises:
        ValueError: a switch port has two neighbours.
    """
    seen: dict[str, str] = {}
    nodes: dict[str, str] = {}
    for one in sorted(set(neighbours)):
        ends = [_end(one.device, one.port, tiers, rnics), _end(one.far_device, one.far_port, tiers, rnics)]
        if all(kind == "rnic" for _, _, kind in ends):
            continue
        for (node, port, kind), (other, far, _) in (ends, ends[::-1]):
            nodes[node] = kind
            here, there = f"{node}/{port}", f"{other}/{far}"
            if seen.setdefault(here, there) != there:
                raise ValueError(f"port {here} has two neighbours: {seen[here]} and {there}")
    links = sorted({tuple(sorted(pair)) for pair in seen.items()})
    return {
        "nodes": [{"id": node, "kind": kind} for node, kind in sorted(nodes.items())],
        "links": [{"id": f"{a}--{b}", "a": a, "b": b} for a, b in links],
        "ecmp": {"method": "traced"},
    }


class FabricFromNeighbours:
    """Collector of ``fabric-map`` from a folder of ``<device>.json``."""

    name = "fabric-map from LLDP"

    def __init__(self, folder: Path, tiers: Tiers, rnics: Mapping[str, str], look_s: float, again_s: float) -> None:
        self.period_s = look_s
        self._folder, self._tiers, self._rnics = folder, tiers, dict(rnics)
        self._again_us = round(again_s * SECOND_US)
        self._stamps: dict[str, tuple[int, int]] = {}
        self._said: dict[str, Any] = {}
        self._said_us = self._version = 0

    def collect(self, now: Now) -> Iterable[Observed]:
        """The map, when it has changed or is to be said again."""
        stamps = {path.stem: (path.stat().st_mtime_ns, path.stat().st_size) for path in self._folder.glob("*.json")}
        if not stamps:
            raise ValueError(f"{self._folder}: expected files <device>.json with the output of lldpctl -f json")
        is_new = stamps != self._stamps
        if not is_new and now.mono_us - self._said_us < self._again_us:
            return
        fabric = self._read() if is_new else self._said
        self._stamps = stamps
        if fabric != self._said:
            self._said, self._version = fabric, max(self._version + 1, now.t_us // 1000)
        self._said_us = now.mono_us
        yield Observed("fabric-map", "fabric-map", now.t_us, {**self._said, "version": self._version})

    def _read(self) -> dict[str, Any]:
        files = sorted(self._folder.glob("*.json"))
        found = [one for path in files for one in parse_lldp(path.stem, path.read_bytes())]
        try:
            return fabric_of(found, self._tiers, self._rnics)
        except ValueError as error:
            raise ValueError(f"{self._folder}: {error}") from error


def _end(device: str, port: str, tiers: Tiers, rnics: Mapping[str, str]) -> tuple[str, str, str]:
    """(node, port, kind) of one end of a cable."""
    kind = tiers.of(device)
    if kind is not None:
        return device, port, kind
    return f"{device}/{rnics.get(port, port)}", HOST_PORT, "rnic"


def _listed(wire: Any, device: str) -> list[dict[str, Any]]:
    parts = wire if isinstance(wire, list) else [wire]
    if not all(isinstance(part, dict) for part in parts):
        raise ValueError(f"{device}: expected the output of lldpctl -f json, an object 'lldp'")
    return parts


def _interfaces(part: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    interfaces = part.get("interface", [])
    for one in interfaces if isinstance(interfaces, list) else [interfaces]:
        if not isinstance(one, dict):
            continue
        if isinstance(one.get("name"), str):  # json0
            yield one["name"], one
            continue
        for name, neighbours in one.items():
            for about in neighbours if isinstance(neighbours, list) else [neighbours]:
                if isinstance(about, dict):
                    yield str(name), about


def _far_device(about: dict[str, Any]) -> str:
    chassis = _first(about.get("chassis"))
    name = _text(chassis.get("name"))
    if name:
        return name
    named = [str(key) for key, part in chassis.items() if isinstance(part, dict | list) and key not in CHASSIS_FIELDS]
    return named[0] if len(named) == 1 else ""


def _far_port(about: dict[str, Any]) -> str:
    port = _first(about.get("port"))
    identity = _first(port.get("id"))
    return port_name(_text(identity.get("type")), _text(identity.get("value")), _text(port.get("descr")))


def _first(wire: Any) -> dict[str, Any]:
    one = wire[0] if isinstance(wire, list) and wire else wire
    return one if isinstance(one, dict) else {}


def _text(wire: Any) -> str:
    if isinstance(wire, list) and wire:
        wire = wire[0]
    if isinstance(wire, dict):
        wire = wire.get("value")
    return wire if isinstance(wire, str) else ""
