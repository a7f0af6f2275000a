"""What other rails know of pipelines, and a rail's own messages bear out, where these alone were not clear enough.

RNICs of one host often serve neighbouring ranks of one replica. So where at least ``LEAST_VOTES`` rails found the same
pipelines of hosts and no rail found others, an unresolved rail is asked about just these. It takes them when nine
tenths of its messages went along them, and everybody exchanged the most with one of its two neighbours: of two
witnesses neither alone would do. Edge cases: a host with two members on the rail, or none: nothing is taken.
Cost: O(n^2) per unresolved rail.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from skeleton.joining import certain_joints
from skeleton.matching import Matches
from skeleton.membership import Membership
from skeleton.pairing import LEAST_VOTES
from skeleton.rails import RailTraffic, as_paired
from skeleton.structure import RailFinding

Rows = tuple[int, ...]
HostChains = tuple[tuple[str, ...], ...]

BORROWED = 0.97
"""Clarity of a rail that needed the others."""


def borrow_chains(
    findings: Sequence[RailFinding], views: Sequence[RailTraffic], membership: Membership
) -> list[RailFinding]:
    """The findings, with pipelines of unresolved rails as the other rails have them, where messages bear them out."""
    chains = _agreed(findings, membership)
    if chains is None:
        return list(findings)
    return [
        _borrowed(view, chains, membership) or finding if finding.knowledge == "unresolved" else finding
        for finding, view in zip(findings, views, strict=True)
    ]


def _agreed(findings: Sequence[RailFinding], membership: Membership) -> HostChains | None:
    """The pipelines of hosts that all resolved rails have in common."""
    known = [f for f in findings if f.knowledge == "paired"]
    found = {
        tuple(sorted(tuple(membership.hosts[member] for member in chain) for chain in finding.replicas))
        for finding in known
    }
    if len(known) < LEAST_VOTES or len(found) != 1 or any(finding.twins() for finding in known):
        return None
    return found.pop()


def _borrowed(view: RailTraffic, chains: HostChains, membership: Membership) -> RailFinding | None:
    row_of = {membership.hosts[member]: row for row, member in enumerate(view.members)}
    hosts = sorted(host for chain in chains for host in chain)
    if view.matches is None or len(row_of) < len(view.members) or hosts != sorted(row_of):
        return None
    rows = tuple(tuple(row_of[host] for host in chain) for chain in chains)
    return as_paired(view, certain_joints(rows), BORROWED) if _borne_out(view.matches, rows) else None


def _borne_out(matches: Matches, chains: tuple[Rows, ...]) -> bool:
    near = np.zeros(matches.met.shape, dtype=bool)
    for chain in chains:
        for a, b in pairwise(chain):
            near[a, b] = near[b, a] = True
    passed = matches.met + matches.met.T
    np.fill_diagonal(passed, 0)
    closest = passed.argmax(axis=1)
    return bool(near[np.arange(len(near)), closest].all()) and matches.explained_in_all(near)
