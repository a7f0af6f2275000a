"""Where is everything? Nodes, links and endpoints of one fabric, by name.
 Node of a port: all before its last slash. An RNIC is the node ``<host>/<rnic>``. A fabric without a map is empty;
then only what the endpoint maps say is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

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


class _Maps(NamedTuple):
    """What of a topology is written down; the rest follows from it."""

    fabric_map: FabricMap | None
    jobs: dict[str, FabricEndpoints]
    endpoints: dict[str, Endpoint]
    job_of: dict[str, str]
    on_host: dict[str, list[str]]
    shared: list[str]
    left: dict[str, int]
    joined: dict[str, int]


_MAPS = msgspec.msgpack.Decoder(_Maps)


@dataclass(slots=True)
class Topology:
    """Maps of one fabric. ``jobs``: newest endpoint map per job; ``neighbours``: cables by node, in map order;
    ``trunks``: switches next to each node.

    ``left``, ``joined``: instants of the maps with which an endpoint went, or came. ``on_host``: endpoints by host;
    ``shared``: those that several jobs have listed.
    """

    fabric_map: FabricMap | None = None
    jobs: dict[str, FabricEndpoints] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    cables: dict[str, Cable] = field(default_factory=dict)
    by_port: dict[str, Cable] = field(default_factory=dict)
    neighbours: dict[str, list[Cable]] = field(default_factory=dict)
    trunks: dict[str, list[str]] = field(default_factory=dict)
    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    job_of: dict[str, str] = field(default_factory=dict)
    rnics_of: dict[str, set[str]] = field(default_factory=dict)
    on_host: dict[str, dict[str, None]] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    left: dict[str, int] = field(default_factory=dict)
    joined: dict[str, int] = field(default_factory=dict)

    def __getstate__(self) -> bytes:
        houses = {host: list(names) for host, names in self.on_host.items()}
        places = self.endpoints, self.job_of, houses, sorted(self.shared), self.left, self.joined
        return msgspec.msgpack.encode(_Maps(self.fabric_map, self.jobs, *places))

    def __setstate__(self, state: bytes) -> None:
        maps = _MAPS.decode(state)
        self.fabric_map, self.jobs, self.endpoints, self.job_of = maps[:4]
        self.on_host = {host: dict.fromkeys(names) for host, names in maps.on_host.items()}
        self.rnics_of = {host: {rnic_node(self.endpoints[e]) for e in names} for host, names in self.on_host.items()}
        self.shared, self.left, self.joined = set(maps.shared), maps.left, maps.joined
        self.kinds, self.cables, self.by_port, self.neighbours, self.trunks = {}, {}, {}, {}, {}
        if self.fabric_map is not None:
            self._wire(self.fabric_map)

    def take_fabric(self, value: FabricMap) -> bool:
        """Follows a fabric map; whether it is newer than what was known."""
        if self.fabric_map is not None and value.version <= self.fabric_map.version:
            return False
        self.fabric_map = value
        self._wire(value)
        return True

    def _wire(self, value: FabricMap) -> None:
        """Works out what follows from a fabric map."""
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
        switches = {node for node in self.neighbours if not self.is_rnic(node)}
        self.trunks = {
            node: [
                other
                for cable in cables
                for other in (cable.node_a, cable.node_b)
                if other != node and other in switches
            ]
            for node, cables in self.neighbours.items()
        }

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
        names = dict.fromkeys(each.endpoint for maps in (known, value) if maps is not None for each in maps.endpoints)
        before = {name: self.endpoints[name] for name in names if name in self.endpoints}
        now = self._listed(value, names)
        hosts = {each.host for listed in (before, now) for each in listed.values()}
        crowded = {host for host in hosts if len(self.rnics_of.get(host, ())) > 1}
        self._put(before, now, value.t_us)
        moved = {name for name in names if before.get(name) != now.get(name)}
        changed = {host for host in hosts if (host in crowded) != (len(self.rnics_of.get(host, ())) > 1)}
        return moved | {name for host in changed for name in self.on_host.get(host, ())}

    def _listed(self, value: FabricEndpoints, names: Iterable[str]) -> dict[str, Endpoint]:
        """Where endpoints are after a map, as far as they are anywhere; who is of which job by it.

        An endpoint that several jobs list is where the last of them by name says.
        """
        own = {each.endpoint: each for each in value.endpoints if each.state != "gone" and value.state != "ended"}
        shared = {name for name in names if self.job_of.get(name, value.job) != value.job}
        found: dict[str, Endpoint] = {}
        for name in names:
            if name not in shared and name in own:
                found[name], self.job_of[name] = own[name], value.job
        for job in sorted(self.jobs) if shared or self.shared & set(names) else ():
            for each in self.jobs[job].endpoints:
                if each.endpoint in names and each.state != "gone":
                    found[each.endpoint], self.job_of[each.endpoint] = each, job
        self.shared |= shared
        for name in names:
            if name not in found:
                self.job_of.pop(name, None)
        return found

    def _put(self, before: dict[str, Endpoint], now: dict[str, Endpoint], t_us: int) -> None:
        """Puts endpoints where they are now, and remembers who left and when, the last ``MOST_LEFT`` of them."""
        for name, listed in before.items():
            self.on_host[listed.host].pop(name, None)
            if name not in now:
                del self.endpoints[name]
                self.joined.pop(name, None)
                self.left[name] = t_us
        for name, listed in now.items():
            self.endpoints[name] = listed
            self.on_host.setdefault(listed.host, {})[name] = None
            self.joined.setdefault(name, t_us)
            self.left.pop(name, None)
        for host in {listed.host for each in (before, now) for listed in each.values()}:
            rnics = {rnic_node(self.endpoints[name]) for name in self.on_host[host]}
            if rnics:
                self.rnics_of[host] = rnics
            else:
                del self.rnics_of[host], self.on_host[host]
        for name in list(self.left)[: max(0, len(self.left) - MOST_LEFT)]:
            del self.left[name]

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
