"""Does a receiver get what it is sent? A made-up incident and its end, to each target, whatever its routes say."""

from __future__ import annotations

import time
from typing import Literal

from schemas.diagnosis import Action, Incident
from schemas.envelope import Clock, Producer
from skeletonhunter.alert_settings import AlertSettings
from skeletonhunter.alerting.forms import call_of
from skeletonhunter.alerting.targets import Target
from skeletonhunter.sinks.alert_body import Occasion, alert_body
from skeletonhunter.sinks.webhook import DeliveryError, WebhookSender

WORDS = "this is a test of alerts, nothing is broken"


def rehearse(target: Target, alerts: AlertSettings, now_us: int) -> str | None:
    """Sends both to the target; what went wrong, None when it took them."""
    labels: dict[str, str] = {}
    try:
        with WebhookSender(target, alerts, time.sleep) as sender:
            for state in ("open", "resolved"):
                body = alert_body(made_up(now_us, state), Occasion(delivery=f"test/{now_us}/{state}", state=state))
                call = call_of(target, body, labels, now_us)
                sender.deliver(call)
                labels = call.labels
    except DeliveryError as error:
        return str(error)
    return None


def made_up(now_us: int, state: Literal["open", "resolved"]) -> Incident:
    """An incident that says of itself that it is none."""
    return Incident(
        v=1,
        t_us=now_us,
        producer=Producer(id="test:alerts", kind="test", boot=str(now_us), seq=0),
        clock=Clock(source="none", offset_us=0.0, error_us=0.0),
        fabric="test",
        incident=f"test-{now_us}",
        state=state,
        kind="network_fault",
        issue=None,
        component="rnic:test-host/test-rnic",
        component_class="rnic",
        confidence=1.0,
        candidates=(),
        jobs=("test-job",),
        endpoints=("test-container/test-rnic",),
        symptom="high_latency",
        onset_us=now_us,
        detected_us=now_us,
        localized_us=now_us,
        resolved_us=now_us if state == "resolved" else None,
        evidence=(),
        trace=(),
        action=Action(kind="none", target=None, why=WORDS),
    )
