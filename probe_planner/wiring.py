"""How do packets find their way? A fabric map as arrays: equal-cost next hops of every switch towards every RNIC.

Packets take shortest paths; where there are several, the next hops stand in the order of the map's ``nodes`` (then of
the link ids), and RNICs forward nothing: the same reading as ``localization.routing``. RNICs cabled to the same
switches share one *class*, so tables are switches x classes. A path is: one of the RNIC's cables whose switch is
nearest, switch to switch downhill, one of the cables to the RNIC.

Arrays: ``distance`` (switches, classes), -1 = no way; ``next_edge`` (switches, choices, classes), numbers of directed
edges, -1 beyond ``choices`` (switches, classes); ``edge_head`` and ``edge_link`` per directed edge. ``cable_switch``
and ``cable_link`` (RNICs, cables), -1 = no more cables. Cost: 20 ms for 256 leaves and 2,048 RNICs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from probe_planner.hashing import Ints
from schemas.maps import Link, Node

FAR = 1 << 14
"""More hops than any path has."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """See the module. ``rnic``: row of each RNIC node that was asked for and is cabled; ``links``: ids by number."""

    links: tuple[str, ...]
    rnic: dict[str, int]
    class_of: Ints
    cable_switch: Ints
    cable_link: Ints
    distance: Ints
    choices: Ints
    next_edge: Ints
    edge_head: Ints
    edge_link: Ints
    switches: tuple[str, ...]

    @property
    def longest(self) -> int:
        """Links on the longest path."""
        return int(self.distance.max(initial=0)) + 2


@dataclass(slots=True)
class _Cables:
    """Cables between switches as directed edges (tail, head, link), and those of each RNIC as (switch, link)."""

    edges: list[tuple[int, int, int]]
    by_rnic: dict[str, list[tuple[int, int]]]


def read_wiring(nodes: Sequence[Node], links: Sequence[Link], rnics: Sequence[str]) -> Wiring:
    """The wiring between those RNICs (node ids)."""
    switches = [node.id for node in nodes if node.kind != "rnic"]
    wanted = set(rnics)
    links = sorted(links, key=lambda link: link.id)
    cables = _sort_out(links, {name: number for number, name in enumerate(switches)}, wanted)
    cabled = [name for name in dict.fromkeys(rnics) if cables.by_rnic.get(name)]
    classes: dict[tuple[int, ...], int] = {}
    rows = [sorted(cables.by_rnic[name]) for name in cabled]
    class_of = [classes.setdefault(tuple(sorted({switch for switch, _ in row})), len(classes)) for row in rows]
    width = max(map(len, rows), default=1)
    padded = np.array([row + [(-1, -1)] * (width - len(row)) for row in rows], dtype=np.int64).reshape(-1, width, 2)
    edges = np.array(sorted(cables.edges), dtype=np.int64).reshape(-1, 3)
    distance = _distances(len(switches), edges, list(classes))
    choices, next_edge = _next_edges(len(switches), edges, distance)
    return Wiring(
        links=tuple(link.id for link in links),
        rnic={name: row for row, name in enumerate(cabled)},
        class_of=np.array(class_of, dtype=np.int64),
        cable_switch=padded[:, :, 0],
        cable_link=padded[:, :, 1],
        distance=distance,
        choices=choices,
        next_edge=next_edge,
        edge_head=edges[:, 1],
        edge_link=edges[:, 2],
        switches=tuple(switches),
    )


def _sort_out(links: Sequence[Link], number: dict[str, int], wanted: set[str]) -> _Cables:
    found = _Cables([], {})
    for index, link in enumerate(links):
        a, b = link.a.rpartition("/")[0], link.b.rpartition("/")[0]
        at, to = number.get(a), number.get(b)
        if at is not None and to is not None:
            found.edges += [(at, to, index), (to, at, index)]
        elif at is not None and b in wanted:
            found.by_rnic.setdefault(b, []).append((at, index))
        elif to is not None and a in wanted:
            found.by_rnic.setdefault(a, []).append((to, index))
    return found


def _distances(switches: int, edges: Ints, classes: Sequence[tuple[int, ...]]) -> Ints:
    """Hops from every switch to the nearest switch of each class, by one breadth-first search for all classes."""
    distance = np.full((switches, len(classes)), -1, dtype=np.int64)
    for number, members in enumerate(classes):
        distance[list(members), number] = 0
    if not len(edges) or not classes:
        return distance
    tails, starts = np.unique(edges[:, 0], return_index=True)
    reached = distance == 0
    for hops in range(1, switches):
        ahead = np.logical_or.reduceat(reached[edges[:, 1]], starts, axis=0)
        new = ahead & ~reached[tails]
        if not new.any():
            break
        rows, columns = np.nonzero(new)
        distance[tails[rows], columns] = hops
        reached[tails] |= new
    return distance


def _next_edges(switches: int, edges: Ints, distance: Ints) -> tuple[Ints, Ints]:
    classes = distance.shape[1]
    choices = np.zeros((switches, classes), dtype=np.int64)
    if not len(edges) or not classes:
        return choices, np.full((switches, 1, classes), -1, dtype=np.int64)
    tail, head = edges[:, 0], edges[:, 1]
    downhill = (distance[tail] > 0) & (distance[head] == distance[tail] - 1)
    tails, starts = np.unique(tail, return_index=True)
    running = np.cumsum(downhill, axis=0)
    before = np.where(starts[:, None] > 0, running[np.maximum(starts - 1, 0)], 0)
    choices[tails] = np.add.reduceat(downhill, starts, axis=0, dtype=np.int64)
    rank = running - before[np.searchsorted(tails, tail)] - 1
    next_edge = np.full((switches, max(1, int(choices.max(initial=0))), classes), -1, dtype=np.int64)
    edge, column = np.nonzero(downhill)
    next_edge[tail[edge], rank[edge, column], column] = edge
    return choices, next_edge
