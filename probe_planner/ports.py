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

from probe_planner.crossings import Crossings, flow_numbers
from probe_planner.hashing import Ints
from probe_planner.paths import Flows

FEWEST, MOST = 24, 96
"""Candidate ports per pair that could help: the more the fewer such pairs there are."""
LOOKED_AT = 50_000
"""Candidates in all, about."""
MOST_CONFUSED = 400
"""Pairs of links that are looked at in one plan."""


@dataclass(slots=True)
class PortChoice:
    """A port index per pair, its path, and ports of later turns: (pair, turn) -> port index."""

    port: Ints
    paths: Ints
    later: dict[tuple[int, int], int] = field(default_factory=dict)
    used: dict[int, int] = field(default_factory=dict)
    """Turns after the first that a pair has."""


@dataclass(frozen=True, slots=True)
class Aims:
    """``alpha`` probe paths per link, at most ``turns`` turns, port indices 0 .. ``span`` - 1."""

    alpha: int
    turns: int
    span: int


@dataclass(slots=True)
class _Search:
    """Candidate paths of some pairs, and which contain which link."""

    flows: Flows
    crossings: Crossings
    choice: PortChoice
    aims: Aims
    helpers: Ints
    ports: Ints
    paths: Ints
    each: int

    def having(self, link: int, other: int = -1) -> Ints:
        """Candidates (flat numbers) whose path has ``link`` and not ``other``."""
        flat = self.paths
        has = (flat == link).any(axis=1)
        if other >= 0:
            has &= ~(flat == other).any(axis=1)
        return np.flatnonzero(has)

    def move(self, entries: Ints) -> bool:
        """Moves the probe that can spare most; False: none can."""
        pairs = self.helpers[entries // self.each]
        old, new = self.choice.paths[pairs], self.paths[entries]
        kept = (old[:, :, None] == new[:, None, :]).any(axis=2)
        spare = np.where(kept, 1 << 30, self.crossings.crossed[old] - self.crossings.wanted(self.aims.alpha)[old])
        least = spare.min(axis=1, initial=1 << 30)
        best = int(np.argmax(least))
        if least[best] <= 0 or least[best] >= 1 << 30:
            return False
        pair, entry = pairs[best : best + 1], entries[best : best + 1]
        self._count(pair, self.choice.port[pair], self.choice.paths[pair], -1)
        self.choice.port[pair], self.choice.paths[pair] = self.ports[entry], self.paths[entry]
        self._count(pair, self.choice.port[pair], self.choice.paths[pair], 1)
        return True

    def in_a_turn(self, entries: Ints) -> bool:
        """Gives a probe the candidate's port in a later turn; False: all turns are taken."""
        pairs = self.helpers[entries // self.each]
        used = np.array([self.choice.used.get(pair, 0) for pair in pairs.tolist()])
        gain = (self.crossings.crossed < self.crossings.wanted(self.aims.alpha))[self.paths[entries]].sum(axis=1)
        free = (used < self.aims.turns - 1) & (self.ports[entries] != self.choice.port[pairs])
        if not free.any():
            return False
        rank = np.where(free, gain * self.aims.turns - used, -(1 << 30))
        best = int(np.argmax(rank))
        pair, entry = int(pairs[best]), entries[best : best + 1]
        self.choice.used[pair] = int(used[best]) + 1
        self.choice.later[pair, int(used[best]) + 1] = int(self.ports[entry[0]])
        self._count(pairs[best : best + 1], self.ports[entry], self.paths[entry], 1)
        return True

    def _count(self, pair: Ints, port: Ints, paths: Ints, sign: int) -> None:
        numbers = flow_numbers(self.flows.source[pair], self.flows.target[pair], port)
        self.crossings.add(paths, numbers, sign)


def choose_ports(flows: Flows, crossings: Crossings, choice: PortChoice, ways: Ints, aims: Aims) -> None:
    """Improves ``choice`` (already counted in ``crossings``) in place. ``ways``: what each pair could take."""
    short = crossings.short(aims.alpha)
    if len(short):
        search = _search(flows, crossings, choice, _helpers(ways, short, crossings), aims)
        for link in short.tolist():
            entries = search.having(link)
            while len(entries) and crossings.crossed[link] < crossings.wanted(aims.alpha)[link]:
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
    ports = (choice.port[helpers][:, None] + step * np.arange(each)) % aims.span
    pair = np.repeat(helpers, each)
    return _Search(flows, crossings, choice, aims, helpers, ports.ravel(), flows.hashed(pair, ports.ravel()), each)
