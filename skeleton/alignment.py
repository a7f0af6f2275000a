"""Does fresh traffic still fit a skeleton? The share of it that the skeleton's groups and edges account for, 0..1.

Three things are asked of the newest traffic:
- *messages*, *collectives*: of the bytes that endpoints of a rail sent in either, for which share did a neighbour of
  the sender receive a burst of that size at that time? How blunt edges are is measured as in ``matching``.
- *balance*: 1 - residual of the pipelines (see ``balance``): what a replica's stages send each other cancels.

Not everything can be accounted for even by a right skeleton (traffic between rails; samples taken at different
instants). So fresh answers are compared with those that the skeleton gave when it was found, and an answer that was
weak then (below ``TELLING``) tells nothing now. A skeleton that keeps all pairs of a rail always fits.

Cost: as ``matching`` for the fresh bursts, O(n T) for the balances.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from schemas.skeletons import Edge, Group
from skeleton.balance import is_lopsided, residual
from skeleton.bursts import BurstLog
from skeleton.matching import ALWAYS, Matches, fresh_classes
from skeleton.membership import Membership
from skeleton.resampling import Traffic

Fit = dict[str, float]
"""Answers by question: ``messages``, ``collectives``, ``balance``; a question that can't be answered is left out."""

TELLING = 0.7
DRIFTED = 0.75
"""A skeleton has drifted when an answer falls below this share of what it was when it was found."""

CANCELS = 0.9
"""With less than this cancelled in all, a few instants that hold the rest may be a matter of when samples fell."""

LEAST_MESSAGES = 20


def alignment(
    groups: Sequence[Group],
    edges: Sequence[Edge],
    traffic: Traffic,
    bursts: BurstLog,
    membership: Membership,
    matches: Mapping[int, Matches] | None = None,
) -> Fit:
    """How well the traffic fits. ``bursts`` since the beginning of ``traffic``; ``matches``: of these, by rail, where
    they have been found already.
    """
    found = _matched(edges, bursts, membership, traffic.start_us, matches or {})
    balanced = _balanced(groups, traffic, membership)
    return found if balanced is None else {**found, "balance": round(balanced, 4)}


def drifted(fresh: Fit, usual: Fit) -> str | None:
    """The answer that fell the most, if one fell too far."""
    telling = [name for name in sorted(fresh) if usual.get(name, 0.0) >= TELLING]
    worst = min(telling, key=lambda name: fresh[name] / usual[name], default=None)
    return worst if worst is not None and fresh[worst] < DRIFTED * usual[worst] else None


def _balanced(groups: Sequence[Group], traffic: Traffic, membership: Membership) -> float | None:
    """1 - residual of the pipelines over the seconds in which everybody in them is known; None: can't be told."""
    index = {name: number for number, name in enumerate(membership.names)}
    chains = [[index[name] for name in group.members] for group in groups if group.kind == "pp"]
    if not chains:
        return None
    rows = sorted({row for chain in chains for row in chain})
    place = {row: number for number, row in enumerate(rows)}
    balance = traffic.tx[rows] - traffic.rx[rows]
    known = balance[:, ~np.isnan(balance).any(axis=0)]
    if known.shape[1] < 2 or not (known**2).sum() > 0:
        return None
    replicas = [[place[row] for row in chain] for chain in chains]
    cancelled = 1.0 - min(residual(known, replicas), 1.0)
    if cancelled < CANCELS and is_lopsided(np.array([known[replica].sum(axis=0) for replica in replicas])):
        return None  # messages cut by a sampling instant now and then, as clocks differ: that tells nothing
    return cancelled


def _matched(
    edges: Sequence[Edge], bursts: BurstLog, membership: Membership, since_us: int, matches: Mapping[int, Matches]
) -> Fit:
    """The matched share of the bytes of messages and of collectives, over all rails."""
    if not bursts.series:
        return {}
    index = {name: number for number, name in enumerate(membership.names)}
    neighbours: dict[int, list[int]] = {number: [] for number in index.values()}
    for a, b, _ in edges:
        neighbours[index[a]].append(index[b])
        neighbours[index[b]].append(index[a])
    fitting, moved, count = {True: 0.0, False: 0.0}, {True: 0.0, False: 0.0}, {True: 0, False: 0}
    for rail, members in membership.by_rail().items():
        names = [membership.names[member] for member in members]
        series = [bursts.series[name] for name in names if name in bursts.series]
        if len(series) < len(names):
            continue
        near = _near(members, neighbours)
        if not near.any():
            continue
        known = matches[rail].sent if rail in matches else fresh_classes(series, since_us)
        for row, size, met, together in known:
            collective = together >= ALWAYS
            fits = (met & near[row]).any(axis=1)
            fitting[collective] += float(size[fits].sum())
            moved[collective] += float(size.sum())
            count[collective] += len(size)
    names_of = {False: "messages", True: "collectives"}
    telling = [kind for kind in (False, True) if count[kind] >= LEAST_MESSAGES and moved[kind] > 0]
    return {names_of[kind]: round(fitting[kind] / moved[kind], 4) for kind in telling}


def _near(members: Sequence[int], neighbours: Mapping[int, Sequence[int]]) -> NDArray[np.bool_]:
    """Which members of a rail are neighbours, (n, n)."""
    place = {member: row for row, member in enumerate(members)}
    near = np.zeros((len(members), len(members)), dtype=bool)
    for row, member in enumerate(members):
        near[row, [place[other] for other in neighbours[member] if other in place]] = True
    return near
