"""Which groups act together, and which pipelines pass messages, according to matched bursts?

A class of collective bursts in which everybody has partners is a *system*: its partner sets split the endpoints into
groups, an endpoint with its partners, their partners, and so on (endpoints that are in step by chance join two groups:
too many pairs, never too few). A class in which somebody lacks partners (edges too blunt, a receiver that does not
report) is no evidence; ``complete`` says whether such classes carry next to nothing.

The other classes are messages. Their targets make a graph; when it consists of paths of one length, those are
pipelines. Cost: O(pairs found).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from schemas.instants import SECOND_US
from skeleton.matching import BurstClass, Matches

Rows = tuple[int, ...]

PAUSE, LEAST_PAUSES, LEADING = 0.2, 2, 0.5
UNANIMOUS = 0.8
NEIGHBOURS = 0.4
INCOMPLETE = 0.005
"""Share of the collective bytes that may be in classes that are no evidence."""


@dataclass(frozen=True, slots=True)
class System:
    """Disjoint groups of rows, by their least row, that have collectives of ``size`` bytes; ``bursts`` seen per row."""

    groups: tuple[Rows, ...]
    size: float
    bursts: float


@dataclass(frozen=True, slots=True)
class Collectives:
    """All systems, the most frequent first."""

    systems: tuple[System, ...]
    complete: bool


def find_collectives(matches: Matches) -> Collectives:
    """The systems behind the collective classes."""
    systems, lost, total = [], 0.0, 0.0
    for one in matches.classes:
        if not one.collective:
            continue
        moved = sum(partner.size * partner.bursts for partner in one.partners)
        total += moved
        groups = _split(one)
        if groups is None:
            lost += moved
        else:
            bursts = sum(partner.bursts for partner in one.partners) / max(len(one.partners), 1)
            systems.append(System(groups, one.size, bursts))
    systems.sort(key=lambda system: (-system.bursts, system.size))
    return Collectives(tuple(systems), total > 0 and lost <= INCOMPLETE * total)


def _split(one: BurstClass) -> tuple[Rows, ...] | None:
    """The groups of a class, if everybody in it has partners."""
    groups: list[set[int]] = []
    for partner in one.partners:
        if not partner.sets:
            return None
        mine = {partner.row, *partner.sets[0]}
        touching = [group for group in groups if group & mine]
        groups = [group for group in groups if not group & mine]
        groups.append(mine.union(*touching))
    return tuple(sorted(tuple(sorted(group)) for group in groups))


def find_message_chains(matches: Matches) -> tuple[Rows, ...] | None:
    """Pipelines as paths of equal length over all rows, each from its lesser end; None: the messages are not like that.

    Rows are neighbours when each is one of the two with which the other may have exchanged the most messages, and
    these come to two fifths of those of the best candidate of both: bystanders receive something like a message now
    and then, a partner every time. Nearly all messages of every row must then have gone to a neighbour.
    """
    passed = matches.met + matches.met.T
    np.fill_diagonal(passed, 0)
    best = passed.max(axis=1)
    second = np.sort(passed, axis=1)[:, -2] if len(passed) > 2 else np.zeros(len(passed))
    near = (passed > 0) & (passed >= np.maximum(second[:, None], second[None, :]))
    near &= passed >= NEIGHBOURS * np.maximum(best[:, None], best[None, :])
    count = near.sum(axis=1)
    if not ((count >= 1) & (count <= 2)).all() or not matches.explained_by(near):
        return None
    neighbours = {row: {int(other) for other in np.nonzero(near[row])[0]} for row in range(len(near))}
    ends = [row for row in neighbours if len(neighbours[row]) == 1]
    paths = {path if path[0] < path[-1] else path[::-1] for path in (_walk(neighbours, end) for end in ends)}
    covered = sorted(row for path in paths for row in path)
    if covered != list(neighbours) or len({len(path) for path in paths}) != 1:
        return None
    return tuple(sorted(paths))


def _walk(neighbours: dict[int, set[int]], start: int) -> Rows:
    """The path from one end to the other; nobody has more than two neighbours."""
    path, onward = [start], neighbours[start]
    while onward:
        path.append(next(iter(onward)))
        onward = neighbours[path[-1]] - {path[-2]}
    return tuple(path)


def direct_chains(
    chains: tuple[Rows, ...], collectives: Collectives, matches: Matches, period_s: float
) -> tuple[Rows, ...] | None:
    """The chains in one direction, as who leads and who has collectives with whom say; None: they don't, or not alike.

    Which end is the first stage is known only from the former.
    """
    led = lead_chains(chains, matches, period_s)
    voted = align_chains(led or chains, collectives)
    if led is None or voted is None:
        return led or voted
    return led if voted == led else None


def lead_chains(chains: tuple[Rows, ...], matches: Matches, period_s: float) -> tuple[Rows, ...] | None:
    """The chains, first stage first: after the pause between two steps it is the first of both ends to send a message.

    None: some chain does not do so most of the time. A pause is ``PAUSE`` of the period or more.
    """
    turned = []
    for chain in chains:
        starts = [matches.message_starts[chain[0]], matches.message_starts[chain[-1]]]
        at_us = np.concatenate(starts)
        ends = np.repeat([1, -1], [len(one) for one in starts])
        order = np.argsort(at_us, kind="stable")
        leaders = ends[order][1:][np.diff(at_us[order]) >= PAUSE * period_s * SECOND_US]
        if len(leaders) < LEAST_PAUSES or abs(float(leaders.mean())) < LEADING:
            return None
        turned.append(chain if leaders.sum() > 0 else chain[::-1])
    return tuple(turned)


def align_chains(chains: tuple[Rows, ...], collectives: Collectives) -> tuple[Rows, ...] | None:
    """The chains in one direction: turned so that members of one collective group have one place in their chains.

    None: for some chain the groups do not say so, or contradict each other.
    """
    place = {row: index for chain in chains for index, row in enumerate(chain)}
    chain_of = {row: number for number, chain in enumerate(chains) for row in chain}
    last = len(chains[0]) - 1
    turned = {0: False}
    while len(turned) < len(chains):
        votes = _votes(turned, collectives, place, chain_of, last)
        number = max(votes, key=lambda n: (votes[n][1], -n), default=None)
        if number is None or abs(votes[number][0]) < UNANIMOUS * votes[number][1]:
            return None
        turned[number] = votes[number][0] < 0
    return tuple(chain[::-1] if turned[number] else chain for number, chain in enumerate(chains))


def _votes(
    turned: dict[int, bool], collectives: Collectives, place: dict[int, int], chain_of: dict[int, int], last: int
) -> dict[int, tuple[int, int]]:
    """For each chain not yet turned: group members with the same place in chains that are, less those with the opposite
    place; and the sum of both. Chains about which nothing is said are left out. A group with two members of one chain
    spans stages, or is several that act at once, and says nothing of places.
    """
    votes: dict[int, tuple[int, int]] = {}
    for group in (group for system in collectives.systems for group in system.groups):
        if len({chain_of[row] for row in group}) < len(group):
            continue
        known = [last - place[row] if turned[chain_of[row]] else place[row] for row in group if chain_of[row] in turned]
        for row in group:
            if chain_of[row] not in turned and 2 * place[row] != last:
                same, opposite = known.count(place[row]), known.count(last - place[row])
                score, total = votes.get(chain_of[row], (0, 0))
                if same + opposite:
                    votes[chain_of[row]] = score + same - opposite, total + same + opposite
    return votes


def ends_meet(matches: Matches, chains: tuple[Rows, ...]) -> bool:
    """Whether in some class the first stage of each pipeline has the last stage, and nobody else, as its partner."""
    if len(chains[0]) < 3:
        return False
    wanted = {chain[0]: ((chain[-1],),) for chain in chains}
    return any(
        wanted.items() <= {partner.row: partner.sets for partner in one.partners}.items() for one in matches.classes
    )
