"""Where is everything? Nodes, links and endpoints of one fabric, by name.
 Node of a port: all before its last slash. An RNIC is the node ``<host>/<rnic>``. A fabric without a map is empty;
then only what the endpoint maps say is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from schemas.maps import Endpoint, FabricEndpoints, FabricMap

MOST_LEFT = 20_000


class Cable(NamedTuple):
    """A link with its two ports and their nodes."""

    link: str
    port_a: str
    port_b: str
    node_a: str
    node_b: str

    def far_end(self, node: str) -> str | None:
        """The node at the other end; None: the link does not touch ``node``."""
        if node == self.node_a:
            return self.node_b
        return self.node_a if node == self.node_b else None

    def port_of(self, node: str) -> str:
        """The port by which ``node`` holds this link."""
        return self.port_a if node == self.node_a else self.port_b


def port_node(port: str) -> str:
    """The node of a port ``<node>/<port>``."""
    return port.rpartition("/")[0]


def rnic_node(endpoint: Endpoint) -> str:
    """The fabric node of an endpoint's RNIC."""
    return f"{endpoint.host}/{endpoint.rnic}"


@dataclass(slots=True)
class Topology:
    """Maps of one fabric. ``jobs``: newest endpoint map per job; ``neighbours``: cables by node, in map order.

    ``left``, ``joined``: instants of the maps with which an endpoint went, or came.
    """

    fabric_map: FabricMap | None = None
    jobs: dict[str, FabricEndpoints] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    cables: dict[str, Cable] = field(default_factory=dict)
    by_port: dict[str, Cable] = field(default_factory=dict)
    neighbours: dict[str, list[Cable]] = field(default_factory=dict)
    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    job_of: dict[str, str] = field(default_factory=dict)
    rnics_of: dict[str, set[str]] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    joined: dict[str, int] = field(default_factory=dict)

    def take_fabric(self, value: FabricMap) -> bool:
        """Follows a fabric map; whether it is newer than what was known."""
        if self.fabric_map is not None and value.version <= self.fabric_map.version:
            return False
        self.fabric_map = value
        self.kinds = {node.id: node.kind for node in value.nodes}
        self.cables = {
            link.id: Cable(link.id, link.a, link.b, port_node(link.a), port_node(link.b)) for link in value.links
        }
        self.by_port = {port: cable for cable in self.cables.values() for port in (cable.port_a, cable.port_b)}
        order = {node.id: number for number, node in enumerate(value.nodes)}
        self.neighbours = {node.id: [] for node in value.nodes}
        for cable in self.cables.values():
            self.neighbours[cable.node_a].append(cable)
            self.neighbours[cable.node_b].append(cable)
        for node, cables in self.neighbours.items():
            cables.sort(key=lambda cable: (order[cable.far_end(node) or node], cable.link))
        return True

    def take_endpoints(self, value: FabricEndpoints) -> set[str]:
        """Follows a job's endpoint map if it is newer; returns the endpoints that are not where they were before.

        Among them those of a host that has several RNICs now, or one only.
        """
        known = self.jobs.get(value.job)
        if known is not None and value.version <= known.version:
            return set()
        self.jobs[value.job] = value
        if value.state == "ended":
            del self.jobs[value.job]
        before, crowded = self.endpoints, {host for host, rnics in self.rnics_of.items() if len(rnics) > 1}
        self.endpoints, self.job_of, self.rnics_of = {}, {}, {}
        for job in sorted(self.jobs):
            for endpoint in self.jobs[job].endpoints:
                if endpoint.state != "gone":
                    self.endpoints[endpoint.endpoint] = endpoint
                    self.job_of[endpoint.endpoint] = job
                    self.rnics_of.setdefault(endpoint.host, set()).add(rnic_node(endpoint))
        self._note_left(before, value.t_us)
        self.joined = {name: self.joined.get(name, value.t_us) for name in self.endpoints}
        names = {endpoint.endpoint for each in (known, value) if each is not None for endpoint in each.endpoints}
        moved = {name for name in names if before.get(name) != self.endpoints.get(name)}
        hosts = {listed[name].host for listed in (before, self.endpoints) for name in moved if name in listed}
        changed = {host for host in hosts if (host in crowded) != (len(self.rnics_of.get(host, ())) > 1)}
        return moved | {name for name, listed in self.endpoints.items() if changed and listed.host in changed}

    def _note_left(self, before: dict[str, Endpoint], t_us: int) -> None:
        """Remembers who left and when, the last ``MOST_LEFT`` of them."""
        for name in before:
            if name not in self.endpoints:
                self.left[name] = t_us
        back = [name for name in self.endpoints if name in self.left]
        for name in [*back, *list(self.left)[: max(0, len(self.left) - MOST_LEFT)]]:
            self.left.pop(name, None)

    def has_left(self, endpoint: str) -> bool:
        """Whether the endpoint was in a map and is in none any more."""
        return endpoint in self.left

    def node_of(self, endpoint: str) -> str | None:
        """The RNIC node of an endpoint, if its map is known."""
        found = self.endpoints.get(endpoint)
        return rnic_node(found) if found else None

    def host_of(self, endpoint: str) -> str | None:
        """The host of an endpoint, if its map is known."""
        found = self.endpoints.get(endpoint)
        return found.host if found else None

    def is_rnic(self, node: str) -> bool:
        """Whether a node is an RNIC, not a switch."""
        return self.kinds.get(node) == "rnic"

    def has_several_uplinks(self, node: str) -> bool:
        """Whether a node is an RNIC with more than one access link (dual ToR)."""
        return self.is_rnic(node) and len(self.neighbours.get(node, ())) > 1

    def uplink(self, endpoint: str) -> Cable | None:
        """The access link of an endpoint: by its switch port, else the only cable of its RNIC.

        None where the RNIC has several: which of them a packet takes depends on its flow.
        """
        found = self.endpoints.get(endpoint)
        if found is None or self.has_several_uplinks(rnic_node(found)):
            return None
        if found.switch_port in self.by_port:
            return self.by_port[found.switch_port]
        cables = self.neighbours.get(rnic_node(found), [])
        return cables[0] if cables else None
