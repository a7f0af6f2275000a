"""What does an alert say? One plain JSON body per state of an incident, made from the incident alone. Pure.

The body repeats the machine-readable fields of the incident and says the same in sentences. Instants stand twice: as
integer microseconds since the epoch and as ISO 8601 in UTC. ``delivery`` is the same for the same state of the same
incident, in every attempt, replay and restart, and differs between states: receivers that see one twice keep one.
The JSON Schema is ``docs/reference/alert.schema.json``.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from schemas.alerting import Severity
from schemas.diagnosis import (
    Action,
    Candidate,
    ComponentClass,
    Incident,
    IncidentKind,
    IssueId,
    Symptom,
)
from schemas.envelope import Count, InstantUs, Name, Share
from skeletonhunter.alerting.severity import Urgency, urgency_of

MAX_ENDPOINTS = 32
"""Endpoints that are listed; ``endpoint_count`` counts all."""

MAX_EVIDENCE = 16


class AlertBody(Struct, frozen=True, kw_only=True):
    """The body of a webhook call, ``format`` 1. Fields may be added; none is renamed within a format."""

    format: Literal[1] = 1
    delivery: Annotated[str, Meta(description="The same for repeated deliveries of one state: deduplicate by it.")]
    incident: Annotated[Name, Meta(description="Id of the incident, the same through all its states.")]
    state: Annotated[Literal["open", "updated", "resolved"], Meta(description="resolved closes the incident.")]
    severity: Annotated[Severity, Meta(description="How urgent it is.")]
    severity_why: Annotated[str, Meta(description="Why it is as urgent as that.")]
    kind: Annotated[IncidentKind, Meta(description="network_fault, congestion, or a trouble of the monitor itself.")]
    issue: Annotated[IssueId | None, Meta(description="One of the nineteen known issues; null = not known.")]
    component: Annotated[str | None, Meta(description="Component id that is blamed; null = nobody yet.")]
    component_class: Annotated[ComponentClass | None, Meta(description="What kind of component that is.")]
    confidence: Annotated[Share, Meta(description="How sure, 0 to 1.")]
    candidates: Annotated[tuple[Candidate, ...], Meta(description="Components that could be to blame, with scores.")]
    symptom: Annotated[Symptom | None, Meta(description="What the probes noticed.")]
    title: Annotated[str, Meta(description="One line for a pager.")]
    summary: Annotated[str, Meta(description="What broke, how sure, whom it touches, what to do, and where to look.")]
    what: Annotated[str, Meta(description="What broke, how sure, since when and whom it touches, in one sentence.")]
    why: Annotated[str, Meta(description="The reasoning, pass by pass.")]
    todo: Annotated[str, Meta(description="What to do and why, in one sentence.")]
    action: Annotated[Action, Meta(description="What to do, to which component.")]
    fabric: Annotated[Name, Meta(description="Fabric that it happened in.")]
    jobs: Annotated[tuple[str, ...], Meta(description="Jobs that it touches.")]
    tenants: Annotated[tuple[str, ...], Meta(description="Whom these jobs belong to, as far as endpoint maps said.")]
    other_incidents: Annotated[Count, Meta(description="Further incidents of the same page: a storm, or one place.")]
    reminder: Annotated[bool, Meta(description="true = nothing has changed, it is still open.")]
    endpoint_count: Annotated[Count, Meta(description="Number of endpoints that it touches.")]
    endpoints: Annotated[tuple[str, ...], Meta(description=f"The first {MAX_ENDPOINTS} of them.")]
    evidence: Annotated[tuple[str, ...], Meta(description=f"The first {MAX_EVIDENCE} facts that the verdict rests on.")]
    t_us: Annotated[InstantUs, Meta(description="When this was concluded, us since the epoch, in event time.")]
    time: Annotated[str, Meta(description="t_us in ISO 8601, UTC.")]
    onset_us: Annotated[InstantUs, Meta(description="When it began.")]
    onset: Annotated[str, Meta(description="onset_us in ISO 8601, UTC.")]
    detected_us: Annotated[InstantUs, Meta(description="When it was noticed.")]
    detected: Annotated[str, Meta(description="detected_us in ISO 8601, UTC.")]
    localized_us: Annotated[InstantUs | None, Meta(description="When a component was blamed; null = not yet.")]
    localized: Annotated[str | None, Meta(description="localized_us in ISO 8601, UTC.")]
    resolved_us: Annotated[InstantUs | None, Meta(description="When it was over; null = not yet.")]
    resolved: Annotated[str | None, Meta(description="resolved_us in ISO 8601, UTC.")]
    explain: Annotated[str, Meta(description="Command that prints the whole reasoning.")]
    report: Annotated[str, Meta(description="Command that writes it all on one page, with pictures.")]
    link: Annotated[str | None, Meta(description="Address of a page about it, as `alerts.link` says; null = none.")]


class Occasion(Struct, frozen=True, kw_only=True):
    """Why an alert is sent, where that is more than the state of one incident. ``severity`` None: the incident's."""

    delivery: str
    state: Literal["open", "updated", "resolved"]
    severity: Severity | None = None
    tenants: tuple[str, ...] = ()
    other_incidents: int = 0
    reminder: bool = False
    link: str | None = None


def occasion_of(incident: Incident) -> Occasion:
    """The occasion of one state of one incident."""
    return Occasion(
        delivery=f"{incident.incident}/{incident.producer.seq}/{incident.state}",
        state=incident.state,
    )


def alert_body(incident: Incident, occasion: Occasion | None = None) -> AlertBody:
    """The body that tells of this state of the incident."""
    occasion = occasion or occasion_of(incident)
    urgency = urgency_of(incident)
    return AlertBody(
        delivery=occasion.delivery,
        incident=incident.incident,
        state=occasion.state,
        severity=occasion.severity or urgency.severity,
        severity_why=_severity_why(urgency, occasion),
        kind=incident.kind,
        issue=incident.issue,
        component=incident.component,
        component_class=incident.component_class,
        confidence=incident.confidence,
        candidates=incident.candidates,
        symptom=incident.symptom,
        title=_title(incident, occasion),
        summary=_summary(incident, occasion),
        what=_what(incident),
        why=_why(incident),
        todo=_todo(incident),
        action=incident.action,
        fabric=incident.fabric,
        jobs=incident.jobs,
        tenants=occasion.tenants,
        other_incidents=occasion.other_incidents,
        reminder=occasion.reminder,
        endpoint_count=len(incident.endpoints),
        endpoints=incident.endpoints[:MAX_ENDPOINTS],
        evidence=tuple(evidence.text for evidence in incident.evidence[:MAX_EVIDENCE]),
        **_instants(incident),
        explain=f"skeletonhunter explain {incident.incident}",
        report=_report(incident),
        link=occasion.link,
    )


def _instants(incident: Incident) -> dict[str, Any]:
    """Every instant twice: as it is, and in ISO 8601."""
    return {
        "t_us": incident.t_us,
        "time": _iso(incident.t_us),
        "onset_us": incident.onset_us,
        "onset": _iso(incident.onset_us),
        "detected_us": incident.detected_us,
        "detected": _iso(incident.detected_us),
        "localized_us": incident.localized_us,
        "localized": _iso_or_none(incident.localized_us),
        "resolved_us": incident.resolved_us,
        "resolved": _iso_or_none(incident.resolved_us),
    }


def encode_body(body: AlertBody) -> bytes:
    """JSON, fields in order: equal bodies are equal bytes."""
    return msgspec.json.encode(body)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ACRONYMS = frozenset(("crc", "rnic", "gid", "pcie", "nic", "gpu", "rdma"))
_KINDS: dict[str, str] = {
    "network_fault": "Network fault",
    "congestion": "Congestion, no fault",
    "agent_missing": "Monitoring agent silent",
    "agent_starved": "Monitoring agent starved",
    "clock_bad": "Clock not to be trusted",
    "collector_gap": "Gap in the collected data",
    "insufficient_evidence": "Something is wrong, the evidence does not say what",
}
_ACTIONS: dict[str, str] = {
    "quarantine": "Quarantine",
    "clean_fibre": "Clean the fibre of",
    "replace_fibre": "Replace the fibre of",
    "restart": "Restart",
    "fix_configuration": "Fix the configuration of",
}


def _title(incident: Incident, occasion: Occasion) -> str:
    state = "still open" if occasion.reminder else occasion.state
    others = f" (+{occasion.other_incidents} more)" if occasion.other_incidents else ""
    return f"{'' if state == 'open' else f'[{state}] '}{_trouble(incident)}{others}"


def _summary(incident: Incident, occasion: Occasion) -> str:
    title = _title(incident, occasion)
    todo = "It is over." if occasion.state == "resolved" else _todo(incident)
    return f"{title} ({incident.confidence:.0%} sure), {_touched(incident)}. {todo} Look: {_report(incident)}"


def _report(incident: Incident) -> str:
    return f"skeletonhunter report {incident.incident} -o {incident.incident}.html"


def _severity_why(urgency: Urgency, occasion: Occasion) -> str:
    if occasion.severity in (None, urgency.severity):
        return urgency.why
    return f"the most urgent of {occasion.other_incidents + 1} incidents"


def _trouble(incident: Incident) -> str:
    trouble = _capital(_spoken(incident.issue)) if incident.issue else _KINDS[incident.kind]
    return f"{trouble}: {incident.component}" if incident.component else trouble


def _what(incident: Incident) -> str:
    symptom = f"{_spoken(incident.symptom)} " if incident.symptom else ""
    since = f"{symptom}since {_iso(incident.onset_us)}"
    ended = f" until {_iso(incident.resolved_us)}" if incident.resolved_us is not None else ""
    return f"{_trouble(incident)} ({incident.confidence:.0%} sure), {since}{ended}, touching {_touched(incident)}."


def _touched(incident: Incident) -> str:
    jobs = f" of {_jobs(incident.jobs)}" if incident.jobs else ""
    return f"{len(incident.endpoints)} {'endpoint' if len(incident.endpoints) == 1 else 'endpoints'}{jobs}"


def _jobs(jobs: tuple[str, ...]) -> str:
    return f"job {jobs[0]}" if len(jobs) == 1 else f"{len(jobs)} jobs ({', '.join(jobs)})"


def _why(incident: Incident) -> str:
    passes = [f"{each.pass_} pass {each.verdict}: {each.reason}" for each in incident.trace]
    said = passes or [evidence.text for evidence in incident.evidence[:1]]
    return "; ".join(said) if said else "no reasoning was given"


def _todo(incident: Incident) -> str:
    action = incident.action
    if action.kind == "none":
        return f"Nothing to do: {action.why}."
    return f"{_ACTIONS[action.kind]} {action.target or 'the component'}: {action.why}."


def _spoken(name: str) -> str:
    """An id of the contract in words: ``rnic_port_down`` is "RNIC port down"."""
    return " ".join(word.upper() if word in _ACRONYMS else word for word in name.split("_"))


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _iso(t_us: int) -> str:
    return (_EPOCH + timedelta(microseconds=t_us)).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _iso_or_none(t_us: int | None) -> str | None:
    return None if t_us is None else _iso(t_us)
