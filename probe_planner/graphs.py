"""What can be said of a graph before its edges are coloured? Degrees, parallel edges, whether Δ colours can hold it.

Vertices are 0 .. n - 1, edges pairs of them. Cost: O(edges), in arrays where there are many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

Pair = tuple[int, int]
FEW = 400
"""Edges below which plain Python is quicker than arrays."""


def max_degree(vertices: int, edges: Sequence[Pair]) -> int:
    """The largest number of edges at one vertex: no schedule has fewer slots."""
    return int(degrees(vertices, edges).max(initial=0))


def degrees(vertices: int, edges: Sequence[Pair]) -> npt.NDArray[np.int64]:
    """Edges at each vertex."""
    ends = np.fromiter(chain.from_iterable(edges), dtype=np.int64, count=2 * len(edges))
    return np.bincount(ends, minlength=vertices)


def is_overfull(vertices: int, edges: Sequence[Pair], degree: int) -> bool:
    """Whether a component has more edges than Δ slots can hold,
    each at most half its vertices: then Δ + 1 are needed.
    """
    if len(edges) < FEW:
        return _is_overfull_small(vertices, edges, degree)
    ends = np.array(edges, dtype=np.int64)
    graph = coo_array((np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(vertices, vertices))
    count, component = connected_components(graph, directed=False)
    members, inside = np.bincount(component, minlength=count), np.bincount(component[ends[:, 0]], minlength=count)
    return bool((inside > degree * (members // 2)).any())


def _is_overfull_small(vertices: int, edges: Sequence[Pair], degree: int) -> bool:
    """The same without the cost of setting arrays up."""
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


def split_parallel(edges: Sequence[Pair]) -> tuple[list[int], list[int]]:
    """Edges of a simple graph, and those beyond it that repeat a pair of vertices."""
    if not edges:
        return [], []
    ends = np.sort(np.array(edges, dtype=np.int64), axis=1)
    _, first = np.unique(ends[:, 0] << 32 | ends[:, 1], return_index=True)
    if len(first) == len(edges):
        return list(range(len(edges))), []
    simple = np.zeros(len(edges), dtype=bool)
    simple[first] = True
    return np.flatnonzero(simple).tolist(), np.flatnonzero(~simple).tolist()
