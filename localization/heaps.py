"""Which clues are about the same thing? Heaps of clues by suspect and kind.

Clues against the same component (a port, its link, and on an access link the RNIC, are one suspect) add up, those of
each pass to at most ``MOST_NATS``, and what devices count apart from what trains say. What speaks for a whole (a host,
a switch, a port) because of where it is seen moves to the part of it that another layer has something against.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from localization.cases import Clue, Ends
from localization.suspects import is_only_access
from localization.topology import Topology, rnic_node
from schemas.diagnosis import IncidentKind, IssueId

MOST_NATS = 10.0
PART_NATS = 2.0
SAYS_NATS = 1.0
PLACED: IssueId = "pcie_nic_error"
"""The issue of cards that have nothing but their host in common."""


@dataclass(frozen=True, slots=True)
class Heap:
    """Clues about one suspect and kind, and their nats together."""

    nats: float
    clues: list[Clue]

    @property
    def layers(self) -> set[str]:
        """Passes that brought them; host evidence belongs to whatever it is about."""
        return {clue.layer for clue in self.clues}

    @property
    def sources(self) -> set[str]:
        """Kinds of evidence, each of which could mislead by itself."""
        return {clue.source or clue.layer for clue in self.clues if clue.nats >= SAYS_NATS}


def heap_up(topology: Topology, clues: list[Clue], slow: bool, pairs: Collection[Ends]) -> list[Heap]:
    """Clues by suspect and kind, the heaviest first. ``slow``: next to nothing is lost, the pairs are slow.

    ``pairs``: who is ill.
    """
    piles: dict[tuple[str, IncidentKind], list[Clue]] = {}
    for clue in clues:
        piles.setdefault((suspect_of(topology, clue.component), clue.kind), []).append(clue)
    _refine(topology, piles, slow, pairs)
    heaps = []
    for key in sorted(piles):
        best: dict[tuple[str, str, str, IssueId | None], Clue] = {}
        for clue in piles[key]:
            about = clue.layer, clue.source, clue.component, clue.issue
            if about not in best or clue.nats > best[about].nats:
                best[about] = clue
        kept = sorted(best.values(), key=lambda clue: (-clue.nats, clue.component, clue.issue or ""))
        heaps.append(Heap(_together(kept), kept))
    return sorted(heaps, key=lambda heap: (-heap.nats, _is_wide(heap), heap.clues[0].component))


def _together(clues: list[Clue]) -> float:
    """Nats of clues: one kind of evidence says at most ``MOST_NATS``, so that others still decide between equals.

    Links in a row lose the same trains: only what is counted at one of them tells it from the other.
    """
    by_source: dict[str, float] = {}
    for clue in clues:
        source = (clue.kind == "network_fault" and clue.source) or clue.layer
        by_source[source] = min(MOST_NATS, by_source.get(source, 0.0) + clue.nats)
    return sum(by_source.values())


def _is_wide(heap: Heap) -> bool:
    """Whether it is about a whole switch or host: of equal explanations the smaller one comes first."""
    return heap.clues[0].component.startswith(("switch:", "host:"))


def _refine(
    topology: Topology, piles: dict[tuple[str, IncidentKind], list[Clue]], slow: bool, pairs: Collection[Ends]
) -> None:
    """Moves what speaks for a whole (a host, a switch, a port) to the part of it that another layer speaks against."""
    for whole in [key for key in sorted(piles) if key[1] in ("network_fault", "congestion")]:
        location = [clue for clue in piles[whole] if clue.layer == "underlay"]
        parts = [
            key for key in sorted(piles) if key[1] == "network_fault" and is_part(topology, key[0], whole[0], pairs)
        ]
        known = [key for key in parts if sum(clue.nats for clue in piles[key]) >= PART_NATS]
        if whole[0].startswith("rnic:") and not slow:
            known = [key for key in known if _explains_loss(piles[key])]
        if whole[0].startswith("link:"):
            known = [key for key in known if key[0].startswith("config:") or _is_found_beyond(piles[key], slow)]
        if not known or not location:
            continue
        best = max(known, key=lambda key: sum(clue.nats for clue in piles[key]))
        here = piles[best][0].component
        piles[best] += [clue._replace(component=here, kind="network_fault", issue=None) for clue in location]
        piles[whole] = [clue for clue in piles[whole] if clue.layer != "underlay"]
        if not piles[whole]:
            del piles[whole]


def _explains_loss(clues: list[Clue]) -> bool:
    """Whether software that is found wrong loses packets: a broken chain does, and a container that is gone."""
    return any(clue.layer == "overlay" or clue.issue == "container_crash" for clue in clues)


def _is_found_beyond(clues: list[Clue], slow: bool) -> bool:
    """Whether more than a place speaks against it: of what is slow any other layer, of what loses packets the device.

    What the place of a deep queue leaves over says nothing new.
    """
    return sum(clue.nats for clue in clues if clue.layer == "host" or (slow and clue.layer != "underlay")) >= PART_NATS


def is_part(topology: Topology, part: str, whole: str, pairs: Collection[Ends]) -> bool:
    """Whether one component sits in another: software and settings in their host, settings in their switch or port.

    What is seen at an RNIC may as well sit in the software and the settings of its host: no probe tells them apart.
    An RNIC with several links counts as a part of each: if it warns of itself, its link is not to blame. A container
    is a part of a host, or an RNIC, of which only its endpoints are ill. ``pairs``: who is ill.
    """
    if part == whole:
        return False
    (kind, _, name), (outer, _, scope) = part.partition(":"), whole.partition(":")
    if kind == "container" and outer in ("host", "rnic"):
        return _holds_all_ill(topology, name, whole, pairs)
    if outer == "host":
        return kind in ("vswitch", "tunnel", "config") and name == scope
    if outer == "rnic" and kind in ("vswitch", "tunnel", "config") and name == scope.rpartition("/")[0]:
        return True
    if outer == "link" and kind == "rnic":
        return any(cable.link == scope for cable in topology.neighbours.get(name, ()))
    if kind != "config":
        return False
    cables = [topology.cables[scope]] if scope in topology.cables else topology.neighbours.get(scope, [])
    ports = {port for cable in cables for port in (cable.port_a, cable.port_b)} if outer != "switch" else {scope}
    return name in ports or (outer == "switch" and name.startswith(f"{scope}/"))


def _holds_all_ill(topology: Topology, container: str, whole: str, pairs: Collection[Ends]) -> bool:
    """Whether every ill pair that ends at a host or RNIC ends in one container there.

    Of an endpoint that has left, the name still says of which container it was.
    """
    found = False
    for ends in pairs:
        listed = [topology.endpoints.get(end) for end in ends]
        there = {
            each.container for each in listed if each and whole in (f"host:{each.host}", f"rnic:{rnic_node(each)}")
        }
        gone = {end.rpartition("/")[0] for end, each in zip(ends, listed, strict=True) if each is None}
        if there and container not in there:
            return False
        found |= container in there | gone
    return found


def suspect_of(topology: Topology, component: str) -> str:
    """What no train can tell apart: a port is its link, and the only access link of an RNIC is the RNIC."""
    kind, _, name = component.partition(":")
    cable = topology.by_port.get(name) if kind == "port" else topology.cables.get(name) if kind == "link" else None
    if cable is None:
        return component
    if not is_only_access(topology, cable):
        return f"link:{cable.link}"
    return next(f"rnic:{node}" for node in (cable.node_a, cable.node_b) if topology.is_rnic(node))


def name_of(heap: Heap) -> tuple[str, IssueId | None]:
    """Component and issue of a heap: the heaviest clue that knows the issue, else the heaviest.

    Errors that a port counts are its cable's, whichever end of it is blamed otherwise. Of a cable whose losses have the
    same issue as a port's own warning, the port is named. A host's own words go before what its place suggests.
    """
    informed = [clue for clue in heap.clues if clue.issue is not None]
    informed.sort(key=lambda clue: (clue.source != "counters", clue.layer == "underlay" and clue.issue == PLACED))
    best = informed[0] if informed else heap.clues[0]
    ports = [clue for clue in informed if clue.issue == best.issue and clue.component.startswith("port:")]
    if ports and best.component.startswith("link:") and best.source != "counters":
        best = ports[0]
    return best.component, best.issue
