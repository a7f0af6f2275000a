"""How is the job parallelised? Degrees from what was found on the rails, for people; nothing else depends on it.

pp = stages of a rail. tp = RNICs of one container that act as one: ranks of a tensor-parallel group send the same at
the same time, while replicas on the same host drift apart like those on other hosts. With the balances d (smoothed over
three seconds, if rails are polled at different instants) of endpoints in one stage, rails r and s belong to one
group when

    median |d_r - d_s|^2 over containers  <  ONE_GROUP * median |d_a - d_b|^2 over replicas a, b of one rail.

dp and ep = members of such a group on one rail times the replicas side by side in a container. Where replicas are in
step that can't be told, and the published estimate stands: dp = endpoints of a stage on a rail, tp = what is left.
Degrees that a scheduler gave are taken where pp agrees and the product is right. Cost: O(endpoints x seconds).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from schemas.maps import Parallelism
from skeleton.balance import has_signal, residual
from skeleton.membership import Membership
from skeleton.resampling import Traffic
from skeleton.structure import RailFinding

FloatArray = NDArray[np.float64]

ONE_GROUP = 0.5
IN_STEP, ABOVE_NOISE = 0.02, 4.0
"""Replicas whose balances differ by less than this share, or by less than so many times what does not cancel within
them, are in step as far as samples show: they tell nothing.
"""

COMPARED = 12
"""So many pairs of endpoints are compared per rail."""


def estimate_degrees(
    findings: Sequence[RailFinding], traffic: Traffic, membership: Membership, together: bool
) -> Parallelism:
    """The degrees; unknown where rails disagree on the stages, nothing is known of one, or messages leave the rails.

    ``together``: whether all rails were sampled at the same instants; else differences of seconds tell nothing.
    """
    shapes = {(len(f.stages), len(f.stages[0])) for f in findings if f.stages}
    if len(shapes) != 1 or any(f.knowledge == "unresolved" for f in findings):
        return Parallelism()
    (stages, size), ranks = shapes.pop(), len(membership.names)
    if stages == 1 and has_signal(traffic.tx - traffic.rx, traffic.tx):
        return Parallelism()  # messages go somewhere, between rails or within hosts
    group = _group_size(findings, traffic, membership, together)
    tp = group or max(ranks // (stages * size), 1)
    side_by_side = max(ranks // (stages * size * tp), 1)
    circles = {kind: {len(m) for f in findings for k, m in f.circles if k == kind} for kind in ("dp", "ep")}
    dp = circles["dp"].pop() if len(circles["dp"]) == 1 else size
    ep = circles["ep"].pop() if len(circles["ep"]) == 1 else None
    return Parallelism(tp=tp, pp=stages, dp=dp * side_by_side, ep=ep and ep * side_by_side)


def check_degrees(found: Parallelism, hinted: Parallelism | None, ranks: int) -> tuple[Parallelism, str | None]:
    """The hinted degrees where they agree with what was found; and whether they do (None: there are none)."""
    if hinted is None or hinted.pp is None or hinted.tp is None or hinted.dp is None:
        return found, None
    product = hinted.tp * hinted.pp * hinted.dp
    if found.pp is None:
        return found, "unchecked"
    agrees = hinted.pp == found.pp and ranks in (product, product * (hinted.ep or 1))
    return (hinted, "used") if agrees else (found, "contradicted")


def _group_size(
    findings: Sequence[RailFinding], traffic: Traffic, membership: Membership, together: bool
) -> int | None:
    """RNICs of a container that act as one; None: can't be told."""
    stages = len(findings[0].stages)
    if stages < 2 or len(findings) < 2:
        return None
    balance = traffic.tx - traffic.rx
    for course in (balance, _smoothed(balance)) if together else (_smoothed(balance),):
        size = _act_as_one(findings, course, membership)
        if size is not None:
            return size
    return None


def _act_as_one(findings: Sequence[RailFinding], course: FloatArray, membership: Membership) -> int | None:
    apart = [_apart(course, _replica_pairs(finding)) for finding in findings]
    usual = float(np.median([value for value in apart if value is not None] or [0.0]))
    if usual < max(IN_STEP, ABOVE_NOISE * _noise(findings, course)):
        return None
    groups = [1]
    for one, other in pairwise(findings):
        near = _apart(course, _neighbours(one, other, membership))
        if near is not None and near < ONE_GROUP * usual:
            groups[-1] += 1
        else:
            groups.append(1)
    return groups[0] if len(set(groups)) == 1 else None


def _noise(findings: Sequence[RailFinding], course: FloatArray) -> float:
    """What does not cancel within replicas, as a share of their energy; 1 where replicas are not known."""
    chains = [chain for finding in findings for chain in finding.replicas]
    known = course[:, ~np.isnan(course).any(axis=0)]
    return residual(known, chains) if chains and known.shape[1] else 1.0


def _replica_pairs(finding: RailFinding) -> list[tuple[int, int]]:
    pairs = [pair for stage in finding.stages for pair in combinations(stage, 2)]
    return pairs[:: max(len(pairs) // COMPARED, 1)]


def _neighbours(one: RailFinding, other: RailFinding, membership: Membership) -> list[tuple[int, int]]:
    """Endpoints of one container on two rails."""
    there = {membership.containers[member]: member for member in other.members}
    pairs = [(m, there[membership.containers[m]]) for m in one.members if membership.containers[m] in there]
    return pairs[:: max(len(pairs) // COMPARED, 1)]


def _apart(course: FloatArray, pairs: Sequence[tuple[int, int]]) -> float | None:
    """Median distance of pairs of courses, as a share of their energy; about 1 = unrelated."""
    distances = []
    for a, b in pairs:
        known = ~(np.isnan(course[a]) | np.isnan(course[b]))
        energy = float((course[a][known] ** 2).sum() + (course[b][known] ** 2).sum())
        if energy > 0:
            distances.append(float(((course[a] - course[b])[known] ** 2).sum()) / energy)
    return float(np.median(distances)) if distances else None


def _smoothed(balance: FloatArray) -> FloatArray:
    """Mean over three seconds; NaN where one of them is unknown."""
    if balance.shape[1] < 3:
        return balance
    return np.asarray((balance[:, :-2] + balance[:, 1:-1] + balance[:, 2:]) / 3.0)
