"""From which source ports shall probes be sent, so that they cross every link that the job's traffic can take?

Where the map tells the switches' hash, a port is a path. Each directed pair begins with its own port, a hash of its
names, so ports stay the same from plan to plan. Then, greedily:

1. a link that fewer than ``alpha`` probe paths cross gets a probe that can spare its present path: every link of
   it that the new path lacks is crossed by more than it needs; the probe with most to spare moves;
2. two links that the same probes cross, though paths could tell them apart, get a probe that crosses one of them: one
   that can spare its path, as above;
3. what no probe can be moved for is left to *turns*: in a later turn (some rounds) a probe changes to the port that
   serves the link, while in turn 0 it keeps its own. The probe with the fewest turns so far, in the first turn that
   it has free, at most ``turns`` in all. A job with few pairs covers many parallel paths like this over some rounds.

Candidates are ``FEWEST`` to ``MOST`` ports of each pair that could help. Greedy choice is not the optimum, but what
remains uncrossed is counted in the plan. Cost: 0.1 ms per link that is short; linear in pairs otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from probe_planner.crossings import Crossings, Sums, flow_numbers
from probe_planner.hashing import Ints
from probe_planner.paths import Flows

FEWEST, MOST = 24, 48
"""Candidate ports per pair that could help: the more the fewer such pairs there are."""
LOOKED_AT = 50_000
"""Candidates in all, about."""
WEIGHED = 96
"""Candidates that are weighed against each other for one link."""
PLENTY = 1 << 30
NOBODY: Ints = np.zeros(0, dtype=np.int64)
MOST_CONFUSED = 400
"""Pairs of links that are looked at in one plan."""


@dataclass(slots=True)
class PortChoice:
    """By pair its port index, path, number and the further turns it has; ports of those: (pair, turn) -> port index."""

    port: Ints
    paths: Ints
    number: Sums
    used: Ints
    later: dict[tuple[int, int], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Aims:
    """``alpha`` probe paths per link, at most ``turns`` turns, port indices 0 .. ``span`` - 1."""

    alpha: int
    turns: int
    span: int


@dataclass(slots=True)
class _Search:
    """Candidate paths of some pairs: ``pair``, ``port``, ``number`` and ``paths`` by candidate.

    ``order`` and ``starts``: candidates by link; ``wanted``: probe paths by link; ``spent``: candidates that a turn
    has.
    """

    crossings: Crossings
    choice: PortChoice
    aims: Aims
    wanted: Ints
    pair: Ints
    port: Ints
    number: Sums
    paths: Ints
    order: Ints
    starts: Ints
    spent: npt.NDArray[np.bool_]

    def having(self, link: int, other: int = -1) -> Ints:
        """Candidates whose path has ``link`` and not ``other``, not more than ``WEIGHED``."""
        found = self.order[self.starts[link] : self.starts[link + 1]]
        if other >= 0:
            found = found[~(self.paths[found] == other).any(axis=1)]
        return found[:: max(1, len(found) // WEIGHED)]

    def missing(self, link: int) -> bool:
        """Whether too few probe paths cross a link."""
        return bool(self.crossings.crossed[link] < self.wanted[link])

    def move(self, entries: Ints) -> bool:
        """Moves the probe that can spare most; False: none can."""
        pairs = self.pair[entries]
        old, new = self.choice.paths[pairs], self.paths[entries]
        kept = (old[:, :, None] == new[:, None, :]).any(axis=2)
        spare = np.where(kept, PLENTY, self.crossings.crossed[old] - self.wanted[old])
        least = spare.min(axis=1, initial=PLENTY)
        best = int(least.argmax())
        if least[best] <= 0 or least[best] >= PLENTY:
            return False
        pair, entry = int(pairs[best]), int(entries[best])
        self.crossings.add_one(self.choice.paths[pair], self.choice.number[pair], -1)
        self.choice.port[pair], self.choice.paths[pair] = self.port[entry], self.paths[entry]
        self.choice.number[pair] = self.number[entry]
        self.crossings.add_one(self.paths[entry], self.number[entry], 1)
        return True

    def in_a_turn(self, entries: Ints) -> bool:
        """Gives a probe the candidate's port in a later turn; False: all turns are taken."""
        pairs = self.pair[entries]
        used = self.choice.used[pairs]
        free = (used < self.aims.turns - 1) & ~self.spent[entries] & (self.port[entries] != self.choice.port[pairs])
        if not free.any():
            return False
        gain = (self.crossings.crossed < self.wanted)[self.paths[entries]].sum(axis=1)
        best = int(np.where(free, gain * self.aims.turns - used, -PLENTY).argmax())
        pair, entry = int(pairs[best]), int(entries[best])
        self.spent[entry] = True
        self.choice.used[pair] += 1
        self.choice.later[pair, int(self.choice.used[pair])] = int(self.port[entry])
        self.crossings.add_one(self.paths[entry], self.number[entry], 1)
        return True


def choose_ports(flows: Flows, crossings: Crossings, choice: PortChoice, ways: Ints, aims: Aims) -> None:
    """Improves ``choice`` (already counted in ``crossings``) in place. ``ways``: what each pair could take."""
    short = crossings.short(aims.alpha)
    if len(short):
        search = _search(flows, crossings, choice, _helpers(ways, short, crossings), aims)
        for link in short.tolist():
            entries = search.having(link) if search.missing(link) else NOBODY
            while len(entries) and search.missing(link):
                if not search.move(entries) and not search.in_a_turn(entries):
                    break
    confused = crossings.confused()[:MOST_CONFUSED]
    if len(confused):
        search = _search(flows, crossings, choice, _helpers(ways, np.unique(confused), crossings), aims)
        for one, two in confused.tolist():
            if crossings.taken[one] == crossings.taken[two]:
                _tell_apart(search, one, two)


def _tell_apart(search: _Search, one: int, two: int) -> None:
    for link, other in ((one, two), (two, one)):
        entries = search.having(link, other)
        if len(entries) and (search.move(entries) or search.in_a_turn(entries)):
            return


def _helpers(ways: Ints, links: Ints, crossings: Crossings) -> Ints:
    """Pairs that could take one of these links."""
    interesting = np.zeros(len(crossings.crossed), dtype=bool)
    interesting[links] = True
    return np.flatnonzero(interesting[ways].any(axis=(1, 2)))


def _search(flows: Flows, crossings: Crossings, choice: PortChoice, helpers: Ints, aims: Aims) -> _Search:
    step = max(1, int(aims.span * 0.381966)) | 1
    each = min(MOST, max(FEWEST, LOOKED_AT // max(1, len(helpers))), aims.span)
    port = ((choice.port[helpers][:, None] + step * np.arange(each)) % aims.span).ravel()
    pair = np.repeat(helpers, each)
    paths, links = flows.hashed(pair, port), len(crossings.crossed)
    order = np.argsort(paths % links, axis=None, kind="stable")
    spent = np.zeros(len(pair), dtype=bool)
    if choice.later:
        spent = np.isin(pair * aims.span + port, [row * aims.span + later for (row, _), later in choice.later.items()])
    return _Search(
        crossings=crossings,
        choice=choice,
        aims=aims,
        wanted=crossings.wanted(aims.alpha),
        pair=pair,
        port=port,
        number=flow_numbers(flows.source[pair], flows.target[pair], port),
        paths=paths,
        order=order // paths.shape[1],
        starts=np.searchsorted((paths % links).ravel()[order], np.arange(links + 1)),
        spent=spent,
    )


def own_choice(flows: Flows, port: Ints) -> PortChoice:
    """Every pair with its own port."""
    paths = flows.hashed(np.arange(len(port)), port)
    return PortChoice(port.copy(), paths, flow_numbers(flows.source, flows.target, port), np.zeros_like(port))
