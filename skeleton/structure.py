"""From what was found on each rail to groups and edges, and nothing that was not found.

Edges of a rail, by what is known of it (never within a host, never between rails: no evidence here can show those):
- replicas and their stages ("paired"): a clique over each group that has collectives (``dp``, ``ep``; without bursts:
the
  endpoints of one stage), neighbours in the pipeline of one replica (``pp``; of all replicas that may be mistaken for
  it), and first with last stage (``emb``) if they were seen to exchange, or if both carry more than the middle (a
  shared embedding, cheap to probe);
- stages but not which endpoints form a replica ("staged"): the cliques, and *all* pairs of neighbouring stages; of all
  stages, if their order is not known;
- no pipeline at all, all endpoints alike ("single"): one ``dp`` clique;
- nothing ("unresolved"): all pairs, of kind ``unknown``: the basic list of the rail.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from schemas.skeletons import Edge, Group
from skeleton.membership import Membership

Knowledge = Literal["paired", "staged", "single", "unresolved"]
CircleKind = Literal["dp", "ep", "unknown"]
Members = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RailFinding:
    """What is known of one rail. ``stages``: endpoint indices per stage, in pipeline order if ``ordered``;
    ``replicas``: endpoint indices in pipeline order; ``circles``: groups that have collectives ((kind, members);
    none: the stages); ``shared_ends``: first and last stage exchange too. ``clarity``: how clearly all this stands
    out, 0..1.
    """

    rail: int
    members: Members
    knowledge: Knowledge
    stages: tuple[Members, ...] = ()
    replicas: tuple[Members, ...] = ()
    circles: tuple[tuple[CircleKind, Members], ...] = ()
    links: tuple[tuple[int, int], ...] = ()
    end_links: tuple[tuple[int, int], ...] = ()
    ordered: bool = False
    clarity: float = 1.0

    def twins(self) -> int:
        """Endpoints with several possible partners in the next stage."""
        if len(self.stages) < 2 or self.knowledge == "unresolved":
            return 0
        after = {member: stage for stage in self.stages for member in stage}
        partners = {(a, after[b]): 0 for a, b in self.links if a in after and b in after}
        for a, b in self.links:
            if a in after and b in after:
                partners[a, after[b]] += 1
        return len({a for (a, _), count in partners.items() if count > 1})

    def collective_groups(self) -> tuple[tuple[CircleKind, Members], ...]:
        """Groups whose members all exchange traffic."""
        if self.knowledge == "unresolved":
            return (("unknown", self.members),)
        return self.circles or tuple(("dp", stage) for stage in self.stages or (self.members,))


def build_groups(findings: Iterable[RailFinding], membership: Membership) -> tuple[Group, ...]:
    """Groups in a fixed order; members in pipeline order for ``pp``, else ascending."""
    groups: list[Group] = []
    for finding in findings:
        for kind, members in finding.collective_groups():
            groups.append(Group(kind=kind, members=_names(sorted(members), membership), rail=finding.rail))
        groups += [Group(kind="pp", members=_names(r, membership), rail=finding.rail) for r in finding.replicas]
    return tuple(groups)


def build_edges(findings: Iterable[RailFinding], membership: Membership) -> tuple[Edge, ...]:
    """Edges in ascending order, each pair once, under the most telling of its kinds."""
    kinds: dict[tuple[int, int], str] = {}
    names, hosts = membership.names, membership.hosts
    for finding in findings:
        for kind, pairs in _pairs(finding):
            for a, b in pairs:
                if hosts[a] != hosts[b]:
                    kinds.setdefault((a, b) if a < b else (b, a), kind)  # names ascend with their indices
    return tuple([(names[a], names[b], kinds[a, b]) for a, b in sorted(kinds)])


def _pairs(finding: RailFinding) -> list[tuple[str, Iterable[tuple[int, int]]]]:
    found: list[tuple[str, Iterable[tuple[int, int]]]] = [("pp", finding.links), ("emb", finding.end_links)]
    return found + [(kind, combinations(group, 2)) for kind, group in finding.collective_groups()]


def _names(indices: Sequence[int], membership: Membership) -> tuple[str, ...]:
    return tuple(membership.names[index] for index in indices)
