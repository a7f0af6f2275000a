"""Which way does a flow go when nobody traced it? Hash ECMP over shortest paths, as the fabric map describes it.
 At each node the equal-cost next hops towards the destination stand in the order of the map's ``nodes``; the choice
is crc32(``<src ip>|<dst ip>|17|<sport>|4791|<salt>``) modulo their number (reading rules of the design, "Probes").
A salt that is a table holds one per node. Cost: one breadth-first search per destination, O(links); kept by the
caller.
"""

from __future__ import annotations

from binascii import crc32
from collections import deque

from localization.topology import Cable, Topology
from schemas.maps import Ecmp

LONGEST = 16
ROCE_PORT = 4791


def distances(topology: Topology, target: str, ends: bool = True) -> dict[str, int]:
    """Number of links from every node to ``target``; RNICs forward nothing, so no path leads through one.

    ``ends``: whether also from other RNICs, not from switches only.
    """
    found = {target: 0}
    queue = deque([target])
    while queue:
        node = queue.popleft()
        for other in topology.trunks.get(node, ()):
            if other not in found:
                found[other] = found[node] + 1
                queue.append(other)
    if ends:
        for node, hops in list(found.items()):
            for cable in topology.neighbours.get(node, ()):
                found.setdefault(cable.far_end(node) or node, hops + 1)
    return found


def hashed_path(topology: Topology, src: str, dst: str, sport: int, hops: dict[str, int]) -> tuple[str, ...] | None:
    """Link ids of the flow from endpoint ``src`` to ``dst``; None when map, addresses or hash are not known."""
    ecmp = topology.fabric_map.ecmp if topology.fabric_map else None
    node, target = topology.node_of(src), topology.node_of(dst)
    if ecmp is None or ecmp.method != "hash" or node is None or target is None:
        return None
    addresses = topology.endpoints[src].ip, topology.endpoints[dst].ip
    if addresses[0] is None or addresses[1] is None:
        return None
    path: list[str] = []
    while node != target and len(path) < LONGEST:
        choices = _next_hops(topology, node, hops)
        if not choices:
            return None
        text = f"{addresses[0]}|{addresses[1]}|17|{sport}|{ROCE_PORT}|{_salt(ecmp, node)}"
        cable = choices[crc32(text.encode()) % len(choices)]
        path.append(cable.link)
        node = cable.far_end(node) or target
    return tuple(path)


def _next_hops(topology: Topology, node: str, hops: dict[str, int]) -> list[Cable]:
    here = hops.get(node)
    if here is None:
        return []
    ahead = [(cable, cable.far_end(node)) for cable in topology.neighbours[node]]
    return [cable for cable, other in ahead if other is not None and hops.get(other) == here - 1]


def _salt(ecmp: Ecmp, node: str) -> str | int:
    if isinstance(ecmp.salt, dict):
        return ecmp.salt.get(node, "")
    return "" if ecmp.salt is None else ecmp.salt
