"""Which trains can be compared? Routes (source, destination, path) as numbers, each with its suspects.

``members`` holds the suspects of route r in row r, padded with -1, so that sums over all suspects of all trains are
single numpy calls. Routes that no second of the window uses are dropped by ``keep``. Memory: about 400 bytes a route.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress

import numpy as np

from localization.arrays import Flags, Floats, Ints
from localization.cases import ends_between
from localization.numbering import RouteNumbers, integers
from localization.placing import Placing
from localization.route_columns import RouteColumns
from localization.routing import distances, hashed_path
from localization.suspects import PRIOR_NATS, SuspectTable, whole_cables
from localization.topology import Topology
from schemas.diagnosis import PairWindows

Route = tuple[str, str, tuple[str, ...] | None, int]
"""(source, destination, path or None, source port where the path has to be computed, else 0)"""
UNSEEN_HOPS = 2
"""Links assumed between the leaves of a path that is not known."""
MOST_ASKED = 256
FEW = 32


def _no_members() -> Ints:
    return np.full((0, 0), -1, np.int64)


def _no_ends() -> Ints:
    return np.zeros((0, 2), np.int64)


def _ints() -> Ints:
    return np.zeros(0, np.int64)


def _flags() -> Flags:
    return np.zeros(0, np.bool_)


def _floats() -> Floats:
    return np.zeros(0)


@dataclass(slots=True)
class RouteIndex:
    """Answers that follow from the table and are kept, since they are asked for again; a pickle leaves them out.

    ``crossed``: by suspect, how many routes were looked at, and those of them that cross it. ``order``, ``starts``:
    routes by pair. ``flown``: trains by route of the second that was counted last, ``total``: the same by suspect.
    ``wholes``: see ``RouteTable.whole_cables``, of directions.
    """

    crossed: dict[int, tuple[int, Ints]] = field(default_factory=dict)
    order: Ints = field(default_factory=_ints)
    starts: Ints = field(default_factory=_ints)
    flown: Ints = field(default_factory=_ints)
    total: Floats = field(default_factory=_floats)
    wholes: dict[int, int] = field(default_factory=dict)

    def __reduce__(self) -> tuple[type[RouteIndex], tuple[()]]:
        return RouteIndex, ()

    def trains_by_suspect(self, members: Ints, routes: Ints, size: int) -> Floats:
        """How many trains on some routes cross each of ``size`` suspects. Most fly as they did the second before."""
        flown = np.bincount(routes, minlength=len(members))
        more = flown - np.append(self.flown, np.zeros(len(members) - len(self.flown), np.int64))
        total = np.append(self.total, np.zeros(size - len(self.total)))
        changed = np.flatnonzero(more)
        total += sum_by_suspect(members[changed], more[changed].astype(np.float64), size)
        self.flown, self.total = flown, total
        return total

    def crossing(self, members: Ints, suspect: int) -> Ints:
        """Routes that cross a suspect, ascending."""
        size, known = self.crossed.get(suspect, (0, _ints()))
        if size < len(members):
            if len(self.crossed) >= MOST_ASKED:
                self.crossed.clear()
            more = np.flatnonzero(members[size:].ravel() == suspect) // members.shape[1] + size
            known = np.concatenate([known, more])
            self.crossed[suspect] = len(members), known
        return known

    def of_pair(self, pair: Ints, number: int) -> Ints:
        """Routes of a pair, ascending."""
        if len(self.order) != len(pair):
            self.order = np.argsort(pair, kind="stable")
            self.starts = np.searchsorted(pair[self.order], np.arange(int(pair.max(initial=-1)) + 2))
        return self.order[self.starts[number] : self.starts[number + 1]]


@dataclass(slots=True)
class RouteTable:
    """Routes of one fabric. ``pair``: number of the unordered pair of endpoints; ``stray``: links of a route that
    no hop stands for: those that are not known, and one if it crosses no hop; ``ends``: numbers of source and
    destination.

    By suspect: ``hop``, whether it is one of those that make up the background of a route (directions, and links whose
    direction is not known); ``prior``, nats.
    """

    suspects: SuspectTable = field(default_factory=SuspectTable)
    numbers: RouteNumbers = field(default_factory=RouteNumbers)
    routes: list[Route] = field(default_factory=list)
    pair_index: dict[tuple[str, str], int] = field(default_factory=dict)
    members: Ints = field(default_factory=_no_members)
    pair: Ints = field(default_factory=_ints)
    stray: Ints = field(default_factory=_ints)
    ends: Ints = field(default_factory=_no_ends)
    hop: Flags = field(default_factory=_flags)
    prior: Floats = field(default_factory=_floats)
    reach: dict[str, dict[str, int]] = field(default_factory=dict)
    index: RouteIndex = field(default_factory=RouteIndex)

    def __getstate__(self) -> RouteColumns:
        return RouteColumns.of(self)

    def __setstate__(self, state: RouteColumns) -> None:
        state.into(self)
        self.reach, self.index = {}, RouteIndex()

    def number(self, values: Sequence[PairWindows], topology: Topology) -> Ints:
        """The route of each train of some messages, in their order; routes that are new are settled."""
        fabric_map = topology.fabric_map
        hashed = fabric_map is not None and fabric_map.ecmp.method == "hash"
        pairs = self.numbers.pairs_of([value.src for value in values], [value.dst for value in values])
        begins, newest = np.cumsum([0, *(len(value.src) for value in values)]), self.numbers.newest_tags(pairs)
        likely = np.split(newest, begins[1:-1])
        tags = [self._tags(value, hashed, own) for value, own in zip(values, likely, strict=False)]
        found, new = self.numbers.of(pairs, np.concatenate([_ints(), *tags]))
        for at, message in zip(new.tolist(), (np.searchsorted(begins, new, "right") - 1).tolist(), strict=True):
            value, row = values[message], at - int(begins[message])
            path = value.paths[value.path[row]] if value.path[row] >= 0 else None
            port = value.sport[row] if path is None and hashed else 0
            self.routes.append((value.src[row], value.dst[row], path, port))
        self._settle(topology)
        return found

    def _tags(self, value: PairWindows, hashed: bool, newest: Ints) -> Ints:
        """The tags of a message's trains; ``newest``: of their pairs' last routes."""
        path, likely = integers(value.path, [value.path]), np.zeros(len(value.paths) + 1, np.int64)
        likely[path] = newest  # of trains without a path in the last place, which is no path's
        tags = np.append(self.numbers.tags_of(value.paths, likely[:-1]), 0)[path]
        return np.where(path < 0, integers(value.sport, [value.sport]), tags) if hashed else tags

    def _settle(self, topology: Topology) -> None:
        """Works out the suspects of the routes that are new."""
        known = len(self.pair)
        if known == len(self.routes):
            return
        new = np.arange(known, len(self.routes))
        more = np.full((len(new), self.members.shape[1]), -1, np.int64)
        self.members = np.concatenate([self.members, more])
        self.stray = np.concatenate([self.stray, np.zeros(len(new), np.int64)])
        self.pair = np.concatenate([self.pair, np.array([self._pair(r) for r in self.routes[known:]], np.int64)])
        self.ends = np.concatenate([self.ends, self._ends(self.routes[known:])])
        self._place(topology, new)

    def _place(self, topology: Topology, numbers: Ints) -> None:
        """Works out what some routes cross."""
        routes = [self.routes[number] for number in numbers.tolist()]
        paths = [self.path(topology, route) if route[2] is None else route[2] for route in routes]
        placing = Placing(topology, self.suspects)
        rows = [placing.row(src, dst, path) for (src, dst, _, _), path in zip(routes, paths, strict=True)]
        self._describe(topology)
        width = max(1, *(len(row) for row in rows))
        if width > self.members.shape[1]:
            more = np.full((len(self.members), width - self.members.shape[1]), -1, np.int64)
            self.members = np.concatenate([self.members, more], axis=1)
        placed = np.array([row + [-1] * (self.members.shape[1] - len(row)) for row in rows], np.int64)
        unseen = np.array([UNSEEN_HOPS if path is None else 0 for path in paths], np.int64)
        self.members[numbers] = placed
        self.stray[numbers] = np.maximum(unseen, ~np.append(self.hop, False)[placed].any(axis=1))

    def _describe(self, topology: Topology) -> None:
        """Says of the suspects that are new whether they are hops, and how rare their faults."""
        new, known = self.suspects.all[len(self.hop) :], topology.cables
        hop = [s.kind == "direction" or (s.kind == "link" and s.name not in known) for s in new]
        self.hop = np.concatenate([self.hop, np.array(hop, np.bool_)])
        self.prior = np.concatenate([self.prior, np.array([PRIOR_NATS[s.kind] for s in new], np.float64)])

    def _pair(self, route: Route) -> int:
        ends = (route[0], route[1]) if route[0] < route[1] else (route[1], route[0])
        return self.pair_index.setdefault(ends, len(self.pair_index))

    def _ends(self, routes: list[Route]) -> Ints:
        known = self.numbers.ends
        return np.array([(known[src], known[dst]) for src, dst, _, _ in routes], np.int64).reshape(-1, 2)

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
        self.reach, self.index = {}, RouteIndex()
        self.members, self.pair, self.stray, self.ends = _no_members(), _ints(), _ints(), _no_ends()
        self.hop, self.prior = _flags(), _floats()
        self._settle(topology)

    def whole_cables(self, topology: Topology, numbers: Ints) -> Ints:
        """Of some suspects the one that is the same cable both ways: itself, unless it is a direction of one."""
        known, listed = self.index.wholes, numbers.tolist()
        new = [number for number in listed if number not in known and self.suspects.all[number].kind == "direction"]
        found = dict(zip(new, whole_cables(topology, self.suspects, new), strict=True))
        known.update((number, whole) for number, whole in found.items() if whole != number)
        return np.array([known.get(number, number) for number in listed], np.int64)

    def of_ends(self, names: set[str]) -> Ints:
        """Routes that begin or end at one of some endpoints, ascending."""
        known = self.numbers.ends
        wanted = [known[name] for name in names if name in known]
        return np.flatnonzero(np.isin(self.ends, wanted).any(axis=1)) if wanted else _ints()

    def move(self, topology: Topology, routes: Ints) -> None:
        """Works out anew what some routes cross, after their ends have moved."""
        self.index = RouteIndex()
        self._place(topology, routes)

    def keep(self, used: Ints) -> Ints:
        """Drops all routes but ``used`` (ascending); returns the new number by old one, -1 = dropped."""
        renumber = np.full(len(self.routes), -1, np.int64)
        renumber[used] = np.arange(len(used))
        self.routes = [self.routes[number] for number in used.tolist()]
        self.numbers, self.index = RouteNumbers(), RouteIndex()
        paths = [path for _, _, path, _ in self.routes if path is not None]
        traced = iter(self.numbers.tags_of(paths, np.zeros(len(paths), np.int64)).tolist())
        tags = [sport if path is None else next(traced) for _, _, path, sport in self.routes]
        pairs = self.numbers.pairs_of([[route[0] for route in self.routes]], [[route[1] for route in self.routes]])
        self.numbers.of(pairs, np.array(tags, np.int64))
        self.members, self.stray, self.ends = self.members[used], self.stray[used], self._ends(self.routes)
        self.pair_index = {}
        self.pair = np.array([self._pair(route) for route in self.routes], np.int64)
        return renumber

    def probers(self, routes: Ints) -> list[str]:
        """Endpoints from which trains on some routes come."""
        probes = np.zeros(len(self.numbers.ends), np.bool_)
        probes[self.ends[routes, 0]] = True
        return list(compress(self.numbers.ends, probes.tolist()))

    def crossing(self, routes: Ints, suspect: int) -> Ints:
        """Positions in ``routes`` (ascending) of those that cross a suspect."""
        return trains_of(routes, self.index.crossing(self.members, suspect))

    def crosses_any(self, routes: Ints, suspects: list[int]) -> Flags:
        """Which of ``routes`` (ascending) cross any of some suspects. Of many, each route is looked at once."""
        found = np.zeros(len(routes), np.bool_)
        if len(suspects) > FEW:
            wanted = np.zeros(len(self.suspects.all) + 1, np.bool_)  # the last one for -1, no suspect
            wanted[suspects] = True
            return np.asarray(wanted[self.members].any(axis=1), np.bool_)[routes]
        for suspect in suspects:
            found[self.crossing(routes, suspect)] = True
        return found

    def of_pair(self, src: str, dst: str) -> Ints:
        """The routes between two endpoints, in both directions, ascending."""
        number = self.pair_index.get(ends_between(src, dst))
        return _ints() if number is None else self.index.of_pair(self.pair, number)


def trains_of(ascending: Ints, routes: Ints) -> Ints:
    """Positions in ``ascending``, routes of trains, of those on any of ``routes`` (ascending, each once)."""
    low = np.searchsorted(ascending, routes, "left")
    count = np.searchsorted(ascending, routes, "right") - low
    return np.repeat(low - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))


def sum_by_suspect(members: Ints, weights: Floats, size: int) -> Floats:
    """Sum of ``weights`` (one per train) over each suspect that the train crosses, length ``size``."""
    if not len(members):
        return np.zeros(size)
    flat = members.ravel()
    total = np.bincount(flat + 1, np.repeat(weights, members.shape[1]), size + 1)
    return np.asarray(total[1:], np.float64)


def sums_by_suspect(members: Ints, weights: Floats, size: int) -> Floats:
    """The same of each column of ``weights`` (trains x n), ``size`` x n."""
    return np.stack([sum_by_suspect(members, column, size) for column in weights.T], axis=1)
