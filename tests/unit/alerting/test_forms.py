"""What each receiver is sent: fields, limits, identity, and nothing that an incident could smuggle in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from schemas.diagnosis import Action, Incident
from skeletonhunter.alerting.forms import SUMMARY_LENGTH, call_of, labels_of
from skeletonhunter.alerting.slack import HEADER_LENGTH, SECTION_LENGTH
from skeletonhunter.alerting.targets import Target
from skeletonhunter.sinks.alert_body import AlertBody, Occasion, alert_body, encode_body
from tests.strategies import values_of
from tests.unit.alerting.incidents import T0_US, incident, target

LINK = "https://monitor.example/inc-1"


def body(state: Any = "open", **fields: Any) -> AlertBody:
    value = incident(state=state, **fields)
    return alert_body(value, Occasion(delivery="inc-1/1/open", state=state, tenants=("acme",), link=LINK))


def sent(form: str, about: AlertBody, url: str = "https://am.example", known_by: dict[str, str] | None = None) -> Any:
    call = call_of(Target(target(form=form), url, token="s3cret"), about, known_by or {}, T0_US)
    return json.loads(call.content)


def test_json_is_the_published_body() -> None:
    assert sent("json", body()) == json.loads(encode_body(body()))


def test_alertmanager_gets_one_alert_with_labels_that_can_be_routed_by() -> None:
    [alert] = sent("alertmanager", body())
    assert alert["labels"] == {
        "alertname": "NetworkFault",
        "incident": "inc-1",
        "fabric": "pod-7",
        "severity": "critical",
        "kind": "network_fault",
        "issue": "offloading_failure",
        "component": "rnic:host-01/mlx5_0",
        "component_class": "rnic",
        "symptom": "unconnectivity",
        "tenant": "acme",
    }
    assert alert["startsAt"] == body().onset
    assert alert["endsAt"] > body().time  # it holds for ten minutes unless it is sent again
    assert alert["generatorURL"] == LINK
    assert alert["annotations"]["report"] == "skeletonhunter report inc-1 -o inc-1.html"
    assert alert["annotations"]["summary"] == (
        "Offloading failure: rnic:host-01/mlx5_0 (94% sure), 2 endpoints of job llm-70b. Quarantine "
        "rnic:host-01/mlx5_0: its flow table cannot be trusted. Look: skeletonhunter report inc-1 -o inc-1.html"
    )


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://am:9093", "http://am:9093/api/v2/alerts"),
        ("http://am:9093/", "http://am:9093/api/v2/alerts"),
        ("http://proxy/am/", "http://proxy/am/api/v2/alerts"),
        ("http://am:9093/api/v2/alerts", "http://am:9093/api/v2/alerts"),
    ],
)
def test_alertmanagers_path_may_be_left_out(url: str, expected: str) -> None:
    assert call_of(Target(target(form="alertmanager"), url), body(), {}, T0_US).url == expected


def test_an_alert_keeps_its_labels_while_the_verdict_stays_and_nothing_gets_worse() -> None:
    known_by = labels_of(body(), {})
    [milder] = sent("alertmanager", body(symptom="high_latency", jobs=("other",)), known_by=known_by)
    assert milder["labels"] == known_by
    [over] = sent("alertmanager", body("resolved", component="rnic:other/r0"), known_by=known_by)
    assert over["labels"] == known_by
    assert over["endsAt"] == body("resolved").resolved


def test_another_verdict_ends_the_old_alert_in_the_same_request() -> None:
    known_by = labels_of(body(component=None, issue=None), {})
    old, new = sent("alertmanager", body(), known_by=known_by)
    assert old["labels"] == known_by
    assert old["endsAt"] <= body().time
    assert new["labels"]["component"] == "rnic:host-01/mlx5_0"


def test_a_rise_of_the_severity_is_another_alert() -> None:
    known_by = labels_of(body(symptom="packet_loss"), {})
    assert [alert["labels"]["severity"] for alert in sent("alertmanager", body(), known_by=known_by)] == [
        "error",
        "critical",
    ]


def test_pagerduty_is_triggered_and_resolved_under_one_key() -> None:
    trigger, resolve = sent("pagerduty", body()), sent("pagerduty", body("resolved"))
    assert trigger["event_action"] == "trigger"
    assert resolve == {"routing_key": "s3cret", "event_action": "resolve", "dedup_key": "skeletonhunter/inc-1"}
    assert trigger["dedup_key"] == resolve["dedup_key"]
    payload = trigger["payload"]
    assert (payload["severity"], payload["source"], payload["class"], payload["group"]) == (
        "critical",
        "rnic:host-01/mlx5_0",
        "offloading_failure",
        "pod-7",
    )
    assert trigger["links"] == [{"href": LINK, "text": "the incident on one page"}]


def test_the_routing_key_goes_to_pagerduty_in_the_body_and_to_others_as_a_bearer() -> None:
    for form in ("json", "alertmanager", "slack"):
        call = call_of(Target(target(form=form), "https://x.example", token="s3cret"), body(), {}, T0_US)
        assert call.headers == {"Authorization": "Bearer s3cret"}
        assert "s3cret" not in call.content.decode()
        assert "s3cret" not in repr(call) + repr(Target(target(form=form), "https://x.example/s3cret", token="s3cret"))


def test_slack_says_what_to_do_and_nothing_that_pings_people() -> None:
    message = sent("slack", body(endpoints=("a/b",), action=Action(kind="none", target=None, why="<!channel> & co")))
    text = json.dumps(message)
    assert "&lt;!channel&gt; &amp; co" in text
    assert "<!channel>" not in text
    assert f"<{LINK}|open>" in text
    assert "`skeletonhunter report inc-1 -o inc-1.html`" in text
    assert [block["type"] for block in message["blocks"]] == ["header", "section", "section", "section", "context"]
    assert [block["type"] for block in sent("slack", body("resolved"))["blocks"]] == ["header", "section", "context"]


@settings(max_examples=60)
@given(values_of("incidents"))
def test_every_incident_fits_the_limits_of_every_receiver(value: Incident) -> None:
    about = alert_body(value)
    slack = sent("slack", about)
    assert len(slack["blocks"][0]["text"]["text"]) <= HEADER_LENGTH
    assert all(len(block["text"]["text"]) <= SECTION_LENGTH for block in slack["blocks"][:-1])
    pagerduty = sent("pagerduty", about)
    assert pagerduty["dedup_key"]
    if "payload" in pagerduty:
        assert 0 < len(pagerduty["payload"]["summary"]) <= SUMMARY_LENGTH
    for alert in sent("alertmanager", about):
        assert all(alert["labels"].values())
        assert alert["startsAt"] <= alert["endsAt"]
