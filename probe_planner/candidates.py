"""Which pairs could be probed, the most important first, and which of them concern a given endpoint?

Without a trusted skeleton the pairs are the *basic list*: same rail, different host. It holds every pair that a
rail-optimised job can use between hosts and is about 8 times shorter than the full mesh; pairs that users added are
probed too, be they between rails. With a trusted skeleton they are its edges. Never an endpoint with itself or with
another of its host.

Importance decides only what a budget keeps: pipeline edges first (a replica has few of them and each is on the critical
path), then clique edges by the distance of their ends around the ring of the rail's endpoints, so that a short list
still reaches every endpoint equally; beside the basic list, what users added comes first. The ring is that of all
listed endpoints, ready or not, so that nobody's coming changes the other pairs of a thinned list. Cost: O(pairs log
pairs); ``around`` O(peers).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from probe_planner.roster import Roster
from schemas.maps import Endpoint
from schemas.skeletons import Edge

KIND_RANK = {"pp": 0, "emb": 1, "ep": 2, "dp": 3}
"""Kinds of edges by importance; others come last."""

USER = "user"
"""Kind of the edges that users added."""

NamePair = tuple[str, str]


class Candidates(Protocol):
    """Pairs of endpoint names, each ascending."""

    def all(self, roster: Roster) -> list[NamePair]:
        """All pairs whose ends are usable, in an order that depends on nothing but the pairs."""

    def ranked(self, pairs: Iterable[NamePair]) -> list[NamePair]:
        """The most important first."""

    def around(self, name: str, roster: Roster) -> list[NamePair]:
        """The pairs of one endpoint whose other end is usable, whether or not it is itself."""


@dataclass(slots=True)
class SkeletonCandidates:
    """The edges of a skeleton. ``rank`` by pair: its kind's; ``peers`` by endpoint."""

    rank: dict[NamePair, int]
    place: dict[str, tuple[int, int]]
    peers: dict[str, list[str]]

    def all(self, roster: Roster) -> list[NamePair]:
        """See ``Candidates``."""
        usable = roster.usable
        host = {name: endpoint.host for name, endpoint in usable.items()}
        return [(a, b) for a, b in self.rank if a in host and b in host and host[a] != host[b]]

    def any(self, roster: Roster) -> bool:
        """Whether there is a pair."""
        usable = roster.usable
        return any(a in usable and b in usable and usable[a].host != usable[b].host for a, b in self.rank)

    def ranked(self, pairs: Iterable[NamePair]) -> list[NamePair]:
        """See ``Candidates``."""
        return sorted(pairs, key=lambda pair: (self.rank[pair], _apart(self.place, *pair), pair))

    def around(self, name: str, roster: Roster) -> list[NamePair]:
        """See ``Candidates``."""
        return _pairs_with(name, (peer for peer in self.peers.get(name, ()) if peer in roster.usable), roster)


@dataclass(slots=True)
class BasicCandidates:
    """Same rail, different host, at most ``gaps`` apart on the rail's ring; ``rails``: the ring of each rail.

    ``wanted``: pairs that users want; ``added``: those of them that are not in the list.
    """

    rails: dict[int, list[str]]
    place: dict[str, tuple[int, int]]
    rail_of: dict[str, int]
    gaps: int
    wanted: tuple[NamePair, ...] = ()
    added: frozenset[NamePair] = frozenset()

    def all(self, roster: Roster) -> list[NamePair]:
        """See ``Candidates``."""
        host = {name: endpoint.host for name, endpoint in roster.usable.items()}
        found = []
        for rail in sorted(self.rails):
            ring = self.rails[rail]
            size = len(ring)
            for here, name in enumerate(ring):
                if name in host:
                    reach = range(1, min(self.gaps, size // 2) + 1)
                    found += [
                        (name, other) if name < other else (other, name)
                        for gap in reach
                        if (2 * gap < size or here < gap)
                        and (other := ring[(here + gap) % size]) in host
                        and host[other] != host[name]
                    ]
        return found + [(a, b) for a, b in sorted(self.added) if a in host and b in host and host[a] != host[b]]

    def ranked(self, pairs: Iterable[NamePair]) -> list[NamePair]:
        """See ``Candidates``."""
        return sorted(
            pairs,
            key=lambda pair: (pair not in self.added, _apart(self.place, *pair), self.rail_of[pair[0]], pair),
        )

    def around(self, name: str, roster: Roster) -> list[NamePair]:
        """See ``Candidates``."""
        if name not in self.rail_of:
            return []
        ring = self.rails[self.rail_of[name]]
        near = [n for n in ring if n in roster.usable and n != name and _apart(self.place, n, name) <= self.gaps]
        near += [b if a == name else a for a, b in sorted(self.added) if name in (a, b)]
        return _pairs_with(name, (other for other in near if other in roster.usable), roster)

    def beyond(self, roster: Roster) -> int:
        """How many pairs of usable endpoints did not fit into one message: those further apart than ``gaps``."""
        whole = 0
        for ring in self.rails.values():
            hosts: dict[str, int] = {}
            for name in ring:
                if name in roster.usable:
                    hosts[roster.usable[name].host] = hosts.get(roster.usable[name].host, 0) + 1
            count = sum(hosts.values())
            whole += (count * count - sum(each * each for each in hosts.values())) // 2
        if not self.thinned:
            return 0
        return whole - sum(self.rail_of[a] == self.rail_of[b] for a, b in self.all(roster))

    def first_beyond(self, roster: Roster, limit: int) -> list[NamePair]:
        """Some of those, the next gap of the rings."""
        usable, found = roster.usable, []
        for ring in self.rails.values():
            if self.gaps + 1 > len(ring) // 2:
                continue  # all pairs of this rail are in
            reach = range(len(ring)) if 2 * (self.gaps + 1) < len(ring) else range(len(ring) // 2)
            for here in reach:
                a, b = ring[here], ring[(here + self.gaps + 1) % len(ring)]
                if a in usable and b in usable and usable[a].host != usable[b].host:
                    found.append((a, b) if a < b else (b, a))
        return [pair for pair in found if pair not in self.added][:limit]

    @property
    def thinned(self) -> bool:
        """Whether pairs are left out."""
        return any(self.gaps < len(ring) // 2 for ring in self.rails.values())


def skeleton_candidates(edges: Sequence[Edge], roster: Roster) -> SkeletonCandidates:
    """The edges of a skeleton; of two kinds between the same ends the more important counts."""
    rank: dict[NamePair, int] = {}
    peers: dict[str, list[str]] = {}
    for a, b, kind in edges:
        pair = (a, b) if a < b else (b, a)
        known, new = rank.get(pair), KIND_RANK.get(kind, len(KIND_RANK))
        if known is None:
            peers.setdefault(a, []).append(b)
            peers.setdefault(b, []).append(a)
            rank[pair] = new
        elif new < known:
            rank[pair] = new
    return SkeletonCandidates(rank, _places(_rings(roster.listed)), peers)


def user_edges(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Those that users added to a skeleton; they are wanted whether or not it is trusted."""
    return tuple(edge for edge in edges if edge[2] == USER)


def basic_candidates(roster: Roster, most: int, wanted: Iterable[NamePair] = ()) -> BasicCandidates:
    """The basic list, thinned to the nearest on the ring when there are more than ``most`` pairs, and the pairs
    ``wanted`` besides that are not in it.
    """
    rails = _rings(roster.listed)
    sizes = [len(ring) for ring in rails.values()]
    gaps, total = 0, 0
    for gap in range(1, max(sizes, default=0) // 2 + 1):
        total += sum(size // 2 if 2 * gap == size else size for size in sizes if 2 * gap <= size)
        if total > most:
            break
        gaps = gap
    place, rail_of = _places(rails), {n: rail for rail, ring in rails.items() for n in ring}
    pairs = tuple((a, b) if a < b else (b, a) for a, b in wanted)
    added = frozenset(
        (a, b)
        for a, b in pairs
        if a in rail_of and b in rail_of and (rail_of[a] != rail_of[b] or _apart(place, a, b) > gaps)
    )
    return BasicCandidates(rails, place, rail_of, gaps, pairs, added)


def _rings(endpoints: Mapping[str, Endpoint]) -> dict[int, list[str]]:
    rails: dict[int, list[str]] = {}
    for name in sorted(endpoints):
        rails.setdefault(endpoints[name].rail, []).append(name)
    return rails


def _places(rings: Mapping[int, Sequence[str]]) -> dict[str, tuple[int, int]]:
    return {name: (index, len(ring)) for ring in rings.values() for index, name in enumerate(ring)}


def _apart(place: Mapping[str, tuple[int, int]], a: str, b: str) -> int:
    one, two = place.get(a, (0, 1)), place.get(b, (0, 1))
    apart = abs(one[0] - two[0])
    return min(apart, max(one[1], two[1]) - apart)


def _pairs_with(name: str, others: Iterable[str], roster: Roster) -> list[NamePair]:
    return [(name, other) if name < other else (other, name) for other in _elsewhere(name, others, roster)]


def _elsewhere(name: str, others: Iterable[str], roster: Roster) -> Iterator[str]:
    own = roster.listed.get(name)
    return (other for other in others if own is None or roster.usable[other].host != own.host)
