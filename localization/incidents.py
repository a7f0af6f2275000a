"""What is told, and when? Cases become incidents: opened, updated when the verdict changes, resolved.
 An update is material when kind, issue, component, action or symptom change, confidence moves by
``CONFIDENCE_STEP``, or the endpoints double. A firm verdict yields only to a firmer one: evidence that has aged out
of the window takes nothing back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import msgspec

from localization.cases import Case
from localization.evidence import EvidenceStore
from localization.heaps import is_part, suspect_of
from localization.verdict import Verdict
from schemas.diagnosis import Action, Incident, Symptom
from schemas.envelope import Producer
from schemas.folding import DERIVED_CLOCK, Emission, derived_producer
from schemas.instants import SECOND_US

CONFIDENCE_STEP = 0.1
SLACK = 0.05
RIVAL_SCORE = 0.3
EVEN = 0.5
DOUBT_US = 60 * SECOND_US
IncidentState = Literal["open", "updated", "resolved"]


@dataclass(slots=True)
class Told:
    """Numbers the messages of one fabric's incidents."""

    fabric: str
    sent: int = 0

    def producer(self) -> Producer:
        """Provenance of the next message."""
        self.sent += 1
        return derived_producer("localization", self.fabric, self.sent)


def tell(told: Told, incident: Incident) -> Emission:
    """An incident as a message, numbered."""
    return Emission("incidents", incident.incident, msgspec.structs.replace(incident, producer=told.producer()))


def compose(case: Case, verdict: Verdict, store: EvidenceStore, endpoints: Iterable[str], t_us: int) -> Incident:
    """The incident of a case as of now; ``state`` is set by the caller."""
    names = tuple(sorted(set(endpoints)))
    if verdict.firm and case.localized_us is None:
        case.localized_us = t_us
    return Incident(
        v=1,
        t_us=t_us,
        producer=derived_producer("localization", "", 0),
        clock=DERIVED_CLOCK,
        fabric=store.fabric,
        incident=case.case,
        state="open",
        kind=verdict.kind,
        issue=verdict.issue,
        component=verdict.component,
        component_class=verdict.component_class,
        confidence=verdict.confidence,
        candidates=verdict.candidates,
        jobs=tuple(sorted({store.topology.job_of[name] for name in names if name in store.topology.job_of})),
        endpoints=names,
        symptom=_symptom(case, store),
        onset_us=case.onset_us,
        detected_us=case.detected_us,
        localized_us=case.localized_us if verdict.firm else None,
        resolved_us=None,
        evidence=verdict.evidence,
        trace=verdict.trace,
        action=verdict.action,
    )


def _symptom(case: Case, store: EvidenceStore) -> Symptom | None:
    """The worst symptom of the members; of a fault that only the fabric as a whole shows, what it does to packets."""
    if case.anomalies:
        return case.symptom()
    losses = [fault.loss for fault in store.watch.faults if fault.suspect in case.faults]
    return "unconnectivity" if losses and max(losses) >= 0.97 else "packet_loss"


def settle_on(store: EvidenceStore, before: Incident | None, now: Incident) -> Incident:
    """The newer incident, with the older one's verdict where that was firmer."""
    if before is None or before.component is None or _is_firmer(store, before, now):
        return now
    return msgspec.structs.replace(
        before,
        t_us=now.t_us,
        jobs=tuple(sorted({*before.jobs, *now.jobs})),
        endpoints=tuple(sorted({*before.endpoints, *now.endpoints})),
        symptom=now.symptom,
    )


def doubted(store: EvidenceStore, meant: Incident, now: Incident) -> Incident:
    """A verdict that stands, told as at most even where its early evidence speaks for somebody else as well."""
    if now.t_us - now.onset_us > DOUBT_US:
        return meant
    blamed = suspect_of(store.topology, meant.component or "")
    mine = next((each for each in now.candidates if suspect_of(store.topology, each.component) == blamed), None)
    rival = max((each.score for each in now.candidates if each is not mine), default=0.0)
    if meant.component is None or (rival < RIVAL_SCORE and (mine is None or mine.score > EVEN)):
        return meant
    return msgspec.structs.replace(meant, confidence=min(meant.confidence, EVEN), candidates=now.candidates)


def _is_firmer(store: EvidenceStore, before: Incident, now: Incident) -> bool:
    """Whether the newer verdict replaces the older. One that knows the reason yields only to another that does.

    A queue that was deep is a reason: that it is so no longer gives no part of the fabric away. A reason that is
    found in a part of what was blamed for none need not be as sure: it says why. While it is early, what nothing speaks
    for any more counts as even: how sure a kind of evidence can make is no reason to stay with another.
    """
    reasoned = before.issue is not None or (before.kind == "congestion" and now.kind == "network_fault")
    if now.component is None or before.component is None or (reasoned and now.issue is None):
        return False
    same = suspect_of(store.topology, now.component) == suspect_of(store.topology, before.component)
    if same and now.kind == before.kind:
        return now.issue != before.issue or now.confidence >= before.confidence
    blamed = suspect_of(store.topology, before.component)
    if before.issue is None and now.issue is not None and is_part(store.topology, now.component, blamed, ()):
        return now.confidence > EVEN
    return now.confidence >= doubted(store, before, now).confidence - SLACK


def spoken_for(now: Incident, before: Incident | None, left: bool) -> Incident:
    """The newer incident, without its issue if that is only what is left (``left``) and the older one knows why.

    When what spoke for a reason is over, before the anomalies are cleared, nothing speaks for another one.
    """
    knows = before is not None and (before.issue is not None or before.kind == "congestion")
    return msgspec.structs.replace(now, issue=None) if left and knows else now


def is_material(before: Incident, now: Incident) -> bool:
    """Whether a change is worth telling."""
    one = (before.kind, before.issue, before.component, before.action.kind, before.symptom)
    other = (now.kind, now.issue, now.component, now.action.kind, now.symptom)
    moved = abs(now.confidence - before.confidence) >= CONFIDENCE_STEP
    return one != other or moved or len(now.endpoints) >= 2 * max(len(before.endpoints), 1)


def closing(incident: Incident, t_us: int, resolved_us: int) -> Incident:
    """The last word on an incident."""
    return msgspec.structs.replace(incident, t_us=t_us, state="resolved", resolved_us=resolved_us)


def closing_merged(incident: Incident, heir: str, t_us: int) -> Incident:
    """The last word on an incident that turned out to be another one's."""
    why = f"this is the same trouble as incident {heir}, which goes on"
    action = Action(kind="none", target=None, why=why)
    return msgspec.structs.replace(closing(incident, t_us, t_us), action=action)
