"""In which slot is each pair probed? Edge colouring of a graph: no two edges at a vertex share a colour.

A colour is a slot, a vertex an RNIC, an edge a pair of RNICs that is probed. The least number of colours is at least
the largest degree Δ; Vizing (1964): Δ + 1 always suffice for a simple graph. First Δ colours are tried: each edge
takes the first colour that is free at both ends, else a Kempe chain (a path that alternates between two colours) is
flipped to make room, and when none helps, others first to change what is free. The few edges that this leaves over
are coloured with one colour more by Misra and Gries (1992), which cannot fail. Parallel edges, which Vizing's bound
does not cover, take the first colour free at both ends, a new one if there is none.

The result depends on the order of the edges and on nothing else. Cost: O(1) for an edge with a common free colour
(free colours are bits of one integer), O(path) per flip; 18,000 edges of degree 9 take about 0.05 s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Pair = tuple[int, int]

SEARCH = 200
"""How many chains are flipped to change what is free at an edge before it is given one colour more."""


def colour_edges(vertices: int, edges: Sequence[Pair]) -> list[int]:
    """A colour for each edge, from 0 on; at most Δ + 1 colours when no two edges are parallel.

    Raises:
        ValueError: an edge joins a vertex with itself.
    """
    if any(u == v for u, v in edges):
        raise ValueError("an edge joins a vertex with itself")
    simple, parallel = _split_parallel(edges)
    plain = [edges[edge] for edge in simple]
    degree = max_degree(vertices, plain)
    overfull = _is_overfull(vertices, plain, degree)
    work = _Colouring(vertices, edges, degree + overfull)
    left_over = [edge for edge in simple if not work.colour_by_flips(edge)]
    if not overfull:
        left_over = [edge for edge in left_over if not work.colour_by_search(edge)]
    if left_over:
        if not overfull:
            work.add_colour()
        for edge in left_over:
            if not work.colour_by_flips(edge):
                work.colour_by_fan(edge)
    for edge in parallel:
        work.colour_first_fit(edge)
    return work.colour


def max_degree(vertices: int, edges: Sequence[Pair]) -> int:
    """The largest number of edges at one vertex: no schedule has fewer slots."""
    degree = [0] * vertices
    for u, v in edges:
        degree[u] += 1
        degree[v] += 1
    return max(degree, default=0)


def _is_overfull(vertices: int, edges: Sequence[Pair], degree: int) -> bool:
    """Whether a component has more edges than Δ slots can hold,
    each at most half its vertices: then Δ + 1 are needed.
    """
    root = list(range(vertices))

    def find(vertex: int) -> int:
        while root[vertex] != vertex:
            root[vertex] = root[root[vertex]]
            vertex = root[vertex]
        return vertex

    for u, v in edges:
        root[find(u)] = find(v)
    members = Counter(find(vertex) for vertex in range(vertices))
    inside = Counter(find(u) for u, _ in edges)
    return any(count > degree * (members[vertex] // 2) for vertex, count in inside.items())


def _split_parallel(edges: Sequence[Pair]) -> tuple[list[int], list[int]]:
    seen: set[Pair] = set()
    simple: list[int] = []
    parallel: list[int] = []
    for edge, (u, v) in enumerate(edges):
        pair = (u, v) if u < v else (v, u)
        (parallel if pair in seen else simple).append(edge)
        seen.add(pair)
    return simple, parallel


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _each(bits: int) -> list[int]:
    found = []
    while bits:
        found.append(_lowest(bits))
        bits &= bits - 1
    return found


class _Colouring:
    """A partial proper colouring:
    ``free[v]`` has a bit per colour unused at v, ``at[v][c]`` is the edge there or -1.
    """

    def __init__(self, vertices: int, edges: Sequence[Pair], colours: int) -> None:
        self.edges = edges
        self.ends = [u + v for u, v in edges]
        self.colour = [-1] * len(edges)
        self.free = [(1 << colours) - 1] * vertices
        self.at = [[-1] * colours for _ in range(vertices)]

    def add_colour(self) -> int:
        """One colour more, free everywhere."""
        new = len(self.at[0])
        for vertex, row in enumerate(self.at):
            row.append(-1)
            self.free[vertex] |= 1 << new
        return new

    def put(self, edge: int, colour: int) -> None:
        """Gives an uncoloured edge a colour that is free at both ends."""
        self.colour[edge] = colour
        bit = 1 << colour
        for vertex in self.edges[edge]:
            self.at[vertex][colour] = edge
            self.free[vertex] &= ~bit

    def take(self, edge: int) -> None:
        """Takes an edge's colour away."""
        colour, self.colour[edge] = self.colour[edge], -1
        bit = 1 << colour
        for vertex in self.edges[edge]:
            self.at[vertex][colour] = -1
            self.free[vertex] |= bit

    def other(self, edge: int, vertex: int) -> int:
        """The far end of an edge."""
        return self.ends[edge] - vertex

    def path(self, start: int, first: int, second: int) -> tuple[list[int], int]:
        """The edges of the path from ``start`` whose colours alternate, ``first`` first; and where it ends."""
        edges, vertex = [], start
        at, ends = self.at, self.ends
        edge = at[vertex][first]
        while edge >= 0:
            edges.append(edge)
            vertex = ends[edge] - vertex
            first, second = second, first
            edge = at[vertex][first]
        return edges, vertex

    def flip(self, edges: list[int], first: int, second: int) -> None:
        """Swaps two colours along a whole path."""
        swapped = [second if self.colour[edge] == first else first for edge in edges]
        for edge in edges:
            self.take(edge)
        for edge, colour in zip(edges, swapped, strict=True):
            self.put(edge, colour)

    def colour_by_flips(self, edge: int) -> bool:
        """Colours an edge, flipping a Kempe chain if need be; False: no chain helps, and nothing was changed."""
        u, v = self.edges[edge]
        common = self.free[u] & self.free[v]
        if common:
            self.put(edge, _lowest(common))
            return True
        for mine in _each(self.free[u]):
            for theirs in _each(self.free[v]):
                chain, end = self.path(v, mine, theirs)
                if end != u:
                    self.flip(chain, mine, theirs)
                    self.put(edge, mine)
                    return True
        return False

    def colour_by_search(self, edge: int) -> bool:
        """As ``colour_by_flips``, after flips that change which colours are free at one end, up to ``SEARCH`` times."""
        colours = len(self.at[0])
        for attempt in range(SEARCH):
            end = self.edges[edge][attempt % 2]
            free, other = _lowest(self.free[end]), (attempt * 7 + attempt // colours) % colours
            if not self.free[end] >> other & 1:
                self.flip(self.path(end, other, free)[0], other, free)
                if self.colour_by_flips(edge):
                    return True
        return False

    def colour_first_fit(self, edge: int) -> None:
        """Colours an edge with the first colour free at both ends, a new one if there is none."""
        u, v = self.edges[edge]
        common = self.free[u] & self.free[v]
        self.put(edge, _lowest(common) if common else self.add_colour())

    def colour_by_fan(self, edge: int) -> None:
        """Misra and Gries: rotates a fan of edges at one end. With a free colour at every vertex it can't fail."""
        u = self.edges[edge][0]
        fan = self._fan(u, edge)
        mine, theirs = _lowest(self.free[u]), _lowest(self.free[self.other(fan[-1], u)])
        chain, _ = self.path(u, theirs, mine)
        self.flip(chain, theirs, mine)
        last = self._usable_prefix(u, fan, theirs)
        colours = [self.colour[following] for following in fan[1 : last + 1]]
        for following in fan[1 : last + 1]:
            self.take(following)
        for member, colour in zip(fan[:last], colours, strict=True):
            self.put(member, colour)
        self.put(fan[last], theirs)

    def _fan(self, u: int, edge: int) -> list[int]:
        """A maximal fan: edges at u, the first uncoloured, each one's colour free at the far end of the one before."""
        fan, members = [edge], {edge}
        while True:
            wanted = self.free[self.other(fan[-1], u)] & ~self.free[u]
            following = next((e for c in _each(wanted) if (e := self.at[u][c]) not in members), None)
            if following is None:
                return fan
            fan.append(following)
            members.add(following)

    def _usable_prefix(self, u: int, fan: list[int], colour: int) -> int:
        """The first member of the fan, still a fan up to there, whose far end has ``colour`` free."""
        for index, member in enumerate(fan):
            if index and not self.free[self.other(fan[index - 1], u)] >> self.colour[member] & 1:
                break
            if self.free[self.other(member, u)] >> colour & 1:
                return index
        raise AssertionError("Misra and Gries proved that there is one")
