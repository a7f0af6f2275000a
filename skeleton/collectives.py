"""Which groups act together, and which pipelines pass messages, according to matched bursts?

A class of collective bursts is a *system* when its partner sets split the endpoints into groups: B is a partner of A
exactly if A is one of B, and so are their partners. Classes that do not (blunt edges lose some partners, endpoints in
step by chance add some) are no evidence; ``complete`` says whether systems carry nine tenths of the collective bytes.

The other classes are messages. Their targets make a graph; when it consists of paths of one length, those are
pipelines. Cost: O(pairs found).
"""

from __future__ import annotations

from dataclasses import dataclass

from skeleton.matching import BurstClass, Matches

Rows = tuple[int, ...]

COMPLETE = 0.9


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
    systems, good, total = [], 0.0, 0.0
    for one in matches.classes:
        if not one.collective:
            continue
        moved = sum(partner.size * partner.bursts for partner in one.partners)
        total += moved
        groups = _split(one)
        if groups is not None:
            good += moved
            bursts = sum(partner.bursts for partner in one.partners) / max(len(one.partners), 1)
            systems.append(System(groups, one.size, bursts))
    systems.sort(key=lambda system: (-system.bursts, system.size))
    return Collectives(tuple(systems), total > 0 and good >= COMPLETE * total)


def _split(one: BurstClass) -> tuple[Rows, ...] | None:
    """The groups of a class, if its sets are those of disjoint groups."""
    sets = {partner.row: frozenset((partner.row, *partner.sets[0])) for partner in one.partners if partner.sets}
    if not sets or len(sets) < len(one.partners):
        return None
    if any(sets.get(row) != group for group in sets.values() for row in group):
        return None
    return tuple(sorted({tuple(sorted(group)) for group in sets.values()}))


def find_message_chains(matches: Matches, rows: int) -> tuple[Rows, ...] | None:
    """Pipelines as paths of equal length over all rows,
    each from its lesser end; None: the messages are not like that.
    """
    neighbours: dict[int, set[int]] = {row: set() for row in range(rows)}
    for one in matches.classes:
        if one.collective:
            continue
        for partner in one.partners:
            for target in (row for found in partner.sets for row in found):
                neighbours[partner.row].add(target)
                neighbours[target].add(partner.row)
    ends = [row for row in range(rows) if len(neighbours[row]) == 1]
    paths = {path if path[0] < path[-1] else path[::-1] for path in (_walk(neighbours, end) for end in ends)}
    covered = [row for path in paths for row in path]
    if sorted(covered) != list(range(rows)) or len({len(path) for path in paths}) != 1:
        return None
    return tuple(sorted(paths))


def _walk(neighbours: dict[int, set[int]], start: int) -> Rows:
    """The path from one end; stops where it branches."""
    path, previous, here = [start], start, start
    while True:
        onward = neighbours[here] - {previous}
        if len(onward) != 1 or (here := next(iter(onward))) in path:
            return tuple(path)
        previous = path[-1]
        path.append(here)


def align_chains(chains: tuple[Rows, ...], collectives: Collectives) -> tuple[Rows, ...]:
    """The chains in one direction: turned so that members of one collective group have one place in their chains."""
    place = {row: index for chain in chains for index, row in enumerate(chain)}
    chain_of = {row: number for number, chain in enumerate(chains) for row in chain}
    last = len(chains[0]) - 1
    turned = {0: False}
    while len(turned) < len(chains):
        votes = _votes(turned, collectives, place, chain_of, last)
        for number in range(len(chains)):
            votes.setdefault(number, 0)
        number = max((n for n in votes if n not in turned), key=lambda n: (abs(votes[n]), -n))
        turned[number] = votes[number] < 0
    return tuple(chain[::-1] if turned[number] else chain for number, chain in enumerate(chains))


def _votes(
    turned: dict[int, bool], collectives: Collectives, place: dict[int, int], chain_of: dict[int, int], last: int
) -> dict[int, int]:
    """For each chain not yet turned:
    group members with the same place in chains that are, less those with the opposite.
    """
    votes: dict[int, int] = {}
    for group in (group for system in collectives.systems for group in system.groups):
        known = [last - place[row] if turned[chain_of[row]] else place[row] for row in group if chain_of[row] in turned]
        for row in group:
            if chain_of[row] not in turned:
                here = place[row]
                score = sum((there == here) - (there == last - here) for there in known)
                votes[chain_of[row]] = votes.get(chain_of[row], 0) + score
    return votes


def ends_meet(matches: Matches, chains: tuple[Rows, ...]) -> bool:
    """Whether in some class the first stage of each pipeline has the last stage, and nobody else, as its partner."""
    if len(chains[0]) < 3:
        return False
    wanted = {chain[0]: ((chain[-1],),) for chain in chains}
    return any(
        wanted.items() <= {partner.row: partner.sets for partner in one.partners}.items() for one in matches.classes
    )
