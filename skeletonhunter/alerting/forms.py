"""How is an alert said to each receiver? One request per form, made from the body that all of them share. Pure.

json          the body as it is (``docs/reference/alert.schema.json``)
alertmanager  ``POST /api/v2/alerts`` of Prometheus Alertmanager
pagerduty     PagerDuty's Events API v2, ``trigger`` and ``resolve``
slack         an incoming webhook of Slack: a text for the lock screen, and blocks
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from schemas.alerting import SEVERITIES
from skeletonhunter.alert_settings import AlertFormat
from skeletonhunter.alerting.slack import slack_message
from skeletonhunter.alerting.targets import Target
from skeletonhunter.sinks.alert_body import AlertBody, encode_body

Json = dict[str, Any]
Labels = dict[str, str]

ALERTS_PATH = "/api/v2/alerts"
HOLD_S = 600.0
"""Alertmanager takes an alert for over when it was not sent again for so long; it is sent again every 60 s."""

SUMMARY_LENGTH = 1024
"""What PagerDuty takes."""

LABELS = (
    "alertname",
    "incident",
    "fabric",
    "severity",
    "kind",
    "issue",
    "component",
    "component_class",
    "symptom",
    "tenant",
)
"""Labels of an alert in Alertmanager; ``alertname`` is the kind in one word, such as NetworkFault."""

VERDICT = ("kind", "issue", "component")


@dataclass(frozen=True, slots=True)
class Call:
    """One request: where to, what, and the key by which a receiver recognises a repetition.

    ``labels``: what the receiver knows the alert by from now on, where it has to be told that again.
    """

    url: str = field(repr=False)
    content: bytes = field(repr=False)
    delivery: str
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    labels: Labels = field(default_factory=dict)


def call_of(target: Target, body: AlertBody, known_by: Labels, now_us: int) -> Call:
    """The request that tells ``target``; ``known_by`` are the labels of the last one, empty for the first."""
    if target.settings.format == "alertmanager":
        return _alertmanager(target, body, known_by, now_us)
    return _FORMS[target.settings.format](target, body)


def labels_of(body: AlertBody, known_by: Labels) -> Labels:
    """The labels of an alert: they name it, so they stay while the verdict does and it does not get worse."""
    alertname = "".join(word.capitalize() for word in body.kind.split("_"))
    given = {"alertname": alertname, "tenant": ",".join(body.tenants)}
    texts = {name: given[name] if name in given else getattr(body, name) for name in LABELS}
    labels = {name: text for name, text in texts.items() if text}
    if known_by and _is_same_alert(labels, known_by, body.state == "resolved"):
        return known_by
    return labels


def _is_same_alert(labels: Labels, known_by: Labels, is_over: bool) -> bool:
    same = all(labels.get(name) == known_by.get(name) for name in VERDICT)
    rank = [str(severity) for severity in SEVERITIES]
    return is_over or (same and rank.index(known_by["severity"]) <= rank.index(labels["severity"]))


def _json(target: Target, body: AlertBody) -> Call:
    return Call(target.url, encode_body(body), body.delivery, _bearer(target))


def _alertmanager(target: Target, body: AlertBody, known_by: Labels, now_us: int) -> Call:
    labels = labels_of(body, known_by)
    over = body.state == "resolved"
    ends = body.resolved or body.time if over else _iso(now_us + round(HOLD_S * 1e6))
    alerts = [_alert(body, labels, ends)]
    if known_by and labels != known_by:
        alerts.insert(0, _alert(body, known_by, _iso(now_us)))
    return Call(_alerts_url(target.url), msgspec.json.encode(alerts), body.delivery, _bearer(target), labels)


def _alert(body: AlertBody, labels: Labels, ends: str) -> Json:
    annotations = {
        "summary": body.summary,
        "description": body.what,
        "action": body.todo,
        "why": body.why,
        "severity_why": body.severity_why,
        "confidence": f"{body.confidence:.2f}",
        "jobs": ", ".join(body.jobs),
        "endpoints": str(body.endpoint_count),
        "report": body.report,
        "explain": body.explain,
    }
    alert = {"labels": labels, "annotations": annotations, "startsAt": min(body.onset, ends), "endsAt": ends}
    return alert | ({"generatorURL": body.link} if body.link else {})


def _alerts_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.path.rstrip("/").endswith(ALERTS_PATH):
        return url
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + ALERTS_PATH))


def _pagerduty(target: Target, body: AlertBody) -> Call:
    event: Json = {
        "routing_key": target.token,
        "event_action": "resolve" if body.state == "resolved" else "trigger",
        "dedup_key": f"skeletonhunter/{body.incident}",
    }
    if body.state != "resolved":
        event |= {
            "client": "SkeletonHunter",
            "payload": {
                "summary": body.summary[:SUMMARY_LENGTH],
                "source": body.component or f"fabric:{body.fabric}",
                "severity": body.severity,
                "timestamp": body.onset,
                "component": body.component,
                "group": body.fabric,
                "class": body.issue or body.kind,
                "custom_details": msgspec.to_builtins(body),
            },
        }
        if body.link:
            event["links"] = [{"href": body.link, "text": "the incident on one page"}]
    return Call(target.url, msgspec.json.encode(event), body.delivery)


def _slack(target: Target, body: AlertBody) -> Call:
    return Call(target.url, msgspec.json.encode(slack_message(body)), body.delivery, _bearer(target))


def _bearer(target: Target) -> dict[str, str]:
    return {"Authorization": f"Bearer {target.token}"} if target.token else {}


def _iso(t_us: int) -> str:
    instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=t_us)
    return instant.isoformat(timespec="microseconds").replace("+00:00", "Z")


_FORMS: dict[AlertFormat, Callable[[Target, AlertBody], Call]] = {
    "json": _json,
    "pagerduty": _pagerduty,
    "slack": _slack,
}
