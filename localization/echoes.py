"""Which way do the replies come back? The chance that a reply crosses a link or switch, over all shortest paths.
 A probe is lost also when its reply is, and nobody traces replies. From the leaf of the probed endpoint to the leaf
of the prober each next hop is taken with equal chance (hash ECMP over unknown ports), so a fault explains a share
of the losses of flows whose replies may cross it; without that, a dead spine link would look like many bad RNICs.
On a fabric whose map says ``symmetric`` replies take the probe's own path back. Cost: O(links of the shortest
paths) per pair of leaves, once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from localization.routes import Route
from localization.routing import distances
from localization.suspects import Suspect
from localization.topology import Topology

Chances = dict[Suspect, float]
PRIOR_PACKETS = 5.0


@dataclass(slots=True)
class Echoes:
    """Chances by (leaf of the probed end, leaf of the prober); they begin anew with every map.

    ``share``: how much of the loss that replies should suffer is seen (0: this fabric's probes count one way only).
    """

    share: float = 1.0
    between: dict[tuple[str, str], Chances] = field(default_factory=dict)
    reach: dict[str, dict[str, int]] = field(default_factory=dict)

    def chance(self, topology: Topology, route: Route, suspect: Suspect) -> float:
        """The chance that replies to a route's probes cross a suspect."""
        src, dst, path, _ = route
        if _is_symmetric(topology) and path is not None:
            return float(suspect in _backwards(topology, src, path))
        near, far = topology.uplink(src), topology.uplink(dst)
        src_node, dst_node = topology.node_of(src), topology.node_of(dst)
        if near is None or far is None or src_node is None or dst_node is None:
            return 0.0
        if suspect in (Suspect("direction", far.link, dst_node), _arrival(near.link, near.far_end(src_node))):
            return 1.0
        leaves = far.far_end(dst_node) or "", near.far_end(src_node) or ""
        if leaves not in self.between:
            self.between[leaves] = self._spread(topology, *leaves)
        return self.between[leaves].get(suspect, 0.0)

    def weigh(self, excess: float, expected: float) -> None:
        """Learns ``share`` from routes that only replies lead over faults: excess losses, and those to expect."""
        seen = (PRIOR_PACKETS * self.share + excess) / (PRIOR_PACKETS + expected)
        self.share = min(max(seen, 0.0), 1.0)

    def _spread(self, topology: Topology, start: str, target: str) -> Chances:
        if target not in self.reach:
            self.reach[target] = distances(topology, target)
        hops, chances = self.reach[target], Chances()
        here = {start: 1.0}
        while here and target not in here:
            ahead: dict[str, float] = {}
            for node, share in here.items():
                _split(topology, node, share, (hops, chances, ahead))
            here = ahead
        for node, share in here.items():
            chances[Suspect("switch", node)] = share
        return chances


def _split(topology: Topology, node: str, share: float, into: tuple[dict[str, int], Chances, dict[str, float]]) -> None:
    """Divides a share of the replies at a node among its next hops."""
    hops, chances, ahead = into
    chances[Suspect("switch", node)] = chances.get(Suspect("switch", node), 0.0) + share
    cables = [(cable, cable.far_end(node)) for cable in topology.neighbours.get(node, ())]
    onward = [(cable, other) for cable, other in cables if other and hops.get(other, -1) == hops.get(node, 0) - 1]
    for cable, other in onward:
        part = share / len(onward)
        for suspect in (Suspect("direction", cable.link, node), Suspect("link", cable.link)):
            chances[suspect] = chances.get(suspect, 0.0) + part
        ahead[other] = ahead.get(other, 0.0) + part


def _arrival(link: str, switch: str | None) -> Suspect:
    return Suspect("direction", link, switch or "")


def _is_symmetric(topology: Topology) -> bool:
    return topology.fabric_map is not None and bool(topology.fabric_map.ecmp.symmetric)


def _backwards(topology: Topology, src: str, path: tuple[str, ...]) -> set[Suspect]:
    """What the reply crosses when it takes the same links back."""
    found: set[Suspect] = set()
    node = topology.node_of(src)
    for link in path:
        cable = topology.cables.get(link)
        after = cable.far_end(node) if cable and node else None
        if after is None:
            break
        found.add(Suspect("direction", link, after))
        node = after
    return found
