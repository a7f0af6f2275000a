"""Which way does a packet take? A Clos fabric of RNICs, leaves, spines and cores, and the path of each flow.

Paths are computed as switches compute them: at each node, of the next hops on a shortest way to the destination, in the
order of ``nodes``, the one with number CRC-32 of ``<src ip>|<dst ip>|17|<sport>|4791|<salt>`` modulo their count.
An RNIC's node id is ``<host>/<rnic>``; ports are ``<node>/<number>``. Link ids are in the order of ``links``.

Edge cases: an RNIC may have two uplinks (dual ToR); both are equal-cost next hops at the RNIC itself.
Cost: a breadth-first search per destination leaf, once; then O(hops) per flow.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from zlib import crc32

from schemas.maps import Link, Node

ROCE_PORT = 4791


@dataclass(frozen=True)
class RailSpec:
    """A rail-optimised fabric: ``hosts`` x ``rails`` RNICs; a leaf per segment of ``hosts_per_leaf`` hosts and rail."""

    fabric: str
    hosts: tuple[str, ...]
    rails: int = 8
    hosts_per_leaf: int = 8
    spines: int = 4
    salt: str = "0"

    def leaf_of(self, host_index: int, rail: int) -> str:
        """The leaf that the RNIC of that rail is cabled to."""
        return f"leaf-{host_index // self.hosts_per_leaf}-{rail}"


@dataclass(frozen=True)
class Fabric:
    """Nodes and links, and the way through them. ``ends[link]`` = its two node ids."""

    name: str
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    salt: str
    neighbours: dict[str, tuple[tuple[str, str], ...]] = field(repr=False)
    _distances: dict[str, dict[str, int]] = field(default_factory=dict, repr=False)

    def path(self, src: tuple[str, str], dst: tuple[str, str], sport: int) -> tuple[str, ...]:
        """Link ids from RNIC ``src`` to RNIC ``dst``, each given as (node id, ip).

        Raises:
            ValueError: there is no way.
        """
        flow = f"{src[1]}|{dst[1]}|17|{sport}|{ROCE_PORT}|{self.salt}".encode()
        choice = crc32(flow)
        distance = self._distance_to(dst[0])
        here, links = src[0], []
        while here != dst[0]:
            options = [
                hop for hop in self.neighbours[here] if distance.get(hop[0], 1 << 30) == distance.get(here, 0) - 1
            ]
            if not options:
                raise ValueError(f"there is no way from {src[0]} to {dst[0]}")
            here, link = options[choice % len(options)]
            links.append(link)
        return tuple(links)

    def _distance_to(self, target: str) -> dict[str, int]:
        if target not in self._distances:
            found = {target: 0}
            queue = deque([target])
            while queue:
                node = queue.popleft()
                for neighbour, _ in self.neighbours[node]:
                    if neighbour not in found:
                        found[neighbour] = found[node] + 1
                        queue.append(neighbour)
            self._distances[target] = found
        return self._distances[target]


def port_node(port: str) -> str:
    """The node of a port ``<node>/<port>`` (split at the last slash)."""
    return port.rpartition("/")[0]


def rnic_node(host: str, rnic: str) -> str:
    """Node id of an RNIC."""
    return f"{host}/{rnic}"


def rail_fabric(spec: RailSpec) -> Fabric:
    """Leaves per segment and rail, each cabled to its hosts and to all spines."""
    segments = -(-len(spec.hosts) // spec.hosts_per_leaf)
    spines = [f"spine-{number}" for number in range(spec.spines)]
    leaves = [f"leaf-{segment}-{rail}" for segment in range(segments) for rail in range(spec.rails)]
    rnics = [rnic_node(host, rnic_name(rail)) for host in spec.hosts for rail in range(spec.rails)]
    cables = []
    for index, host in enumerate(spec.hosts):
        for rail in range(spec.rails):
            leaf = spec.leaf_of(index, rail)
            cables.append((f"{rnic_node(host, rnic_name(rail))}/1", f"{leaf}/{index % spec.hosts_per_leaf + 1}"))
    for number, leaf in enumerate(leaves):
        for spine in range(spec.spines):
            cables.append((f"{leaf}/{spec.hosts_per_leaf + spine + 1}", f"{spines[spine]}/{number + 1}"))
    kinds = [("spine", spines), ("leaf", leaves), ("rnic", rnics)]
    nodes = tuple(Node(id=name, kind=kind) for kind, names in kinds for name in names)  # type: ignore[arg-type]
    return build_fabric(spec.fabric, nodes, cables, spec.salt)


def rnic_name(rail: int) -> str:
    """The kernel's name of the RNIC of a rail."""
    return f"mlx5_{rail}"


def build_fabric(name: str, nodes: tuple[Node, ...], cables: list[tuple[str, str]], salt: str) -> Fabric:
    """A fabric of ``cables`` (pairs of ports); next hops are in the order of ``nodes``."""
    width = len(str(len(cables)))
    links = tuple(Link(id=f"l{number:0{width}d}", a=a, b=b) for number, (a, b) in enumerate(cables))
    order = {node.id: place for place, node in enumerate(nodes)}
    around: dict[str, list[tuple[str, str]]] = {node.id: [] for node in nodes}
    for link in links:
        a, b = port_node(link.a), port_node(link.b)
        around[a].append((b, link.id))
        around[b].append((a, link.id))
    neighbours = {node: tuple(sorted(hops, key=lambda hop: (order[hop[0]], hop[1]))) for node, hops in around.items()}
    return Fabric(name, nodes, links, salt, neighbours)
