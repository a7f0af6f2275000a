"""What plays out on one rail? The strongest finding that the evidence supports, tried in this order:

1. replicas from the balance of sent and received bytes (``balance``), stages from peeling them (``chains``);
2. the same from matched messages (``matching``, ``collectives``), if all of them have found their receiver;
3. stages from the course of the traffic (``profiles``), replicas unknown;
4. one group, if there is no pipeline and everybody does the same;
5. nothing.
Where replicas are known, matched bursts then tell which endpoints of a stage have collectives with each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise, product

import numpy as np
from numpy.typing import NDArray

from skeleton.balance import find_pipelines, has_signal
from skeleton.chains import SOLVENT, bring_into_line, order_stages
from skeleton.collectives import (
    Collectives,
    direct_chains,
    ends_meet,
    find_collectives,
    find_message_chains,
)
from skeleton.joining import Joints, certain_joints, join
from skeleton.matching import Matches
from skeleton.partition import find_partition
from skeleton.profiles import find_groups, order_groups
from skeleton.structure import CircleKind, Members, RailFinding

FloatArray = NDArray[np.float64]

Rows = tuple[int, ...]
Circles = tuple[tuple[CircleKind, Members], ...]

EXPLAINED = 0.98
"""Share of the sent bytes whose receivers must have been found before bursts may rule a pair out."""

OFTEN = 0.5
LEAST_MESSAGES = 8
"""So many messages of a pair must have been seen before bursts may rule other pairs out."""

CLEAR_GAP = 30.0
"""A null space that stands out so clearly leaves nothing in doubt."""

ALIKE = 0.1
"""Endpoints whose traffic differs by less than this share of it do the same."""

UNRESOLVED = 0.97
"""The whole rail is probed then, so only traffic outside the rail could be missed."""


@dataclass(frozen=True, slots=True)
class RailTraffic:
    """Bytes of the endpoints ``members`` of a rail, NaN unknown. ``tx``, ``rx``: (n, T) between shared instants, or
    None; ``grid_tx``, ``grid_rx``: per second, interpolated; ``polled_by``: each endpoint's poll clock.
    """

    rail: int
    members: Members
    tx: FloatArray | None
    rx: FloatArray | None
    grid_tx: FloatArray
    grid_rx: FloatArray
    polled_by: tuple[int, ...]
    misplaced: float
    matches: Matches | None

    @property
    def grid(self) -> tuple[FloatArray, FloatArray]:
        """Sent and received bytes per second."""
        return self.grid_tx, self.grid_rx

    @property
    def balance(self) -> FloatArray:
        """Bytes sent less received, between shared instants if there are any, else per second."""
        if self.tx is not None and self.rx is not None:
            return self.tx - self.rx
        return self.grid_tx - self.grid_rx


def examine(traffic: RailTraffic, period_s: float) -> RailFinding:
    """The finding for one rail, of a job with this period."""
    if len(traffic.members) == 1:
        return RailFinding(traffic.rail, traffic.members, "single", (traffic.members,))
    found = _pipelines(traffic) or _matched(traffic, period_s) or _stages(traffic, period_s)
    if found is not None:
        return found
    if _all_alike(traffic):
        return RailFinding(traffic.rail, traffic.members, "single", (traffic.members,), clarity=UNRESOLVED)
    return RailFinding(traffic.rail, traffic.members, "unresolved", clarity=UNRESOLVED)


def _pipelines(traffic: RailTraffic) -> RailFinding | None:
    tx, rx = (traffic.tx, traffic.rx) if traffic.tx is not None and traffic.rx is not None else traffic.grid
    balance, collective = tx - rx, np.fmin(tx, rx)
    pipelines = find_pipelines(balance, tx)
    partition = find_partition(balance) if pipelines is None else None
    found = pipelines or partition
    if found is None:
        return None
    chains = [order_stages(tx, rx, rows) for rows in found.replicas]
    debt = max(chain.debt for chain in chains)
    if debt > SOLVENT:
        return None
    aligned, _ = bring_into_line([chain.rows for chain in chains], balance, collective)
    if pipelines is not None and pipelines.gap >= CLEAR_GAP:
        joints = certain_joints(aligned)
    else:
        joints = join(balance, aligned, traffic.polled_by, traffic.misplaced)
    return as_paired(traffic, joints, clarity=0.99 - 0.02 * debt / SOLVENT)


def _matched(traffic: RailTraffic, period_s: float) -> RailFinding | None:
    """What bursts alone tell: pipelines, from messages that are all explained; or groups, where there are none."""
    matches = traffic.matches
    if matches is None:
        return None
    collectives = find_collectives(matches)
    if all(one.collective for one in matches.classes):
        if matches.explained < EXPLAINED or not collectives.complete:
            return None
        circles = _circles(traffic, collectives, (tuple(range(len(traffic.members))),))
        if not circles:
            return None
        return RailFinding(traffic.rail, traffic.members, "single", circles=circles, clarity=0.98)
    chains = find_message_chains(matches)
    if chains is None:
        return None
    directed = direct_chains(chains, collectives, matches, period_s)
    return as_paired(traffic, certain_joints(directed), clarity=0.98) if directed else None


def as_paired(traffic: RailTraffic, joints: Joints, clarity: float) -> RailFinding:
    """The finding for known pipelines, with what bursts add to it."""
    stages = tuple(tuple(sorted(stage)) for stage in zip(*joints.chains, strict=True))
    shared = traffic.matches is not None and ends_meet(traffic.matches, joints.chains)
    shared = shared or _ends_carry_more(traffic.grid_tx, [list(stage) for stage in stages])
    return RailFinding(
        traffic.rail,
        traffic.members,
        "paired",
        tuple(_members(traffic, stage) for stage in stages),
        tuple(_members(traffic, chain) for chain in joints.chains),
        _seen_circles(traffic, stages),
        _pairs(traffic, _seen(traffic, joints.links())),
        _pairs(traffic, joints.end_links()) if shared and len(stages) > 2 else (),
        ordered=True,
        clarity=clarity,
    )


def _seen(traffic: RailTraffic, links: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Of the possible links, those that messages were seen to use.

    Each endpoint has one partner in the next stage and one in the stage before, so the true one received at least as
    many of its messages as any other candidate, but for messages that merged or coincided. A link stays if its messages
    come to half of those of the best candidate of both its ends; twins in step stay both.
    """
    if traffic.matches is None or not links:
        return links
    met = traffic.matches.met + traffic.matches.met.T
    best: dict[tuple[int, bool], int] = {}
    for a, b in links:
        best[a, True] = max(best.get((a, True), 0), int(met[a, b]))
        best[b, False] = max(best.get((b, False), 0), int(met[a, b]))
    if min(best.values()) < LEAST_MESSAGES:
        return links
    used = tuple((a, b) for a, b in links if met[a, b] >= OFTEN * max(best[a, True], best[b, False]))
    kept = {(a, True) for a, _ in used} | {(b, False) for _, b in used}
    return used if kept == best.keys() else links


def _pairs(traffic: RailTraffic, rows: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    return tuple((traffic.members[a], traffic.members[b]) for a, b in rows)


def _seen_circles(traffic: RailTraffic, stages: tuple[Rows, ...]) -> Circles:
    """Groups that bursts show, if they show everything; none: not known."""
    matches = traffic.matches
    if matches is None or matches.explained < EXPLAINED:
        return ()
    collectives = find_collectives(matches)
    return _circles(traffic, collectives, stages) if collectives.complete else ()


def _circles(traffic: RailTraffic, collectives: Collectives, stages: tuple[tuple[int, ...], ...]) -> Circles:
    """Groups that have collectives inside a stage; none if they are not of one size.

    Where two overlap, the busier is taken for expert parallelism.
    """
    stage_of = {row: number for number, stage in enumerate(stages) for row in stage}
    bursts: dict[tuple[int, ...], float] = {}
    for system in collectives.systems:
        if not _inside(system.groups, stage_of):
            continue
        parts = [
            tuple(row for row in group if stage_of[row] == s) for group in system.groups for s in range(len(stages))
        ]
        parts = [part for part in parts if part]
        if len({len(part) for part in parts}) > 1:
            return ()  # groups are of one size, so somebody was seen too late or too bluntly
        for part in parts:
            if len(part) > 1:
                bursts[part] = max(bursts.get(part, 0.0), system.bursts)
    return tuple((_circle_kind(group, bursts), _members(traffic, group)) for group in sorted(bursts))


def _circle_kind(group: tuple[int, ...], bursts: dict[tuple[int, ...], float]) -> CircleKind:
    rarer = (other for other in bursts if bursts[other] < bursts[group] and set(other) & set(group))
    return "ep" if next(rarer, None) is not None else "dp"


def _inside(groups: tuple[tuple[int, ...], ...], stage_of: dict[int, int]) -> bool:
    """Whether some group has two members in one stage (else it links stages, as a shared embedding does)."""
    return any(len({stage_of[row] for row in group}) < len(group) for group in groups)


def _members(traffic: RailTraffic, rows: tuple[int, ...]) -> Members:
    return tuple(traffic.members[row] for row in rows)


def _ends_carry_more(tx: FloatArray, stages: list[list[int]]) -> bool:
    """Whether both the first and the last stage move more bytes in collectives than any stage between them."""
    if len(stages) < 3:
        return False
    whole = ~np.isnan(tx).any(axis=0)
    peak = tx[:, whole].max(axis=0)
    busy = peak[peak > 0]
    if not len(busy):
        return False
    moved = tx[:, whole][:, peak > 4.0 * float(np.median(busy))].sum(axis=1)
    middle = moved[[row for stage in stages[1:-1] for row in stage]]
    margin = max(0.001 * float(middle.mean()), float(middle.max() - middle.min()))
    return bool(min(moved[stages[0]].min(), moved[stages[-1]].min()) > middle.max() + margin)


def _stages(traffic: RailTraffic, period_s: float) -> RailFinding | None:
    if traffic.tx is None or not has_signal(traffic.balance, traffic.grid_tx):
        # A counter read 0.3 s late looks like a stage that is 0.3 s late, so samples must have been taken together.
        # Whoever sends what it receives passes no messages, so there are no stages.
        return None
    partition = find_groups(traffic.grid_tx, traffic.grid_rx, traffic.polled_by)
    if partition is None:
        return None
    order, ordered = tuple(range(len(partition.groups))), len(partition.groups) == 2
    if not ordered:
        order, ordered = _agreed_order(traffic.grid_tx, partition.groups, max(int(period_s / 4), 2))
    groups = tuple(partition.groups[group] for group in order)
    neighbours = pairwise(groups) if ordered else combinations(groups, 2)
    links = tuple(pair for a, b in neighbours for pair in product(a, b))
    shared = ordered and len(groups) > 2 and _ends_carry_more(traffic.grid_tx, [list(group) for group in groups])
    return RailFinding(
        traffic.rail,
        traffic.members,
        "staged",
        tuple(_members(traffic, group) for group in groups),
        circles=_seen_circles(traffic, groups),
        links=_pairs(traffic, _seen(traffic, links)),
        end_links=_pairs(traffic, tuple(product(groups[0], groups[-1]))) if shared else (),
        ordered=ordered,
        clarity=1.0 - 1.0 / partition.separation**2,
    )


def _agreed_order(tx: FloatArray, groups: tuple[tuple[int, ...], ...], reach_s: int) -> tuple[tuple[int, ...], bool]:
    """The order of groups by onset, and whether both halves of the evidence agree on it."""
    half = tx.shape[1] // 2
    whole, shift = order_groups(tx, groups, reach_s)
    halves = [order_groups(part, groups, reach_s) for part in (tx[:, :half], tx[:, half:])]
    return whole, shift > 0 and all(order == whole and step > 0 for order, step in halves)


def _all_alike(traffic: RailTraffic) -> bool:
    """Whether everybody's traffic takes the same course."""
    rates = np.sqrt(np.maximum(traffic.grid_tx, 0.0))
    known = ~np.isnan(rates).any(axis=0)
    if not known.any():
        return False
    rates = rates[:, known]
    length = np.sqrt((rates**2).sum(axis=1, keepdims=True))
    if (length <= 0).any():
        return False
    rates = rates / length
    mean = rates.mean(axis=0)
    return bool(np.sqrt(((rates - mean) ** 2).sum(axis=1)).max() < ALIKE)
