"""An alert says what the incident says, in fields, instants and sentences."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings

from schemas.diagnosis import Action, Incident
from skeletonhunter.sinks.alert_body import MAX_ENDPOINTS, alert_body, encode_body
from tests.strategies import values_of
from tests.unit.sinks.messages import received_examples

SCHEMA = json.loads((Path(__file__).parents[3] / "docs/reference/alert.schema.json").read_text())


def incident(**fields: object) -> Incident:
    value = next(each.value for each in received_examples("incidents") if each.value.issue)  # type: ignore[attr-defined]
    assert isinstance(value, Incident)
    return msgspec.structs.replace(value, **fields)


@settings(deadline=None)
@given(value=values_of("incidents"))
def test_every_incident_has_a_body_that_fits_the_published_schema(value: Incident) -> None:
    body = json.loads(encode_body(alert_body(value)))
    jsonschema.Draft202012Validator(SCHEMA).validate(body)
    assert body["endpoint_count"] == len(value.endpoints)
    assert body["onset_us"] == value.onset_us


def test_the_published_schema_can_refuse() -> None:
    body = json.loads(encode_body(alert_body(incident())))
    body["state"] = "closed"
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(body)


def test_sentences_name_issue_component_certainty_time_and_jobs() -> None:
    body = alert_body(incident(onset_us=1_753_000_086_250_001, jobs=("llm-70b",), confidence=0.94))
    assert body.title == "Offloading failure: rnic:host-01/mlx5_0"
    assert body.what == (
        "Offloading failure: rnic:host-01/mlx5_0 (94% sure), high latency since 2025-07-20T08:28:06.250001Z, "
        "touching 2 endpoints of job llm-70b."
    )
    assert body.why.startswith("overlay pass clean: every hop has a next hop; boundary pass suspect: ")
    assert body.todo == "Quarantine rnic:host-01/mlx5_0: its flow table cannot be trusted."


def test_a_resolved_incident_says_when_it_was_over() -> None:
    body = alert_body(incident(state="resolved", resolved_us=1_753_000_300_000_000))
    assert body.title.startswith("[resolved] ")
    assert " until 2025-07-20T08:31:40.000000Z" in body.what
    assert body.resolved == "2025-07-20T08:31:40.000000Z"


def test_nobody_to_blame_is_said_as_such() -> None:
    body = alert_body(
        incident(
            kind="insufficient_evidence",
            issue=None,
            component=None,
            action=Action(kind="none", target=None, why="the flow tables are missing"),
        )
    )
    assert body.title == "Something is wrong, the evidence does not say what"
    assert body.todo == "Nothing to do: the flow tables are missing."


def test_long_lists_are_cut_and_counted() -> None:
    endpoints = tuple(f"c-{place}/r0" for place in range(1000))
    body = alert_body(incident(endpoints=endpoints))
    assert body.endpoint_count == 1000
    assert body.endpoints == endpoints[:MAX_ENDPOINTS]


@pytest.mark.parametrize("change", [{"state": "updated"}, {"incident": "inc-other"}])
def test_another_state_is_another_delivery_and_the_same_state_the_same(change: dict[str, str]) -> None:
    assert alert_body(incident()).delivery == alert_body(incident()).delivery
    assert alert_body(incident(**change)).delivery != alert_body(incident()).delivery
