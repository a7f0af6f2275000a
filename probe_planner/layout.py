"""Which pair is probed in which slot, kept so that pairs can come and go without moving the others.

Pairs are edges of a graph over RNICs, colours are slots (``colouring``). With ``per_slot`` probes of an RNIC allowed
at a time, that many colours share a slot. With directions "both" a round has two passes, the second with source and
destination swapped: colour c stands in slots c and c + ``base``; colours that came later stand behind all, so that no
other pair has to move for them.

A pair is probed from one end in a pass, and the ends are evenly chosen: the edges of two colours form paths and
rings, which are followed around, so that an RNIC is the source of at most one probe in each two colours, and of at
most half its probes, rounded up. Where two probes of an RNIC share a slot, it sends one and answers one.

``insert`` first tries to colour the new pairs among themselves; if the slots don't allow that, it moves other pairs
along Kempe chains and says which. It gives up (False) rather than go beyond Δ + 1 slots a pass; then everything has
to be laid out anew. Cost: that of the colouring; 20 us per pair that comes or goes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from probe_planner.candidates import NamePair
from probe_planner.colouring import Colouring, coloured
from probe_planner.graphs import degrees

Placed = tuple[int, str, str]
"""(slot, source, destination)"""


@dataclass(slots=True)
class Layout:
    """See the module. ``pairs``: by edge of the colouring, None = gone; ``vertices``: by RNIC; ``peers``: pairs by
    endpoint; ``forward``: by edge, whether the first of the pair is the source of the first pass; ``sends``: by RNIC,
    of how many it is the source; ``joined``: pairs of RNICs.
    """

    passes: int
    per_slot: int
    colouring: Colouring
    base: int
    pairs: list[NamePair | None]
    edge_of: dict[NamePair, int]
    vertices: dict[str, int]
    degree: list[int]
    peers: dict[str, int]
    forward: list[bool]
    sends: list[int]
    joined: set[tuple[int, int]]
    free_edges: list[int] = field(default_factory=list)

    @property
    def slots(self) -> int:
        """Slots of a round."""
        return self.passes * max(self.base, -(-self.colouring.colours // self.per_slot))

    @property
    def busiest(self) -> int:
        """Δ: the most pairs of one RNIC."""
        return max(self.degree, default=0)

    @property
    def least_slots(self) -> int:
        """No schedule has fewer slots."""
        return self.passes * -(-self.busiest // self.per_slot)

    @property
    def within_bound(self) -> bool:
        """Whether there are at most Δ + 1 slots a pass (beyond one, where RNICs carry several endpoints of a pair)."""
        return self.slots <= self.passes * -(-(self.busiest + 1) // self.per_slot) or not self.colouring.simple

    def placed(self) -> list[Placed]:
        """All probes."""
        found: list[Placed] = []
        colour = self.colouring.colour
        for edge, pair in enumerate(self.pairs):
            if pair is not None:
                found += self.placed_as(pair, edge, colour[edge])
        return found

    def probes_of(self, pairs: Iterable[NamePair]) -> list[Placed]:
        """The probes of some pairs."""
        colour, edge_of = self.colouring.colour, self.edge_of
        return [placed for pair in pairs for placed in self.placed_as(pair, edge_of[pair], colour[edge_of[pair]])]

    def placed_as(self, pair: NamePair, edge: int, colour: int) -> tuple[Placed, ...]:
        """The probes of a pair, were its edge of this colour."""
        a, b = pair if self.forward[edge] else (pair[1], pair[0])
        place = colour // self.per_slot
        if self.passes == 1:
            return ((place, a, b),)
        if place < self.base:
            return (place, a, b), (place + self.base, b, a)
        return (2 * place, a, b), (2 * place + 1, b, a)

    def pairs_of(self, name: str, rnic: str) -> list[NamePair]:
        """The pairs of an endpoint."""
        if name not in self.peers:
            return []
        edges = self.colouring.at[self.vertices[rnic]]
        return [pair for edge in edges if edge >= 0 and (pair := self.pairs[edge]) is not None and name in pair]

    def remove(self, pairs: Iterable[NamePair]) -> None:
        """Takes pairs out."""
        for pair in pairs:
            edge = self.edge_of.pop(pair)
            self.colouring.take(edge)
            self.pairs[edge] = None
            self.free_edges.append(edge)
            self._count(pair, -1)
            u, v = self.colouring.edges[edge]
            self.joined.discard((min(u, v), max(u, v)))
            self.sends[u if self.forward[edge] else v] -= 1
            self.degree[u] -= 1
            self.degree[v] -= 1

    def insert(self, pairs: Sequence[NamePair], rnic_of: Mapping[str, str]) -> set[NamePair] | None:
        """Puts pairs in; the other pairs that had to move, None = everything has to be laid out anew."""
        if not self.colouring.simple:
            return None
        work = self.colouring
        work.moved.clear()
        new = [self._edge(pair, rnic_of) for pair in pairs]
        if not work.simple:
            return None
        for edge in work.settle(new):
            if not work.colour_by_flips(edge):
                if work.colours <= self.busiest:
                    work.add_colour()
                if not work.colour_by_flips(edge):
                    work.colour_by_fan(edge)
        moved = {pair for edge in work.moved if (pair := self.pairs[edge]) is not None}
        return moved - set(pairs)

    def _edge(self, pair: NamePair, rnic_of: Mapping[str, str]) -> int:
        u, v = (self._vertex(rnic_of[name]) for name in pair)
        if (min(u, v), max(u, v)) in self.joined:
            self.colouring.simple = False
        self.joined.add((min(u, v), max(u, v)))
        edge = self._unused(u, v)
        self.forward[edge] = self.sends[u] <= self.sends[v]
        self.sends[u if self.forward[edge] else v] += 1
        self.pairs[edge] = pair
        self.edge_of[pair] = edge
        self._count(pair, 1)
        self.degree[u] += 1
        self.degree[v] += 1
        return edge

    def _unused(self, u: int, v: int) -> int:
        if not self.free_edges:
            self.pairs.append(None)
            self.forward.append(True)
            return self.colouring.add_edge(u, v)
        edge = self.free_edges.pop()
        self.colouring.edges[edge], self.colouring.ends[edge] = (u, v), u + v
        return edge

    def _count(self, pair: NamePair, sign: int) -> None:
        for name in pair:
            self.peers[name] = self.peers.get(name, 0) + sign
            if not self.peers[name]:
                del self.peers[name]

    def _vertex(self, rnic: str) -> int:
        if rnic not in self.vertices:
            self.vertices[rnic] = self.colouring.add_vertex()
            self.degree.append(0)
            self.sends.append(0)
        return self.vertices[rnic]


def lay_out(pairs: Sequence[NamePair], rnic_of: Mapping[str, str], passes: int, per_slot: int) -> Layout:
    """Slots for ``pairs``; ``rnic_of`` names the physical RNIC of each endpoint."""
    vertices: dict[str, int] = {}
    vertex_of: dict[str, int] = {}
    for name in dict.fromkeys(name for pair in pairs for name in pair):
        vertex_of[name] = vertices.setdefault(rnic_of[name], len(vertices))
    edges = [(vertex_of[a], vertex_of[b]) for a, b in pairs]
    work = coloured(len(vertices), edges)
    forward = _orient(work)
    sources = np.array([u if first else v for (u, v), first in zip(edges, forward, strict=True)], dtype=np.int64)
    return Layout(
        passes=passes,
        per_slot=per_slot,
        colouring=work,
        base=-(-work.colours // per_slot),
        pairs=list(pairs),
        edge_of={pair: edge for edge, pair in enumerate(pairs)},
        vertices=vertices,
        degree=degrees(len(vertices), edges).tolist(),
        peers=dict(Counter(chain.from_iterable(pairs))),
        forward=forward,
        sends=np.bincount(sources, minlength=len(vertices)).tolist(),
        joined={(u, v) if u < v else (v, u) for u, v in edges},
    )


def _orient(work: Colouring) -> list[bool]:
    """From which end each edge is probed: around the paths and rings of each two colours."""
    forward, done = [True] * len(work.edges), bytearray(len(work.edges))
    for first in range(0, work.colours, 2):
        second = min(first + 1, work.colours - 1)
        starts = [v for v, row in enumerate(work.at) if (row[first] < 0) != (row[second] < 0)]
        rings = [v for v, row in enumerate(work.at) if row[first] >= 0]
        for start in chain(starts, rings):
            _follow(work, start, (first, second), forward, done)
    return forward


def _follow(work: Colouring, vertex: int, colours: tuple[int, int], forward: list[bool], done: bytearray) -> None:
    at, edges, ends = work.at, work.edges, work.ends
    here, other = colours if at[vertex][colours[0]] >= 0 else (colours[1], colours[0])
    edge = at[vertex][here]
    while edge >= 0 and not done[edge]:
        done[edge] = 1
        forward[edge] = edges[edge][0] == vertex
        vertex = ends[edge] - vertex
        here, other = other, here
        edge = at[vertex][here]
