"""One look at a job's traffic: period, structure, coverage and confidence. A pure function of what was observed.

Confidence is an estimate of the chance that at least 99 % of the pairs that really exchange bytes between hosts are
among the edges. It is the product of
- regularity: does the traffic repeat with the period (0 below ``REGULAR_FROM``, 1 from ``REGULAR_TO`` on);
- evidence: 1 - exp(-cycles / 1.5), so three periods give 0.86 and five 0.96;
- clarity: how well the structure of the least clear rail stands out (see ``rails``).
A job is no training job, and gets no confidence, while its period is not regular or a tenth of its endpoints is idle.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from schemas.instants import SECOND_US
from schemas.maps import Parallelism
from schemas.skeletons import Edge, Group
from skeleton.bursts import BurstLog
from skeleton.counters import CounterLog
from skeleton.matching import Matches, match_bursts
from skeleton.membership import Membership
from skeleton.parameters import SkeletonParameters
from skeleton.periodicity import Period, find_period, job_activity, steadiness
from skeleton.rails import RailTraffic, examine
from skeleton.resampling import Traffic, resample
from skeleton.sampling import poll_clocks, together
from skeleton.structure import RailFinding, build_edges, build_groups

FloatArray = NDArray[np.float64]

REGULAR_FROM, REGULAR_TO = 0.2, 0.6
LEAST_SHARE = 0.05
"""An endpoint with less than this share of the median endpoint's bytes is idle."""

MOST_IDLE = 0.1

STEADY = 0.75
"""Share of the periods that must have the usual traffic; evaluations and checkpoints may fill the others."""

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
    """``refusal`` names why this is no skeleton to trust ("" = it is one); ``reason`` says in words what was found."""

    structure: Structure
    period: Period | None
    confidence: float
    coverage: float
    refusal: str
    reason: str
    evidence: dict[str, object]


def infer(
    counters: CounterLog, bursts: BurstLog, membership: Membership, since_us: int, parameters: SkeletonParameters
) -> Inference | None:
    """What the traffic since ``since_us`` shows; None: nothing was observed. The logs must be settled."""
    traffic = resample(counters, bursts, membership.names, since_us, parameters.gap_s)
    if traffic is None:
        return None
    period = find_period(job_activity(traffic.tx))
    refusal, reason = _refusal(traffic, period, parameters)
    if refusal or period is None:
        return Inference(Structure(), period, 0.0, 0.0, refusal, reason, _evidence(traffic, period))
    findings = _examine_rails((counters, bursts), traffic, membership, period, parameters)
    structure = Structure(
        build_groups(findings, membership), build_edges(findings, membership), _parallelism(findings, membership)
    )
    clarity = min(finding.clarity for finding in findings)
    evidence = {**_evidence(traffic, period), **_rail_evidence(findings, clarity)}
    if len(structure.edges) > MOST_EDGES:
        reason = f"{len(structure.edges)} pairs can't be ruled out, which are no skeleton"
        return Inference(Structure(), period, 0.0, 0.0, "unresolved", reason, evidence)
    confidence = round(_regular(period) * (1.0 - float(np.exp(-period.cycles / 1.5))) * clarity, 3)
    coverage = _coverage(traffic, structure.edges, membership)
    return Inference(structure, period, confidence, coverage, "", _describe(findings, period), evidence)


def doubt(
    counters: CounterLog, bursts: BurstLog, membership: Membership, since_us: int, parameters: SkeletonParameters
) -> Inference | None:
    """Why the traffic since ``since_us`` does not bear out a skeleton that was trusted; None: it still repeats.

    Half the regularity that it took to be trusted is enough.
    """
    traffic = resample(counters, bursts, membership.names, since_us, parameters.gap_s)
    if traffic is None:
        return Inference(Structure(), None, 0.0, 0.0, "unobserved", "nothing was observed lately", {})
    period = find_period(job_activity(traffic.tx))
    if period is not None and period.regularity >= parameters.regular / 2.0:
        return None
    refusal, reason = ("silent", "no traffic") if not np.nansum(traffic.tx) else ("irregular", "no longer repeats")
    return Inference(Structure(), period, 0.0, 0.0, refusal, reason, _evidence(traffic, period))


def _refusal(traffic: Traffic, period: Period | None, parameters: SkeletonParameters) -> tuple[str, str]:
    moved = np.nansum(traffic.tx, axis=1)
    if moved.max() <= 0:
        return "silent", "no traffic"
    if traffic.seconds < parameters.least_s:
        return "young", f"less than {parameters.least_s:g} s of traffic"
    if period is None:
        return "aperiodic", "the traffic does not repeat"
    if period.regularity < parameters.regular:
        return "irregular", "the traffic does not repeat regularly"
    if steadiness(job_activity(traffic.tx), period.period_s) < STEADY:
        return "unsteady", "not every period has traffic"
    median = float(np.median(moved[moved > 0]))
    if (moved < LEAST_SHARE * median).mean() > MOST_IDLE:
        return "partial", "part of the endpoints takes no part in the traffic"
    return "", ""


def _examine_rails(
    logs: tuple[CounterLog, BurstLog],
    traffic: Traffic,
    membership: Membership,
    period: Period,
    parameters: SkeletonParameters,
) -> list[RailFinding]:
    (counters, bursts), since_us = logs, traffic.start_us
    clocks = poll_clocks(counters, membership.names)
    findings = []
    for rail, members in membership.by_rail().items():
        names = [membership.names[index] for index in members]
        exact = together(counters, names, since_us)
        rows = list(members)
        view = RailTraffic(
            rail,
            members,
            exact[0] if exact else None,
            exact[1] if exact else None,
            traffic.tx[rows],
            traffic.rx[rows],
            tuple(clocks[index] for index in members),
            _misplaced_bytes(counters, names, parameters),
            _match(bursts, names, since_us),
        )
        findings.append(examine(view, period.period_s))
    return findings


def _misplaced_bytes(counters: CounterLog, names: list[str], parameters: SkeletonParameters) -> float:
    """Bytes that a clock error moves into another interval, one standard deviation: the bound is three of them."""
    error_us = max((counters.series[name].error_us for name in names if name in counters.series), default=0.0)
    return 2.0 / 3.0 * error_us * 1e-6 * parameters.line_gbps * 1e9 / 8.0


def _match(bursts: BurstLog, names: list[str], since_us: int) -> Matches | None:
    series = [bursts.series[name] for name in names if name in bursts.series]
    return match_bursts(series, since_us) if len(series) == len(names) else None


def _parallelism(findings: list[RailFinding], membership: Membership) -> Parallelism:
    """The paper's estimate: dp = size of a group, pp = stages, tp = what is left; unknown when rails disagree."""
    shapes = {(len(f.stages), len(f.stages[0])) for f in findings if f.stages}
    if len(shapes) != 1 or any(f.knowledge == "unresolved" for f in findings):
        return Parallelism()
    stages, size = shapes.pop()
    return Parallelism(tp=max(len(membership.names) // (stages * size), 1), pp=stages, dp=size)


def _regular(period: Period) -> float:
    return min(max((period.regularity - REGULAR_FROM) / (REGULAR_TO - REGULAR_FROM), 0.0), 1.0)


def _coverage(traffic: Traffic, edges: tuple[Edge, ...], membership: Membership) -> float:
    """Share of all bytes sent that were sent by endpoints with an edge."""
    moved = np.nansum(traffic.tx, axis=1)
    explained = {name for a, b, _ in edges for name in (a, b)}
    mine = np.array([name in explained for name in membership.names])
    return round(float(moved[mine].sum() / moved.sum()), 4) if moved.sum() > 0 else 0.0


def _evidence(traffic: Traffic, period: Period | None) -> dict[str, object]:
    return {
        "from_us": traffic.start_us,
        "to_us": traffic.start_us + traffic.seconds * SECOND_US,
        "unknown_share": round(float(np.isnan(traffic.tx).mean()), 4),
        "regularity": round(period.regularity, 3) if period else None,
        "cycles": round(period.cycles, 1) if period else None,
    }


def _rail_evidence(findings: list[RailFinding], clarity: float) -> dict[str, object]:
    knowledge = [finding.knowledge for finding in findings]
    return {
        "rails": {kind: knowledge.count(kind) for kind in sorted(set(knowledge))},
        "stages": max(len(finding.stages) for finding in findings),
        "pairing": "known" if "staged" not in knowledge and "unresolved" not in knowledge else "ambiguous",
        "clarity": round(clarity, 3),
    }


def _describe(findings: list[RailFinding], period: Period) -> str:
    texts = {
        "paired": "pipelines identified by the balance of sent and received bytes or by matched bursts",
        "staged": "stages told apart by their traffic; which endpoints form a replica is not known, "
        "so all pairs of neighbouring stages are kept",
        "single": "one group, no pipeline",
        "unresolved": "no structure told apart, so all pairs of the rail are kept",
    }
    knowledge = [finding.knowledge for finding in findings]
    parts = [f"{knowledge.count(kind)} rails: {text}" for kind, text in texts.items() if kind in knowledge]
    return f"period {period.period_s:.4g} s; " + "; ".join(parts)
