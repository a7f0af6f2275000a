"""How urgent an incident is, case by case as the documentation says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from schemas.alerting import SEVERITIES
from schemas.diagnosis import Incident
from skeletonhunter.alerting.severity import is_at_least, urgency_of, worst
from tests.strategies import values_of
from tests.unit.alerting.incidents import incident

MANY = tuple(f"c-{number}/r0" for number in range(17))


@pytest.mark.parametrize(
    ("fields", "severity"),
    [
        ({"symptom": "unconnectivity"}, "critical"),
        ({"symptom": "unconnectivity", "confidence": 0.1, "component": None}, "critical"),
        ({"symptom": "unconnectivity", "endpoints": MANY}, "critical"),
        ({"symptom": "packet_loss"}, "error"),
        ({"symptom": "packet_loss", "endpoints": MANY}, "critical"),
        ({"symptom": "packet_loss", "confidence": 0.49}, "warning"),
        ({"symptom": "packet_loss", "confidence": 0.5}, "error"),
        ({"symptom": "packet_loss", "confidence": 0.1, "endpoints": MANY}, "error"),
        ({"symptom": "high_latency"}, "warning"),
        ({"symptom": "high_latency", "jobs": ("a", "b")}, "error"),
        ({"symptom": "high_latency", "confidence": 0.1}, "info"),
        ({"symptom": None}, "warning"),
        ({"kind": "congestion", "symptom": "high_latency", "confidence": 0.1}, "warning"),
        ({"kind": "congestion", "symptom": "high_latency", "endpoints": MANY}, "error"),
        ({"kind": "agent_missing", "symptom": None}, "warning"),
        ({"kind": "agent_starved", "symptom": None}, "info"),
        ({"kind": "clock_bad", "symptom": None}, "warning"),
        ({"kind": "collector_gap", "symptom": None}, "warning"),
        ({"kind": "insufficient_evidence", "symptom": "unconnectivity", "confidence": 0.0}, "critical"),
        ({"kind": "insufficient_evidence", "symptom": "packet_loss", "confidence": 0.0}, "warning"),
    ],
)
def test_kind_symptom_confidence_and_reach_make_the_severity(fields: dict[str, Any], severity: str) -> None:
    assert urgency_of(incident(**fields)).severity == severity


@given(values_of("incidents"))
def test_every_incident_has_a_severity_with_a_reason(value: Incident) -> None:
    urgency = urgency_of(value)
    assert urgency.severity in SEVERITIES
    assert urgency.why


def test_the_reasons_name_what_raised_and_lowered_it() -> None:
    why = urgency_of(incident(symptom="packet_loss", confidence=0.2, endpoints=MANY, jobs=("a",))).why
    assert why == (
        "packets are lost, so the job is slow or about to stop; it reaches 17 endpoints of 1 jobs; "
        "the blame is weak (20%)"
    )


def test_severities_are_ordered() -> None:
    assert is_at_least("critical", "error")
    assert is_at_least("error", "error")
    assert not is_at_least("warning", "error")
    assert worst(["info", "error", "warning"]) == "error"
