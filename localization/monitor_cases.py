"""Troubles of the monitor as incidents: opened when first found, resolved when not found for the quiet time.

Verdicts that the passes withhold from the network (an agent that is missing or starved where pairs are ill) join the
same incident, with the pairs as evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from localization.actions import action_for
from localization.cases import Case
from localization.evidence import EvidenceStore
from localization.incidents import Told, closing, closing_merged, compose, is_material, tell
from localization.muting import MUTED_US
from localization.producers import is_starved
from localization.troubles import Trouble, find_troubles
from localization.verdict import Verdict
from schemas.diagnosis import Action, Candidate, Incident, IncidentKind
from schemas.folding import Emission
from schemas.ids import content_id
from schemas.instants import SECOND_US, micros

SILENCES: tuple[IncidentKind, ...] = ("agent_missing", "collector_gap")
MUTED_BEFORE_US = 10 * SECOND_US


@dataclass(slots=True)
class MonitorCases:
    """Open troubles: the incident as last told, and when each was last seen."""

    told: dict[str, Incident] = field(default_factory=dict)
    seen_us: dict[str, int] = field(default_factory=dict)

    def check(self, store: EvidenceStore, told: Told, t_us: int) -> list[Emission]:
        """Looks for troubles; what is new, and what is over."""
        emissions = []
        for trouble in find_troubles(store, t_us):
            emissions += self._see(trouble.key, _incident(store, trouble, t_us), told, t_us)
        return emissions

    def withhold(self, case: Case, verdict: Verdict, told: Told, store: EvidenceStore, t_us: int) -> list[Emission]:
        """A case whose anomalies the monitor's own trouble explains."""
        key = f"{verdict.kind} {verdict.component}"
        case.withheld = key
        _mute(case, verdict, store, t_us)
        ends = [endpoint for pair in case.pairs() for endpoint in pair]
        name = content_id("incident", store.fabric, verdict.kind, verdict.component, case.onset_us)
        incident = msgspec.structs.replace(compose(case, verdict, store, ends, t_us), incident=name)
        return self._see(key, incident, told, t_us)

    def _see(self, key: str, incident: Incident, told: Told, t_us: int) -> list[Emission]:
        before = self.told.get(key)
        self.seen_us[key] = t_us
        if before is None:
            self.told[key] = incident
            return [tell(told, incident), *self._take_back(incident, told, t_us)]
        if len(incident.trace) <= len(before.trace):
            return []
        now = msgspec.structs.replace(
            incident,
            incident=before.incident,
            state="updated",
            onset_us=before.onset_us,
            detected_us=before.detected_us,
            localized_us=before.localized_us,
        )
        if not is_material(before, now):
            return []
        self.told[key] = now
        return [tell(told, now)]

    def _take_back(self, incident: Incident, told: Told, t_us: int) -> list[Emission]:
        """An agent that says that it starved explains its own silence: what was told of that is the same trouble."""
        if incident.kind != "agent_starved":
            return []
        same = [key for key in (f"{kind} {incident.component}" for kind in SILENCES) if key in self.told]
        for key in same:
            del self.seen_us[key]
        return [tell(told, closing_merged(self.told.pop(key), incident.incident, t_us)) for key in same]

    def close_quiet(self, told: Told, t_us: int, quiet_s: float) -> list[Emission]:
        """Troubles that were not seen for the quiet time are over."""
        over = [key for key in self.told if t_us - self.seen_us[key] >= micros(quiet_s)]
        emissions = []
        for key in over:
            seen_us = self.seen_us.pop(key)
            emissions.append(tell(told, closing(self.told.pop(key), t_us, seen_us)))
        return emissions


def _mute(case: Case, verdict: Verdict, store: EvidenceStore, t_us: int) -> None:
    """While the agent is away or starves, what its endpoints send and are sent says nothing of the network."""
    agent = (verdict.component or "").removeprefix("agent:")
    ends = {endpoint for pair in case.pairs() for endpoint in pair}
    endpoints = {e for e in ends | set(store.producers.agent_of) if store.agent_of(e) == agent}
    silent = [endpoint for endpoint in endpoints if store.sources.is_silent(endpoint, t_us)]
    health = store.producers.health.get(agent)
    if not silent and (health is None or not is_starved(health)):
        return
    since_us = min([case.onset_us, *(store.sources[endpoint].last_us for endpoint in silent)])
    since_us = max(since_us, case.onset_us - MUTED_BEFORE_US)
    store.watch.mute(endpoints, since_us, t_us + MUTED_US)


def _incident(store: EvidenceStore, trouble: Trouble, t_us: int) -> Incident:
    verdict = Verdict(
        kind=trouble.kind,
        issue=None,
        component=trouble.component,
        component_class=None,
        confidence=trouble.confidence,
        candidates=(Candidate(component=trouble.component, score=trouble.confidence),) if trouble.component else (),
        evidence=trouble.evidence,
        trace=trouble.trace(),
        action=_action(trouble),
        awaited=False,
    )
    name = content_id("incident", store.fabric, trouble.kind, trouble.component or trouble.text, trouble.since_us)
    case = Case(name, trouble.since_us, t_us, localized_us=t_us)
    incident = compose(case, verdict, store, trouble.endpoints, t_us)
    return msgspec.structs.replace(incident, symptom=None)


def _action(trouble: Trouble) -> Action:
    if trouble.kind == "clock_bad":
        why = "its time stamps can't be joined with others'; let the clock synchronise again"
        return Action(kind="fix_configuration", target=trouble.component, why=why)
    if trouble.component is None:
        return Action(
            kind="none", target=None, why="look at the collectors and the way to Kafka; the network is not judged"
        )
    return action_for(trouble.kind, trouble.component, None)
