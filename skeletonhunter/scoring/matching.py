"""Which fault can an incident be about? It must overlap the fault in time and touch its component or its endpoints.

In time: the incident was detected after the fault's onset (less ``Rules.early_s``) and its own onset lies before the
fault's end (plus ``Rules.aftermath_s``). An alarm that was raised before a fault began is about something else, however
long it stays open; one that was raised after the fault's end about what it saw before is late, but right.
Touch: both components are one place, or one holds the other, or an endpoint is common to both (the named ones, and
those that sit at the component).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from schemas.diagnosis import Incident
from schemas.instants import micros
from schemas.truth import Fault, MonitorFault
from skeletonhunter.scoring.facts import RecordingFacts
from skeletonhunter.scoring.places import Places
from skeletonhunter.scoring.verdicts import Rules

AnyFault = TypeVar("AnyFault", Fault, MonitorFault)


class Matcher:
    """Answers which faults an incident touches, for one recording."""

    def __init__(self, facts: RecordingFacts, rules: Rules) -> None:
        self.places = Places(facts)
        self.early_us = micros(rules.early_s)
        self.aftermath_us = micros(rules.aftermath_s)

    def touched(self, incident: Incident, faults: Sequence[AnyFault]) -> tuple[AnyFault, ...]:
        """The faults that the incident can be about, in their order."""
        reach = self.reach(incident)
        return tuple(
            fault
            for fault in faults
            if self._in_time(incident, fault) and (self._related(incident, fault) or reach & self.reach_of(fault))
        )

    def finds(self, incident: Incident, fault: MonitorFault) -> bool:
        """Whether an incident about the monitor is about this fault: of its kind, in time, and touching it or naming no
        place at all, which speaks of the whole fabric."""
        if incident.kind != fault.kind or not self._in_time(incident, fault):
            return False
        return (incident.component is None and not incident.endpoints) or bool(self.touched(incident, [fault]))

    def reach(self, incident: Incident) -> frozenset[str]:
        """Endpoints that the incident speaks of."""
        return frozenset(incident.endpoints) | self.places.endpoints_at(incident.component)

    def reach_of(self, fault: Fault | MonitorFault) -> frozenset[str]:
        """Endpoints that the fault can hurt."""
        return frozenset(fault.endpoints) | self.places.endpoints_at(fault.component)

    def began(self, t_us: int, fault: Fault | MonitorFault) -> bool:
        """Whether the fault had begun at ``t_us``, give or take clock errors."""
        return t_us >= fault.start_us - self.early_us

    def _in_time(self, incident: Incident, fault: Fault | MonitorFault) -> bool:
        return self.began(incident.detected_us, fault) and incident.onset_us <= fault.end_us + self.aftermath_us

    def _related(self, incident: Incident, fault: Fault | MonitorFault) -> bool:
        if incident.component is None or fault.component is None:
            return False
        return self.places.related(incident.component, fault.component)
