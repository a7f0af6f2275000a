"""What is said of a look at the traffic: evidence for programs, a reason in words for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from schemas.instants import SECOND_US
from skeleton.periodicity import Period
from skeleton.resampling import Traffic
from skeleton.structure import RailFinding

TEXTS = {
    "paired": "pipelines identified by the balance of sent and received bytes or by matched bursts",
    "staged": "stages told apart by their traffic; which endpoints form a replica is not known, "
    "so all pairs of neighbouring stages that nothing rules out are kept",
    "single": "one group, no pipeline",
    "unresolved": "no structure told apart, so all pairs of the rail are kept",
}


def traffic_evidence(traffic: Traffic, period: Period | None) -> dict[str, object]:
    """How much was seen, and how regular it was."""
    return {
        "from_us": traffic.start_us,
        "to_us": traffic.start_us + traffic.seconds * SECOND_US,
        "unknown_share": round(float(np.isnan(traffic.tx).mean()), 4) if traffic.seconds else 1.0,
        "regularity": round(period.regularity, 3) if period else None,
        "cycles": round(period.cycles, 1) if period else None,
    }


def rail_evidence(findings: Sequence[RailFinding], hints: Mapping[str, str]) -> dict[str, object]:
    """What is known of the rails, what is ambiguous, and what became of each hint.

    ``twins``: endpoints whose partner in the next stage is one of several that nothing observed tells apart.
    """
    knowledge = [finding.knowledge for finding in findings]
    twins = sum(finding.twins() for finding in findings)
    known = "staged" not in knowledge and "unresolved" not in knowledge and not twins
    evidence: dict[str, object] = {
        "rails": {kind: knowledge.count(kind) for kind in sorted(set(knowledge))},
        "stages": max(len(finding.stages) for finding in findings),
        "pairing": "known" if known else "ambiguous",
        "twins": twins,
        "clarity": round(min(finding.clarity for finding in findings), 3),
    }
    return {**evidence, "hints": dict(hints)} if hints else evidence


def describe(findings: Sequence[RailFinding], period: Period) -> str:
    """What was found, in words."""
    knowledge = [finding.knowledge for finding in findings]
    parts = [f"{knowledge.count(kind)} rails: {text}" for kind, text in TEXTS.items() if kind in knowledge]
    twins = sum(finding.twins() for finding in findings if finding.knowledge == "paired")
    if twins:
        parts.append(f"{twins} endpoints are twins in step, so the links of either are kept")
    return f"period {period.period_s:.4g} s; " + "; ".join(parts)
