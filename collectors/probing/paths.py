"""Which links did a traced packet take? The hops' addresses, mapped to links by the fabric map; pure.

A hop answers with an address of the port that the packet came in at. The map's ``addresses`` tell the node and,
where given, the port. Between two neighbouring nodes the link is the one at that port, else the only one that joins
them. Parallel links that can't be told apart, silent hops and unknown addresses leave the path unknown (None), never
guessed: a wrong path would blame the wrong link. The first node is the source's RNIC, the last the destination's,
which need not have answered: RoCE ports do not.

Cost: O(links) for a new map, 1 us per hop.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from schemas.maps import FabricMap


class _Port(Struct, frozen=True):
    node: str
    port: str


class Fabric:
    """A fabric map, ready for questions."""

    def __init__(self, value: FabricMap) -> None:
        self.version = value.version
        self._at: dict[str, _Port] = {}
        for node in value.nodes:
            for address, port in (node.addresses or {}).items():
                self._at[address] = _Port(node.id, port)
        self._joining: dict[tuple[str, str], list[tuple[str, str]]] = {}
        self._nodes = {node.id for node in value.nodes}
        for link in value.links:
            (a, _, a_port), (b, _, b_port) = link.a.rpartition("/"), link.b.rpartition("/")
            self._joining.setdefault((a, b), []).append((link.id, b_port))
            self._joining.setdefault((b, a), []).append((link.id, a_port))

    def knows(self, node: str) -> bool:
        """Whether the map has this node."""
        return node in self._nodes

    def path(self, source: str, hops: Sequence[str | None], target: str) -> tuple[str, ...] | None:
        """Links from node ``source`` over the hops' addresses to node ``target``; None: not known for certain."""
        links, here = [], source
        for hop in hops:
            there = self._at.get(hop) if hop is not None else None
            if there is None:
                return None
            link = self._between(here, there)
            if link is None:
                return None
            links.append(link)
            here = there.node
        last = self._between(here, _Port(target, ""))
        return None if last is None else (*links, last)

    def _between(self, here: str, there: _Port) -> str | None:
        joining = self._joining.get((here, there.node), [])
        if len(joining) == 1:
            return joining[0][0]
        at_port = [link for link, port in joining if port == there.port]
        return at_port[0] if len(at_port) == 1 else None
