"""Which links between neighbouring stages remain when something more is known than one rail's traffic shows?

Links in doubt form components: replicas that may be exchanged with one another between two stages. A set of *wanted*
links settles a component when it holds exactly one link for each of its endpoints. Otherwise the component stays as it
is: too many pairs, never too few.

One source of wanted links are the other rails. RNICs of one host serve the same or neighbouring ranks, so where a host
pair is a pipeline's on some rails for certain, it is so on the others, unless rails contradict each other. At least
``LEAST_VOTES`` rails must say so.

Cost: O(links).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skeleton.membership import Membership
from skeleton.structure import RailFinding

Pair = tuple[int, int]
Links = tuple[Pair, ...]

LEAST_VOTES = 2


def settle_by_rails(findings: Sequence[RailFinding], membership: Membership) -> list[RailFinding]:
    """The findings, with doubts of a rail settled by what the other rails are certain of."""
    hosts = membership.hosts
    votes: dict[tuple[str, str], int] = {}
    for finding in findings:
        for a, b in certain_links(finding):
            votes[_ordered(hosts[a], hosts[b])] = votes.get(_ordered(hosts[a], hosts[b]), 0) + 1
    trusted = {pair for pair, count in votes.items() if count >= LEAST_VOTES}
    return [
        restrict(finding, {(a, b) for a, b in finding.links if _ordered(hosts[a], hosts[b]) in trusted})
        if finding.knowledge == "paired"
        else finding
        for finding in findings
    ]


def certain_links(finding: RailFinding) -> set[Pair]:
    """Links whose both ends have no other in the same direction, of a rail whose replicas are known."""
    if finding.knowledge != "paired":
        return set()
    return {links[0] for links in _components(finding, finding.links) if len(links) == 1}


def restrict(finding: RailFinding, wanted: set[Pair]) -> RailFinding:
    """The finding with each component of its links reduced to the wanted ones, where those settle it."""
    links = sorted(pair for part in _components(finding, finding.links) for pair in _settled(part, wanted))
    if tuple(links) == tuple(sorted(finding.links)):
        return finding
    settled = replace(finding, links=tuple(links))
    chains = chains_of(settled)
    if chains is None:
        return settled
    ends = {(chain[0], chain[-1]) for chain in chains}
    kept = tuple(pair for pair in settled.end_links if pair in ends)
    return replace(settled, replicas=chains, end_links=kept or settled.end_links)


def chains_of(finding: RailFinding) -> tuple[tuple[int, ...], ...] | None:
    """The replicas in pipeline order, if every endpoint has exactly one link to each neighbouring stage."""
    after = dict(finding.links)
    if len(finding.stages) < 2 or len(after) != len(finding.links):
        return None
    chains = []
    for first in finding.stages[0]:
        chain = [first]
        while len(chain) < len(finding.stages):
            if chain[-1] not in after:
                return None
            chain.append(after[chain[-1]])
        chains.append(tuple(chain))
    members = sorted(member for chain in chains for member in chain)
    return tuple(chains) if members == sorted(finding.members) else None


def _components(finding: RailFinding, links: Links) -> list[list[Pair]]:
    """Links between the same two stages that touch one another."""
    stage_of = {member: number for number, stage in enumerate(finding.stages) for member in stage}
    parts: dict[tuple[int, int], list[list[Pair]]] = {}
    for a, b in sorted(links):
        groups = parts.setdefault((stage_of[a], stage_of[b]), [])
        touching = [group for group in groups if any(a == c or b == d for c, d in group)]
        groups[:] = [group for group in groups if group not in touching]
        groups.append([(a, b), *(pair for group in touching for pair in group)])
    return [sorted(group) for groups in parts.values() for group in groups]


def _settled(part: list[Pair], wanted: set[Pair]) -> list[Pair]:
    chosen = [pair for pair in part if pair in wanted]
    firsts, seconds = {a for a, _ in chosen}, {b for _, b in chosen}
    one_each = len(firsts) == len(chosen) == len(seconds)
    complete = firsts == {a for a, _ in part} and seconds == {b for _, b in part}
    return chosen if one_each and complete else part


def _ordered(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)
