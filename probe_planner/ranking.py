"""What does a budget keep, and what does it leave out?

Two limits per endpoint or RNIC: ``targets`` peers of an endpoint, ``most`` probes of an RNIC in a pass. Pairs are taken
greedily until their ends are full:

1. half of each limit by importance: pairs of suspected endpoints first; then pairs with an end that nothing covers yet,
   so that as much as can be of the bursts' bytes, which are known by endpoint, is covered by some probe; then by rank;
2. the other half by age, longest left out first, then by rank. So everything has its turn (``rotate_s``), while the
   important half keeps its baseline.

Cost: O(pairs log pairs), only when a limit binds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from probe_planner.candidates import NamePair

LISTED = 1_000
"""Pairs left out that a plan lists; the others are only counted."""
TARGETS = "targets_per_rnic"
ROUND = "round_s"
MESSAGE = "max_probes"


@dataclass(frozen=True, slots=True)
class Limits:
    """None = not limited. ``rnic_of`` names the physical RNIC of each endpoint."""

    rnic_of: Mapping[str, str]
    targets: int | None
    most: int | None


@dataclass(slots=True)
class Selection:
    """Pairs that are kept, and those that are not with the part of the budget that says so."""

    kept: list[NamePair]
    left_out: dict[NamePair, str] = field(default_factory=dict)


def binds(pairs: Sequence[NamePair], limits: Limits) -> bool:
    """Whether not all pairs fit."""
    if limits.targets is None and limits.most is None:
        return False
    peers: dict[str, int] = {}
    for pair in pairs:
        for name in pair:
            peers[name] = peers.get(name, 0) + 1
    probes: dict[str, int] = {}
    for name, count in peers.items():
        probes[limits.rnic_of[name]] = probes.get(limits.rnic_of[name], 0) + count
    return any(
        limit is not None and max(counts.values(), default=0) > limit
        for counts, limit in ((peers, limits.targets), (probes, limits.most))
    )


def select(
    ranked: Sequence[NamePair], limits: Limits, suspected: Collection[str], left_since_us: Mapping[NamePair, int]
) -> Selection:
    """What fits of ``ranked`` (the most important first). ``left_since_us``: since when pairs have been left out."""
    room = _Room(limits)
    half = _Room(Limits(limits.rnic_of, _half(limits.targets), _half(limits.most)))
    first = sorted(ranked, key=lambda pair: not (pair[0] in suspected or pair[1] in suspected))
    covered: set[str] = set()
    kept: dict[NamePair, None] = {}
    for only_new in (True, False):
        for pair in first:
            new = pair[0] not in covered or pair[1] not in covered
            if (new or not only_new) and pair not in kept and half.take(pair):
                room.take(pair)
                covered.update(pair)
                kept[pair] = None
    never = max(left_since_us.values(), default=0) + 1
    rest = [pair for pair in ranked if pair not in kept]
    left_out = {}
    for pair in sorted(rest, key=lambda pair: left_since_us.get(pair, never)):
        if room.take(pair):
            kept[pair] = None
        else:
            left_out[pair] = room.why(pair)
    order = {pair: place for place, pair in enumerate(ranked)}
    return Selection(sorted(kept, key=order.__getitem__), dict(sorted(left_out.items(), key=lambda i: order[i[0]])))


def _half(limit: int | None) -> int | None:
    return None if limit is None else -(-limit // 2)


class _Room:
    """What is still free at each endpoint and RNIC."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.peers: dict[str, int] = {}
        self.probes: dict[str, int] = {}

    def why(self, pair: NamePair) -> str:
        """The limit that a pair does not fit; "" = it fits."""
        targets, most, rnic_of = self.limits.targets, self.limits.most, self.limits.rnic_of
        if targets is not None and any(self.peers.get(name, 0) >= targets for name in pair):
            return TARGETS
        if most is not None and any(self.probes.get(rnic_of[name], 0) >= most for name in pair):
            return ROUND
        return ""

    def take(self, pair: NamePair) -> bool:
        """Takes the room of a pair, if there is."""
        if self.why(pair):
            return False
        for name in pair:
            rnic = self.limits.rnic_of[name]
            self.peers[name] = self.peers.get(name, 0) + 1
            self.probes[rnic] = self.probes.get(rnic, 0) + 1
        return True
