"""Which way does a packet take? A Clos fabric of RNICs, leaves, spines and cores, and the path of each flow.

Paths are computed as switches compute them: at each node, of the next hops on a shortest way to the destination, in the
order of ``nodes``, the one with number CRC-32 of ``<src ip>|<dst ip>|17|<sport>|4791|<salt>`` modulo their count.
An RNIC's node id is ``<host>/<rnic>``; ports are ``<node>/<number>``. A *hop* is a link in one direction:
2 x its number from ``a`` to ``b``, one more from ``b`` to ``a``; it is also the egress port of the node that it leaves.

Edge cases: an RNIC may have two uplinks (dual ToR), chosen like any other next hops. With ``dead`` nodes routes avoid
them; where no way is left the old one is kept (packets go there and are lost).
Cost: one breadth-first search over the switches per set of destination leaves; then O(hops) per flow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from zlib import crc32

from schemas.maps import Link, Node

ROCE_PORT = 4791
Hops = tuple[int, ...]
Step = tuple[str, int]
"""(next node, hop)"""
NO_NODES: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Fabric:
    """Nodes and links, and the way through them. ``around[node]`` = (next node, hop), in the order of ``nodes``."""

    name: str
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    salt: str
    around: dict[str, tuple[Step, ...]] = field(repr=False)
    kinds: dict[str, str] = field(repr=False)
    _distances: dict[tuple[frozenset[str], frozenset[str]], dict[str, int]] = field(default_factory=dict, repr=False)
    _options: dict[tuple[str, frozenset[str], frozenset[str]], tuple[Step, ...]] = field(
        default_factory=dict, repr=False
    )

    def path(self, src: tuple[str, str], dst: tuple[str, str], sport: int) -> tuple[str, ...]:
        """Link ids from RNIC ``src`` to RNIC ``dst``, each given as (node id, ip).

        Raises:
            ValueError: there is no way.
        """
        return tuple(self.links[hop // 2].id for hop in self.route(src, dst, sport))

    def route(self, src: tuple[str, str], dst: tuple[str, str], sport: int, dead: frozenset[str] = NO_NODES) -> Hops:
        """The hops from ``src`` to ``dst``.

        Raises:
            ValueError: there is no way even with all nodes alive.
        """
        choice = crc32(f"{src[1]}|{dst[1]}|17|{sport}|{ROCE_PORT}|{self.salt}".encode())
        hops = self._walk(src[0], dst[0], choice, dead)
        if hops is None and dead:
            hops = self._walk(src[0], dst[0], choice, NO_NODES)
        if hops is None:
            raise ValueError(f"there is no way from {src[0]} to {dst[0]}")
        return hops

    def _walk(self, here: str, target: str, choice: int, dead: frozenset[str]) -> Hops | None:
        leaves = frozenset(node for node, _ in self.around[target]) - dead
        hops: list[int] = []
        while here != target:
            key = (here, leaves, dead)
            known = self._options.get(key)
            if known is None:
                known = self._options[key] = self._next(here, leaves, dead)
            options = known or [step for step in self.around[here] if step[0] == target and here in leaves]
            if not options:
                return None
            here, hop = options[choice % len(options)]
            hops.append(hop)
        return tuple(hops)

    def _next(self, here: str, leaves: frozenset[str], dead: frozenset[str]) -> tuple[Step, ...]:
        """Steps on a shortest way to the destination's leaves; none at a leaf, or where there is no way."""
        distance = self._distance_to(leaves, dead)
        if distance.get(here) == 0:
            return ()
        options = [step for step in self.around[here] if step[0] in distance]
        nearest = min((distance[node] for node, _ in options), default=0)
        return tuple(step for step in options if distance[step[0]] == nearest)

    def _distance_to(self, leaves: frozenset[str], dead: frozenset[str]) -> dict[str, int]:
        key = (leaves, dead)
        if key not in self._distances:
            found = dict.fromkeys(sorted(leaves), 0)
            frontier = sorted(leaves)
            while frontier:
                reached = []
                for node in frontier:
                    for neighbour, _ in self.around[node]:
                        if neighbour not in found and neighbour not in dead and self.kinds[neighbour] != "rnic":
                            found[neighbour] = found[node] + 1
                            reached.append(neighbour)
                frontier = reached
            self._distances[key] = found
        return self._distances[key]

    def port_of(self, hop: int) -> str:
        """The port ``<node>/<port>`` that a hop leaves."""
        link = self.links[hop // 2]
        return link.b if hop % 2 else link.a

    def far_port_of(self, hop: int) -> str:
        """The port that receives what a hop carries."""
        return self.port_of(hop ^ 1)

    def hop_of(self, port: str) -> int:
        """The hop that leaves a port.

        Raises:
            KeyError: there is no such port.
        """
        for hop in (hop for _, hop in self.around[port_node(port)]):
            if self.port_of(hop) == port:
                return hop
        raise KeyError(port)

    def switches(self) -> list[str]:
        """All nodes that are no RNICs, in the order of ``nodes``."""
        return [node.id for node in self.nodes if node.kind != "rnic"]


def port_node(port: str) -> str:
    """The node of a port ``<node>/<port>`` (split at the last slash)."""
    return port.rpartition("/")[0]


def rnic_node(host: str, rnic: str) -> str:
    """Node id of an RNIC."""
    return f"{host}/{rnic}"


def rnic_name(rail: int) -> str:
    """The kernel's name of the RNIC of a rail."""
    return f"mlx5_{rail}"


def build_fabric(name: str, nodes: tuple[Node, ...], cables: list[tuple[str, str]], salt: str) -> Fabric:
    """A fabric of ``cables`` (pairs of ports); next hops are in the order of ``nodes``."""
    width = len(str(len(cables)))
    links = tuple(Link(id=f"l{number:0{width}d}", a=a, b=b) for number, (a, b) in enumerate(cables))
    order = {node.id: place for place, node in enumerate(nodes)}
    around: dict[str, list[Step]] = {node.id: [] for node in nodes}
    for number, link in enumerate(links):
        a, b = port_node(link.a), port_node(link.b)
        around[a].append((b, 2 * number))
        around[b].append((a, 2 * number + 1))
    ordered = {node: tuple(sorted(hops, key=lambda hop: (order[hop[0]], hop[1]))) for node, hops in around.items()}
    return Fabric(name, nodes, links, salt, ordered, {node.id: node.kind for node in nodes})
