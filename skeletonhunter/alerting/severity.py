"""How urgent is an incident? A rule that can be read aloud, on its kind, symptom, confidence and reach. Pure.

Three steps, each with its reason: what is felt sets a level, a wide reach raises it by one, a weak blame lowers it by
one. ``confidence`` says how sure the *blame* is, not whether something is wrong: dead connections stay as urgent when
nobody can be blamed, because every GPU of the job waits either way.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.alerting import SEVERITIES, Severity
from schemas.diagnosis import Incident, IncidentKind, Symptom

WIDE_ENDPOINTS = 16
"""More endpoints than this, or more than one job, is a wide reach: two hosts of eight RNICs."""

WEAK = 0.5
"""A blame below this is more likely wrong than right."""

FELT: dict[Symptom | None, tuple[Severity, str]] = {
    "unconnectivity": ("critical", "connections are dead, so the job stands still"),
    "packet_loss": ("error", "packets are lost, so the job is slow or about to stop"),
    "high_latency": ("warning", "latency is high, so the job is slow"),
    None: ("warning", "no pair of endpoints shows it yet"),
}
"""Level of a network fault, by what the probes feel."""

OTHERS: dict[IncidentKind, tuple[Severity, str]] = {
    "congestion": ("warning", "the network is congested, nothing is broken"),
    "agent_missing": ("warning", "the monitor is blind where this agent was"),
    "agent_starved": ("info", "this agent lacks time, what it says is left out"),
    "clock_bad": ("warning", "what was stamped by this clock is left out"),
    "collector_gap": ("warning", "the monitor lacks data"),
}
"""Level of what is no network fault."""


@dataclass(frozen=True, slots=True)
class Urgency:
    """How urgent, and why in one sentence."""

    severity: Severity
    why: str


def urgency_of(incident: Incident) -> Urgency:
    """The urgency of an incident as it stands."""
    level, felt = OTHERS.get(incident.kind, FELT[incident.symptom])
    place, reasons = SEVERITIES.index(level), [felt]
    if len(incident.endpoints) > WIDE_ENDPOINTS or len(incident.jobs) > 1:
        place -= 1
        reasons.append(f"it reaches {len(incident.endpoints)} endpoints of {len(incident.jobs)} jobs")
    if incident.kind not in OTHERS and incident.symptom != "unconnectivity" and incident.confidence < WEAK:
        place += 1
        reasons.append(f"the blame is weak ({incident.confidence:.0%})")
    return Urgency(SEVERITIES[min(max(place, 0), len(SEVERITIES) - 1)], "; ".join(reasons))


def is_at_least(severity: Severity, least: Severity) -> bool:
    """Whether the first is as urgent as the second."""
    return SEVERITIES.index(severity) <= SEVERITIES.index(least)


def worst(severities: list[Severity]) -> Severity:
    """The most urgent of some.

    Raises:
        ValueError: there is none.
    """
    return min(severities, key=SEVERITIES.index)
