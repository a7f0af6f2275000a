"""Which way do the replies come back? The chance that a reply crosses a link or switch, over all shortest paths.

A probe is lost also when its reply is, and nobody traces replies. From the leaf of the probed endpoint to the leaf
of the prober each next hop is taken with equal chance (hash ECMP over unknown ports), so a fault explains a share
of the losses of flows whose replies may cross it; without that, a dead spine link would look like many bad RNICs.
On a fabric whose map says ``symmetric`` replies take the probe's own path back.

Routes are known by their number in the route table and placed once: between which leaves, over which access links.
Cost: O(links of the shortest paths) per pair of leaves, once; then one numpy call per suspect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from localization.arrays import Floats, Ints
from localization.routes import Route
from localization.routing import distances
from localization.suspects import Suspect
from localization.topology import Topology

Chances = dict[Suspect, float]
PRIOR_ROUTES = 5.0
MOST_ASKED = 128
UNKNOWN = -1
AT_ONCE = 100_000
ELSEWHERE = -2


def _ints() -> Ints:
    return np.zeros(0, np.int64)


def _ints_of(numbers: list[int]) -> Ints:
    return np.array(numbers, np.int64)


class Spot(NamedTuple):
    """Where an endpoint is: its RNIC, whether that has several links, else its link and the switch there."""

    node: str | None
    several: bool
    link: str | None
    leaf: str


@dataclass(slots=True)
class AskedChances:
    """The chances of suspects that were asked for, by pair of leaves, with a 0 at the end."""

    by_pair: dict[Suspect, Floats] = field(default_factory=dict)

    def of(self, suspect: Suspect, between: list[Chances]) -> Floats:
        """Of one suspect; pairs that are new since it was last asked for are added."""
        known = self.by_pair.get(suspect)
        before = 0 if known is None else len(known) - 1
        if known is None or before < len(between):
            if len(self.by_pair) >= MOST_ASKED:
                self.by_pair.clear()
            more = [chances.get(suspect, 0.0) for chances in between[before:]]
            known = np.array([*(known[:-1] if known is not None else ()), *more, 0.0])
            self.by_pair[suspect] = known
        return known


@dataclass(slots=True)
class Echoes:
    """Chances by number of (leaf of the probed end, leaf of the prober); they begin anew with every map.

    Where an end has several access links, the pair is of the RNICs themselves, and the links are chosen like others.

    ``share``: how much of the loss that replies should suffer is seen (0: this fabric's probes count one way only).
    By route number: ``leaves``, its pair of leaves, and ``first`` and ``last``, the access links of its replies.

    All but ``share`` follows from maps and routes, so a pickle leaves it out.
    """

    share: float = 1.0
    pairs: dict[tuple[str, str], int] = field(default_factory=dict)
    between: list[Chances] = field(default_factory=list)
    reach: dict[str, dict[str, int]] = field(default_factory=dict)
    ends: dict[Suspect, int] = field(default_factory=dict)
    spots: dict[str, Spot] = field(default_factory=dict)
    leaves: Ints = field(default_factory=_ints)
    first: Ints = field(default_factory=_ints)
    last: Ints = field(default_factory=_ints)
    back: dict[int, frozenset[Suspect]] = field(default_factory=dict)
    """What the replies of a route cross, where the fabric sends them back as they came."""
    asked: AskedChances = field(default_factory=AskedChances)

    def __reduce__(self) -> tuple[type[Echoes], tuple[float]]:
        return Echoes, (self.share,)

    def chances(self, topology: Topology, table: Sequence[Route], routes: Ints, suspect: Suspect) -> Floats:
        """The chance that replies to the probes of each of ``routes`` (numbers in ``table``) cross a suspect."""
        if len(table) > len(self.leaves):
            self._place(topology, table)
        by_pair = self.asked.of(suspect, self.between)
        leaves, end = self.leaves[routes], self.ends.get(suspect, ELSEWHERE)
        chance: Floats = by_pair[leaves]  # of an unknown pair (-1) the last: none
        chance[(leaves != UNKNOWN) & ((self.first[routes] == end) | (self.last[routes] == end))] = 1.0
        if self.back:
            for at, number in enumerate(routes.tolist()):
                if number in self.back:
                    chance[at] = float(suspect in self.back[number])
        return chance

    def ways(self, topology: Topology, table: Sequence[Route], route: int) -> Chances:
        """All that replies to the probes of one route may cross, with the chance of each."""
        if len(table) > len(self.leaves):
            self._place(topology, table)
        if route in self.back:
            return dict.fromkeys(self.back[route], 1.0)
        number = int(self.leaves[route])
        found = dict(self.between[number]) if number != UNKNOWN else {}
        names = list(self.ends)
        ends = [int(at) for at in (self.first[route], self.last[route]) if at >= 0]
        return found | {names[at]: 1.0 for at in ends}

    def forget_routes(self) -> None:
        """Routes have new numbers, and endpoints that no route has any more are forgotten."""
        self.spots = {}
        self.leaves, self.first, self.last, self.back = _ints(), _ints(), _ints(), {}

    def prepare(self, topology: Topology, table: Sequence[Route]) -> None:
        """Places some of the routes that are new, so that not all have to be when they are asked for."""
        if len(table) > len(self.leaves):
            self._place(topology, table[: len(self.leaves) + AT_ONCE])

    def move(self, topology: Topology, table: Sequence[Route], endpoints: set[str], routes: Ints) -> None:
        """Places routes anew whose ends have moved."""
        for endpoint in endpoints:
            self.spots.pop(endpoint, None)
        placed = routes[routes < len(self.leaves)]
        self._put(placed, self._places(topology, [table[number] for number in placed.tolist()]))
        self._put_back(topology, table, placed.tolist())

    def _place(self, topology: Topology, table: Sequence[Route]) -> None:
        known = len(self.leaves)
        new, room = np.arange(known, len(table)), np.full(len(table) - known, UNKNOWN)
        self.leaves, self.first, self.last = (np.append(old, room) for old in (self.leaves, self.first, self.last))
        self._put(new, self._places(topology, table[known:]))
        self._put_back(topology, table, new.tolist())

    def _places(self, topology: Topology, routes: Sequence[Route]) -> Ints:
        """Numbers of routes' pairs of leaves and of their replies' first and last links; unknown without a map."""
        found, names = np.full((len(routes), 3), UNKNOWN), dict[str, int]()
        near = _ints_of([names.setdefault(src, len(names)) for src, _, _, _ in routes])
        far = _ints_of([names.setdefault(dst, len(names)) for _, dst, _, _ in routes])
        spots = [self._spot(topology, endpoint) for endpoint in names]
        placed, several, linked = (
            np.array([bool(getattr(spot, name)) for spot in spots], np.bool_) for name in ("node", "several", "link")
        )
        spread = placed[near] & placed[far] & (several[near] | several[far])
        plain = placed[near] & placed[far] & linked[near] & linked[far] & ~spread
        leaves, nodes = [spot.leaf for spot in spots], [spot.node or "" for spot in spots]
        for some, stops in ((spread, nodes), (plain, leaves)):
            found[some, 0] = self._pairs(topology, stops, far[some], near[some])
        first, last = self._links(spots)
        found[plain, 1], found[plain, 2] = first[far[plain]], last[near[plain]]
        return found

    def _pairs(self, topology: Topology, stops: list[str], start: Ints, target: Ints) -> Ints:
        """Numbers of pairs of stops, given by their places in a list."""
        names: dict[str, int] = {}
        stop = _ints_of([names.setdefault(name, len(names)) for name in stops])
        keys, own = np.unique(stop[start] * len(names) + stop[target], return_inverse=True)
        listed = list(names)
        pairs = [(listed[key // len(names)], listed[key % len(names)]) for key in keys.tolist()]
        return _ints_of([self._between(topology, *pair) for pair in pairs])[own]

    def _links(self, spots: list[Spot]) -> tuple[Ints, Ints]:
        """Numbers of the access links of endpoints, as replies cross them first and last."""
        first = [Suspect("direction", spot.link, spot.node or "") if spot.link else None for spot in spots]
        last = [Suspect("direction", spot.link, spot.leaf) if spot.link else None for spot in spots]
        return self._numbers(first), self._numbers(last)

    def _numbers(self, links: list[Suspect | None]) -> Ints:
        known = self.ends
        return _ints_of([UNKNOWN if link is None else known.setdefault(link, len(known)) for link in links])

    def _put(self, routes: Ints, placed: Ints) -> None:
        self.leaves[routes], self.first[routes], self.last[routes] = placed.T

    def _put_back(self, topology: Topology, table: Sequence[Route], routes: list[int]) -> None:
        if not _is_symmetric(topology):
            return
        for number in routes:
            src, _, path, _ = table[number]
            if path is not None:
                self.back[number] = frozenset(_backwards(topology, src, path))

    def _spot(self, topology: Topology, endpoint: str) -> Spot:
        found = self.spots.get(endpoint)
        if found is None:
            node, cable = topology.node_of(endpoint), topology.uplink(endpoint)
            several = node is not None and topology.has_several_uplinks(node)
            leaf = cable.far_end(node) if cable and node else None
            found = self.spots[endpoint] = Spot(node, several, cable.link if cable else None, leaf or "")
        return found

    def _between(self, topology: Topology, start: str, target: str) -> int:
        """The number of a pair of nodes between which replies are spread."""
        number = self.pairs.setdefault((start, target), len(self.pairs))
        if number == len(self.between):
            self.between.append(self._spread(topology, start, target))
        return number

    def weigh(self, suffering: float, expected: float) -> None:
        """Learns ``share`` from routes that only replies lead over faults: how many suffer, and how many should."""
        seen = (PRIOR_ROUTES * self.share + suffering) / (PRIOR_ROUTES + expected)
        self.share = min(max(seen, 0.0), 1.0)

    def _spread(self, topology: Topology, start: str, target: str) -> Chances:
        if target not in self.reach:
            self.reach[target] = distances(topology, target, ends=False)
        hops, chances = self.reach[target], Chances()
        if start not in hops:  # an RNIC: as far as the nearest of its switches, and one
            near = [
                hops[node] for cable in topology.neighbours.get(start, ()) if (node := cable.far_end(start)) in hops
            ]
            hops = hops | {start: min(near, default=-1) + 1}
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
