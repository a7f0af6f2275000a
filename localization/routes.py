"""Which trains can be compared? Routes (source, destination, path) as numbers, each with its suspects.

``members`` holds the suspects of route r in row r, padded with -1, so that sums over all suspects of all trains are
single numpy calls. Routes that no second of the window uses are dropped by ``keep``. Memory: about 400 bytes a route.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from localization.arrays import Floats, Ints
from localization.routing import distances, hashed_path
from localization.suspects import SuspectTable, suspects_of_path
from localization.topology import Topology

Route = tuple[str, str, tuple[str, ...] | None, int]
"""(source, destination, path or None, source port where the path has to be computed, else 0)"""
UNSEEN_HOPS = 2
"""Links assumed between the leaves of a path that is not known."""


def _no_members() -> Ints:
    return np.full((0, 0), -1, np.int64)


def _ints() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(slots=True)
class RouteTable:
    """Routes of one fabric. ``pair``: number of the unordered pair of endpoints; ``unseen``: links not known."""

    suspects: SuspectTable = field(default_factory=SuspectTable)
    index: dict[Route, int] = field(default_factory=dict)
    routes: list[Route] = field(default_factory=list)
    pair_index: dict[tuple[str, str], int] = field(default_factory=dict)
    members: Ints = field(default_factory=_no_members)
    pair: Ints = field(default_factory=_ints)
    unseen: Ints = field(default_factory=_ints)
    reach: dict[str, dict[str, int]] = field(default_factory=dict)

    def number(self, route: Route) -> int:
        """The number of a route, a new one if it was never used; call ``settle`` before arrays are used."""
        found = self.index.get(route)
        if found is None:
            found = self.index[route] = len(self.routes)
            self.routes.append(route)
        return found

    def settle(self, topology: Topology) -> None:
        """Works out the suspects of the routes that are new."""
        known = len(self.pair)
        if known == len(self.routes):
            return
        rows = [self._suspects(topology, route) for route in self.routes[known:]]
        width = max(1, self.members.shape[1], *(len(row) for row in rows))
        members = np.full((len(self.routes), width), -1, np.int64)
        members[:known, : self.members.shape[1]] = self.members
        for number, row in enumerate(rows, known):
            members[number, : len(row)] = row
        self.members = members
        pairs = [self._pair(route) for route in self.routes[known:]]
        self.pair = np.concatenate([self.pair, np.array(pairs, np.int64)])
        unseen = [UNSEEN_HOPS if self.path(topology, route) is None else 0 for route in self.routes[known:]]
        self.unseen = np.concatenate([self.unseen, np.array(unseen, np.int64)])

    def _pair(self, route: Route) -> int:
        ends = (route[0], route[1]) if route[0] < route[1] else (route[1], route[0])
        return self.pair_index.setdefault(ends, len(self.pair_index))

    def _suspects(self, topology: Topology, route: Route) -> list[int]:
        path = self.path(topology, route)
        return [self.suspects.number(suspect) for suspect in suspects_of_path(topology, route[0], route[1], path)]

    def path(self, topology: Topology, route: Route) -> tuple[str, ...] | None:
        """The links of a route: as traced, else as the fabric's hash says, else None."""
        src, dst, path, sport = route
        target = topology.node_of(dst)
        if path is not None or target is None:
            return path
        if target not in self.reach:
            self.reach[target] = distances(topology, target)
        return hashed_path(topology, src, dst, sport, self.reach[target])

    def refresh(self, topology: Topology) -> None:
        """Works out all suspects anew, after a map has changed. Numbers of routes and suspects stay."""
        self.reach = {}
        self.members, self.pair, self.unseen = _no_members(), _ints(), _ints()
        self.settle(topology)

    def keep(self, used: Ints) -> Ints:
        """Drops all routes but ``used`` (ascending); returns the new number by old one, -1 = dropped."""
        renumber = np.full(len(self.routes), -1, np.int64)
        renumber[used] = np.arange(len(used))
        self.routes = [self.routes[number] for number in used.tolist()]
        self.index = {route: number for number, route in enumerate(self.routes)}
        self.members, self.unseen = self.members[used], self.unseen[used]
        self.pair_index = {}
        self.pair = np.array([self._pair(route) for route in self.routes], np.int64)
        return renumber

    def crossing(self, routes: Ints, suspect: int) -> Ints:
        """Positions in ``routes`` of those that cross a suspect."""
        return np.flatnonzero((self.members[routes] == suspect).any(axis=1))


def sum_by_suspect(members: Ints, weights: Floats, size: int) -> Floats:
    """Sum of ``weights`` (one per train) over each suspect that the train crosses, length ``size``."""
    if not len(members):
        return np.zeros(size)
    flat = members.ravel()
    total = np.bincount(flat + 1, np.repeat(weights, members.shape[1]), size + 1)
    return np.asarray(total[1:], np.float64)
