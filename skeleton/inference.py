"""One look at a job's traffic: period, structure, coverage and confidence. A pure function of what was observed.

Confidence is an estimate of the chance that at least 99 % of the pairs that really exchange bytes between hosts are
among the edges. It is the product of
- regularity: does the traffic repeat with the period (0 below ``REGULAR_FROM``, 1 from ``REGULAR_TO`` on);
- evidence: 1 - exp(-cycles / 1.5), so three periods give 0.86 and five 0.96;
- clarity: how well the structure of the least clear rail stands out (see ``rails``).
A job is no training job, and gets no confidence, while ``admission`` refuses its traffic.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from schemas.maps import Parallelism
from schemas.skeletons import Edge, Group
from skeleton.account import describe, rail_evidence, traffic_evidence
from skeleton.admission import refusal, since_first_burst, without_stalls
from skeleton.alignment import Fit, alignment, drifted
from skeleton.borrowing import borrow_chains
from skeleton.bursts import BurstLog
from skeleton.corroboration import apply_hints
from skeleton.counters import CounterLog
from skeleton.degrees import check_degrees, estimate_degrees
from skeleton.matching import Matches, match_bursts
from skeleton.membership import Membership
from skeleton.pairing import settle_by_rails
from skeleton.parameters import SkeletonParameters
from skeleton.periodicity import Period, find_period, job_activity
from skeleton.rails import RailTraffic, examine
from skeleton.resampling import Traffic, resample
from skeleton.sampling import poll_clocks, together
from skeleton.structure import RailFinding, build_edges, build_groups

FloatArray = NDArray[np.float64]

REGULAR_FROM, REGULAR_TO = 0.2, 0.6

MOST_EDGES = 100_000
"""A skeleton is to be probed, and to fit into one message; more pairs than this are the basic list."""


@dataclass(frozen=True, slots=True)
class Structure:
    """What is independent of how sure we are: the parts whose change makes a new skeleton."""

    groups: tuple[Group, ...] = ()
    edges: tuple[Edge, ...] = ()
    parallelism: Parallelism = field(default_factory=Parallelism)

    def pairs(self) -> frozenset[tuple[str, str]]:
        """The edges without their kinds."""
        return frozenset((a, b) for a, b, _ in self.edges)

    def is_resolved(self) -> bool:
        """Whether every group's part in the job is known."""
        return all(group.kind != "unknown" for group in self.groups)


@dataclass(frozen=True, slots=True)
class Inference:
    """``refusal`` names why this is no skeleton to trust ("" = it is one); ``reason`` says in words what was found.

    ``fit``: how well the traffic fits the structure.
    """

    structure: Structure
    period: Period | None
    confidence: float
    coverage: float
    refusal: str
    reason: str
    evidence: dict[str, object]
    fit: Fit = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Logs:
    """What hosts reported of one job, settled."""

    counters: CounterLog
    bursts: BurstLog

    def traffic(self, membership: Membership, since_us: int, parameters: SkeletonParameters) -> Traffic | None:
        """The traffic since an instant; None: nothing was observed."""
        return resample(self.counters, self.bursts, membership.names, since_us, parameters.gap_s)


def infer(logs: Logs, membership: Membership, since_us: int, parameters: SkeletonParameters) -> Inference | None:
    """What the traffic since ``since_us`` shows; None: nothing was observed."""
    whole = logs.traffic(membership, since_us, parameters)
    if whole is None:
        return None
    traffic = since_first_burst(whole)
    activity = job_activity(traffic.tx)
    period = find_period(activity)
    code, reason = refusal(traffic, activity, period, parameters)
    if code or period is None:
        return Inference(Structure(), period, 0.0, 0.0, code, reason, traffic_evidence(traffic, period))
    clocks = poll_clocks(logs.counters, membership.names)
    found, hints, matches = _examine_rails(logs, traffic, membership, period.period_s, clocks, parameters.line_gbps)
    degrees, agree = check_degrees(
        estimate_degrees(found, traffic, membership, len(set(clocks)) == 1),
        membership.degrees,
        len(membership.names),
    )
    if agree:
        hints["parallelism"] = agree
    structure = Structure(build_groups(found, membership), build_edges(found, membership), degrees)
    evidence = {**traffic_evidence(traffic, period), **rail_evidence(found, hints)}
    if len(structure.edges) > MOST_EDGES:
        reason = f"{len(structure.edges)} pairs can't be ruled out, which are no skeleton"
        return Inference(Structure(), period, 0.0, 0.0, "unresolved", reason, evidence)
    clarity = min(finding.clarity for finding in found)
    confidence = round(_regular(period) * (1.0 - float(np.exp(-period.cycles / 1.5))) * clarity, 3)
    fits = alignment(structure.groups, structure.edges, traffic, logs.bursts, membership, matches)
    coverage = _coverage(traffic, structure.edges, membership)
    evidence["fit"] = dict(fits)
    return Inference(structure, period, confidence, coverage, "", describe(found, period), evidence, fits)


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a trusted skeleton makes us expect of fresh traffic: its structure, how well that fitted, its period."""

    structure: Structure
    fit: Fit
    period_s: float | None


def doubt(
    logs: Logs, membership: Membership, since_us: int, expected: Expectation, parameters: SkeletonParameters
) -> Inference | None:
    """Why the traffic since ``since_us`` does not bear out a skeleton that was trusted; None: it does.

    It must still repeat, with half the regularity that it took to be trusted, and still fit. Stalls of the whole job
    are no part of its rhythm.
    """
    traffic = logs.traffic(membership, since_us, parameters)
    if traffic is None:
        return Inference(Structure(), None, 0.0, 0.0, "unobserved", "nothing was observed lately", {})
    period, repeats = _rhythm(without_stalls(traffic, expected.period_s), parameters)
    evidence = traffic_evidence(traffic, period)
    if not repeats:
        code, reason = ("silent", "no traffic") if not np.nansum(traffic.tx) else ("irregular", "no longer repeats")
        return Inference(Structure(), period, 0.0, 0.0, code, reason, evidence)
    structure, usual = expected.structure, expected.fit
    fresh = alignment(structure.groups, structure.edges, traffic, logs.bursts, membership) if usual else {}
    fell = drifted(fresh, usual)
    if fell is None:
        return None
    reason = f"only {fresh[fell]:.0%} of the fresh traffic fits it ({fell}), {usual[fell]:.0%} did"
    return Inference(Structure(), period, 0.0, 0.0, "drift", reason, {**evidence, "fit": dict(fresh)}, fresh)


def _rhythm(activity: FloatArray, parameters: SkeletonParameters) -> tuple[Period | None, bool]:
    """The period, and whether the traffic repeats: with half the usual regularity, or in one half with all of it, since
    a pause of some seconds sets what follows out of step with what went before.
    """
    period, middle = find_period(activity), len(activity) // 2
    if period is not None and period.regularity >= parameters.regular / 2.0:
        return period, True
    halves = [find_period(half) for half in (activity[:middle], activity[middle:])]
    return period, any(half is not None and half.regularity >= parameters.regular for half in halves)


def _examine_rails(
    logs: Logs, traffic: Traffic, membership: Membership, period_s: float, clocks: list[int], line_gbps: float
) -> tuple[list[RailFinding], dict[str, str], dict[int, Matches]]:
    """What is found on each rail, doubts settled by the other rails and by hints; what became of the hints; by rail,
    whose bursts are whose."""
    views = []
    for rail, members in membership.by_rail().items():
        names = [membership.names[index] for index in members]
        exact = together(logs.counters, names, traffic.start_us)
        rows = list(members)
        views.append(
            RailTraffic(
                rail,
                members,
                exact[0] if exact else None,
                exact[1] if exact else None,
                traffic.tx[rows],
                traffic.rx[rows],
                tuple(clocks[index] for index in members),
                _misplaced_bytes(logs.counters, names, line_gbps),
                _match(logs.bursts, names, traffic.start_us),
            )
        )
    borrowed = borrow_chains([examine(view, period_s) for view in views], views, membership)
    findings = settle_by_rails(borrowed, membership)
    hinted = [apply_hints(f, membership.hints, v.balance) for f, v in zip(findings, views, strict=True)]
    outcomes: dict[str, set[str]] = {}
    for _, outcome in hinted:
        for hint, became in outcome.items():
            outcomes.setdefault(hint, set()).add(became)
    matches = {view.rail: view.matches for view in views if view.matches is not None}
    said = {hint: ", ".join(sorted(became)) for hint, became in outcomes.items()}
    return [found for found, _ in hinted], said, matches


def _misplaced_bytes(counters: CounterLog, names: list[str], line_gbps: float) -> float:
    """Bytes that a clock error moves into another interval, one standard deviation: the bound is three of them."""
    error_us = max((counters.series[name].error_us for name in names if name in counters.series), default=0.0)
    return 2.0 / 3.0 * error_us * 1e-6 * line_gbps * 1e9 / 8.0


def _match(bursts: BurstLog, names: list[str], since_us: int) -> Matches | None:
    series = [bursts.series[name] for name in names if name in bursts.series]
    return match_bursts(series, since_us) if len(series) == len(names) else None


def _regular(period: Period) -> float:
    return min(max((period.regularity - REGULAR_FROM) / (REGULAR_TO - REGULAR_FROM), 0.0), 1.0)


def _coverage(traffic: Traffic, edges: tuple[Edge, ...], membership: Membership) -> float:
    """Share of all bytes sent that were sent by endpoints with an edge."""
    moved = np.nansum(traffic.tx, axis=1)
    explained = {name for a, b, _ in edges for name in (a, b)}
    mine = np.array([name in explained for name in membership.names])
    return round(float(moved[mine].sum() / moved.sum()), 4) if moved.sum() > 0 else 0.0
