"""Who can be blamed for what a train met? Every component on a route, as numbered suspects.

A suspect is a set of trains: those that cross one direction of a link, a link in either direction, a switch, an RNIC
(its access link included, which no train can tell from it), or any RNIC of a host. Suspects are numbered as routes
first use them, so only what is used is looked at. An interior link has a direction suspect for each way and one for
both, as has each access link of an RNIC with several (dual ToR); the both-ways suspect of an only access link is its
RNIC.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import msgspec

from localization.topology import Cable, Topology

SuspectKind = Literal["direction", "link", "rnic", "switch", "host"]

PRIOR_NATS: dict[SuspectKind, float] = {"direction": 0.0, "link": 0.0, "rnic": 0.0, "switch": -4.0, "host": -4.0}
"""ln of how much rarer it is that all of it fails at once than one of its links; about one fault in fifty."""


class Suspect(NamedTuple):
    """``name``: link, node or host; ``source``: the node from which a direction starts, else empty."""

    kind: SuspectKind
    name: str
    source: str = ""


_SUSPECTS = msgspec.msgpack.Decoder(list[Suspect])


@dataclass(slots=True)
class SuspectTable:
    """Numbered suspects; ``by_link``: those that are a link, or a direction of it."""

    index: dict[Suspect, int] = field(default_factory=dict)
    all: list[Suspect] = field(default_factory=list)
    by_link: dict[str, list[int]] = field(default_factory=dict)

    def __getstate__(self) -> bytes:
        return msgspec.msgpack.encode(self.all)

    def __setstate__(self, state: bytes) -> None:
        self.index, self.all, self.by_link = {}, [], {}
        for suspect in _SUSPECTS.decode(state):
            self.number(suspect)

    def number(self, suspect: Suspect) -> int:
        """The number of a suspect, a new one if it was never used."""
        found = self.index.get(suspect)
        if found is None:
            found = self.index[suspect] = len(self.all)
            self.all.append(suspect)
            if suspect.kind in ("direction", "link"):
                self.by_link.setdefault(suspect.name, []).append(found)
        return found

    def of_link(self, link: str) -> list[int]:
        """Numbers of a link's suspects: both ways, and each way by itself."""
        return self.by_link.get(link, [])


def suspects_of_path(topology: Topology, src: str, dst: str, path: tuple[str, ...] | None) -> list[Suspect]:
    """Everything that a train from endpoint ``src`` to ``dst`` over ``path`` crosses, each once, in a fixed order.

    Nothing when an endpoint has left: what its trains met was its leaving.
    """
    if topology.has_left(src) or topology.has_left(dst):
        return []
    found = suspects_of_end(topology, src) + suspects_of_end(topology, dst)
    if path is None:
        found += access_only(topology, src, dst)
    else:
        found += _walk(topology, topology.node_of(src) or first_node(topology, path), path)
    return list(dict.fromkeys(found))


def suspects_of_end(topology: Topology, endpoint: str) -> list[Suspect]:
    """The RNIC of an endpoint, and its host, if that has several."""
    node, host = topology.node_of(endpoint), topology.host_of(endpoint)
    if node is None or host is None:
        return [Suspect("rnic", endpoint)]
    several = len(topology.rnics_of.get(host, ())) > 1
    return [Suspect("rnic", node), *([Suspect("host", host)] if several else [])]


def access_only(topology: Topology, src: str, dst: str) -> list[Suspect]:
    """A path that nobody knows still leaves by one access link and arrives by another."""
    found: list[Suspect] = []
    for endpoint, outwards in ((src, True), (dst, False)):
        cable, node = topology.uplink(endpoint), topology.node_of(endpoint)
        switch = cable.far_end(node) if cable and node else None
        if cable and node and switch:
            found += [Suspect("direction", cable.link, node if outwards else switch), Suspect("switch", switch)]
    return found


def first_node(topology: Topology, path: tuple[str, ...]) -> str | None:
    """Where a path begins when no endpoint map says so: at the RNIC of its first link."""
    cable = topology.cables.get(path[0]) if path else None
    ends = [node for node in (cable.node_a, cable.node_b) if topology.is_rnic(node)] if cable else []
    return ends[0] if len(ends) == 1 else None


def _walk(topology: Topology, start: str | None, path: tuple[str, ...]) -> list[Suspect]:
    found: list[Suspect] = []
    node = start
    for link in path:
        met, node = suspects_of_link(topology, link, node)
        found += met
    return found


def suspects_of_link(topology: Topology, link: str, node: str | None) -> tuple[list[Suspect], str | None]:
    """What a train meets that enters a link at a node, and the node that it comes to; None: not known."""
    cable = topology.cables.get(link)
    after = cable.far_end(node) if cable and node else None
    if cable is None or node is None or after is None:
        return [Suspect("link", link)], None
    return _cross(topology, cable, node, after), after


def _cross(topology: Topology, cable: Cable, node: str, after: str) -> list[Suspect]:
    found = [Suspect("direction", cable.link, node)]
    if not is_only_access(topology, cable):
        found.append(Suspect("link", cable.link))
    found += [Suspect("switch", end) for end in (node, after) if not topology.is_rnic(end)]
    return found


def is_only_access(topology: Topology, cable: Cable) -> bool:
    """Whether a link is the only one of its RNIC: no train tells the two apart."""
    return any(topology.is_rnic(end) and not topology.has_several_uplinks(end) for end in (cable.node_a, cable.node_b))


def whole_cables(topology: Topology, table: SuspectTable, numbers: Iterable[int]) -> list[int]:
    """Of some suspects the one that is the same cable both ways: itself, unless it is a direction of one."""
    found = []
    for number in numbers:
        suspect = table.all[number]
        cable = topology.cables.get(suspect.name) if suspect.kind == "direction" else None
        whole = Suspect("link", suspect.name)
        if cable is not None and is_only_access(topology, cable):
            node = cable.node_a if topology.is_rnic(cable.node_a) else cable.node_b
            whole = Suspect("rnic", node)
        found.append(table.index.get(whole, number) if suspect.kind == "direction" else number)
    return found


def component_of(topology: Topology, suspect: Suspect) -> str:
    """The component id to blame: what an RNIC sends badly is the RNIC's, what arrives badly at it is the link's.

    If it sends badly over one of its links and well over the others, it is that link's, too.
    """
    sends = suspect.kind == "direction" and topology.is_rnic(suspect.source)
    if sends and not topology.has_several_uplinks(suspect.source):
        return f"rnic:{suspect.source}"
    if suspect.kind in ("direction", "link"):
        return f"link:{suspect.name}"
    return f"{suspect.kind}:{suspect.name}"


def words_of(topology: Topology, suspect: Suspect) -> str:
    """The suspect in words, with its direction."""
    if suspect.kind != "direction":
        return f"{suspect.kind} {suspect.name}"
    cable = topology.cables.get(suspect.name)
    towards = cable.far_end(suspect.source) if cable else None
    return f"link {suspect.name} from {suspect.source} to {towards or 'its other end'}"


def egress_ports(topology: Topology, suspect: Suspect) -> list[str]:
    """The switch ports whose queues the suspect's trains wait in, sorted."""
    if suspect.kind == "switch":
        ports = [cable.port_of(suspect.name) for cable in topology.neighbours.get(suspect.name, ())]
    elif suspect.kind == "rnic":
        cables = topology.neighbours.get(suspect.name, ())
        ports = [cable.port_of(cable.far_end(suspect.name) or suspect.name) for cable in cables]
    elif suspect.name in topology.cables:
        cable = topology.cables[suspect.name]
        ports = [cable.port_of(suspect.source)] if suspect.source else [cable.port_a, cable.port_b]
    else:
        ports = []
    return sorted(port for port in ports if not topology.is_rnic(port.rpartition("/")[0]))
