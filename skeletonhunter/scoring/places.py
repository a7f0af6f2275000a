"""Which component ids mean the same place, which one holds which, and whose endpoints sit there.

Reading rules (design, section 4; the cases' own counting): a link and a port on it are one place; an access link and
its RNIC are one place; the two end ports of a link are one place only for a corrupting fibre (``fibre``), where the
data can't tell which end; everything else must be named exactly. A port of an RNIC (``port:<host>/<rnic>/1``) is
the RNIC.
Without a fabric map only equal ids are the same place.
"""

from __future__ import annotations

from collections.abc import Iterable

from schemas.diagnosis import ISSUE_CLASSES, ComponentClass
from schemas.truth import Fault
from skeletonhunter.scoring.facts import RecordingFacts

_CLASSES: dict[str, ComponentClass] = {
    "switch": "switch",
    "port": "switch",
    "link": "switch",
    "rnic": "rnic",
    "host": "host_board",
    "vswitch": "virtual_switch",
    "tunnel": "virtual_switch",
    "vif": "virtual_switch",
    "container": "container_runtime",
    "config": "configuration",
}
_ON_HOST = ("vswitch", "tunnel", "config", "clock")


class Places:
    """The components of one recording. All questions are answered from the fabric map and the endpoint maps."""

    def __init__(self, facts: RecordingFacts) -> None:
        self.rnics = facts.rnics
        self.ends = {link.id: (link.a, link.b) for link in facts.links}
        self.link_at = {port: link.id for link in facts.links for port in (link.a, link.b)}
        self.links_of: dict[str, set[str]] = {}
        for link in facts.links:
            for port in (link.a, link.b):
                self.links_of.setdefault(_node(port), set()).add(link.id)
        self.seats = {seat.endpoint: seat for seat in facts.seats}
        self.on: dict[str, set[str]] = {}
        for seat in facts.seats:
            for holder in (f"rnic:{seat.host}/{seat.rnic}", f"host:{seat.host}", f"container:{seat.container}"):
                self.on.setdefault(holder, set()).add(seat.endpoint)

    def plain(self, component: str) -> str:
        """The component, an RNIC's port written as the RNIC."""
        kind, _, name = component.partition(":")
        return f"rnic:{_node(name)}" if kind == "port" and _node(name) in self.rnics else component

    def cables(self, component: str) -> frozenset[str]:
        """Ids of the links that a ``link:``, ``port:`` or (access links) ``rnic:`` is or sits on; else none."""
        kind, _, name = self.plain(component).partition(":")
        if kind == "link" and name in self.ends:
            return frozenset({name})
        if kind == "port" and name in self.link_at:
            return frozenset({self.link_at[name]})
        return frozenset(self.links_of.get(name, ())) if kind == "rnic" else frozenset()

    def same(self, said: str, true: str, fibre: bool) -> bool:
        """Whether both ids mean one place. ``fibre``: the fault is a cable that corrupts, seen from either end."""
        said, true = self.plain(said), self.plain(true)
        if said == true:
            return True
        if not self.cables(said) & self.cables(true):
            return False
        kinds = {said.partition(":")[0], true.partition(":")[0]}
        return kinds in ({"link", "port"}, {"link", "rnic"}) or (fibre and kinds in ({"port"}, {"port", "rnic"}))

    def holders(self, component: str) -> frozenset[str]:
        """The larger components that take this one out when they are isolated."""
        kind, _, name = self.plain(component).partition(":")
        if kind == "link":
            return self._around(_node(port) for port in self.ends.get(name, ()))
        if kind in ("port", "config") and _node(name):
            return frozenset({f"switch:{_node(name)}"})
        if kind == "rnic":
            return frozenset({f"host:{_node(name)}"})
        if kind in _ON_HOST:
            return frozenset({f"host:{name}"})
        return self._around_endpoints(kind, name)

    def _around(self, nodes: Iterable[str]) -> frozenset[str]:
        around = set()
        for node in nodes:
            around |= {f"rnic:{node}", f"host:{_node(node)}"} if node in self.rnics else {f"switch:{node}"}
        return frozenset(around)

    def _around_endpoints(self, kind: str, name: str) -> frozenset[str]:
        if kind == "vif" and name in self.seats:
            seat = self.seats[name]
            return frozenset({f"container:{seat.container}", f"rnic:{seat.host}/{seat.rnic}", f"host:{seat.host}"})
        if kind == "container":
            return frozenset(f"host:{self.seats[e].host}" for e in self.on.get(f"container:{name}", ()))
        return frozenset()

    def related(self, said: str, true: str) -> bool:
        """Whether both are one place or one holds the other."""
        return self.same(said, true, fibre=True) or said in self.holders(true) or true in self.holders(said)

    def endpoints_at(self, component: str | None) -> frozenset[str]:
        """Endpoints that can't do without the component; none for links and switches inside the fabric."""
        if component is None:
            return frozenset()
        kind, _, name = self.plain(component).partition(":")
        if kind == "vif":
            return frozenset({name})
        if kind in ("rnic", "host", "container"):
            return frozenset(self.on.get(f"{kind}:{name}", ()))
        if kind in _ON_HOST and f"host:{name}" in self.on:
            return frozenset(self.on[f"host:{name}"])
        links = self.links_of.get(name, ()) if kind in ("switch", "config") else self.cables(component)
        if kind == "config" and name in self.link_at:
            links = {self.link_at[name]}
        return self._beyond(links)

    def _beyond(self, links: Iterable[str]) -> frozenset[str]:
        nodes = {_node(port) for link in links for port in self.ends[link]}
        return frozenset(endpoint for node in nodes for endpoint in self.on.get(f"rnic:{node}", ()))

    def classes_of(self, fault: Fault) -> frozenset[ComponentClass]:
        """The classes that are right for a fault: its issue's; without an issue, its component's, for an access link
        either end's."""
        if fault.issue is not None:
            return frozenset({ISSUE_CLASSES[fault.issue]})
        component = self.plain(fault.component)
        classes = {_CLASSES[kind] for kind in (component.partition(":")[0],) if kind in _CLASSES}
        if any(_node(port) in self.rnics for link in self.cables(component) for port in self.ends[link]):
            classes |= {"rnic", "switch"}
        return frozenset(classes)


def _node(port: str) -> str:
    """``<node>`` of ``<node>/<port>``; empty when there is no slash."""
    return port.rpartition("/")[0]
