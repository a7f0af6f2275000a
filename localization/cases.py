"""Which anomalies have one cause? Cases: anomalies and faults of the fabric that one incident is made of.

A case lives from its first sign until all of it has been well for the quiet time. ``opened``: the incident as last
sent. Its id follows from fabric, first pair or component, and onset; it never changes, whatever is learned later.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from localization.queues import Before
from localization.suspects import Suspect
from schemas.diagnosis import Anomaly, Evidence, Incident, IncidentKind, IssueId, Symptom, TracePass

SEVERITY: dict[Symptom, int] = {"high_latency": 0, "packet_loss": 1, "unconnectivity": 2}
Ends = tuple[str, str]
"""An unordered pair of endpoints, ascending."""


Silence = tuple[float, str, int]
"""That a card does not answer its host: nats, in words, and since when, us."""


class Clue(NamedTuple):
    """What a pass has found against a component, in nats over the chance that it is there for another reason.

    ``source``: the kind of evidence, where it is another one than the pass's usual.
    """

    component: str
    nats: float
    kind: IncidentKind
    issue: IssueId | None
    layer: str
    text: str
    source: str = ""


@dataclass(slots=True)
class Outcome:
    """What a pass says. ``wanted``: evidence that would decide; ``awaited``: such evidence is on its way."""

    trace: TracePass
    clues: list[Clue] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    wanted: list[str] = field(default_factory=list)
    awaited: bool = False


@dataclass(slots=True)
class Case:
    """One cause, as far as it is known. ``group``: what slow pairs have in common, ``rivals``: what they have in common
    nearly as well.

    ``meant``: the incident as it would be told if nothing were held back; ``blamed_us``: since when it blames the same.
    ``silences``: what cards at its ends did not answer, by node and topic.
    """

    case: str
    onset_us: int
    detected_us: int
    anomalies: dict[str, Anomaly] = field(default_factory=dict)
    faults: list[Suspect] = field(default_factory=list)
    group: tuple[Suspect, float] | None = None
    rivals: tuple[tuple[Suspect, float], ...] = ()
    before: dict[str, Before] = field(default_factory=dict)
    opened: Incident | None = None
    meant: Incident | None = None
    blamed_us: int = 0
    firm: bool = False
    bad_us: int = 0
    next_check_us: int = 0
    localized_us: int | None = None
    withheld: str | None = None
    silences: dict[str, dict[str, Silence]] = field(default_factory=dict)

    def open_anomalies(self) -> list[Anomaly]:
        """Members that are not cleared, in a fixed order."""
        return [self.anomalies[key] for key in sorted(self.anomalies) if self.anomalies[key].state == "open"]

    def members(self) -> list[Anomaly]:
        """The open members, or all when none is open any more."""
        return self.open_anomalies() or [self.anomalies[key] for key in sorted(self.anomalies)]

    def pairs(self) -> list[Ends]:
        """Directed pairs of the members, sorted."""
        return sorted({(anomaly.src, anomaly.dst) for anomaly in self.members()})

    def ends(self) -> set[Ends]:
        """Unordered pairs of all members that ever belonged to it."""
        return {ends_of(anomaly) for anomaly in self.anomalies.values()}

    def symptom(self) -> Symptom | None:
        """The worst symptom that any member ever had."""
        return max((a.symptom for a in self.anomalies.values()), key=SEVERITY.__getitem__, default=None)

    def is_slow(self) -> bool:
        """Whether what it blames slows packets down: one of its pairs may lose some for another reason."""
        return self.symptom() == "high_latency" or (self.group is not None and not self.faults)

    def take(self, anomaly: Anomaly) -> None:
        """Makes an anomaly a member."""
        self.anomalies[anomaly.anomaly] = anomaly
        self.bad_us = max(self.bad_us, anomaly.t_us)
        if not self.firm and self.opened is None:
            self.onset_us = min(self.onset_us, anomaly.onset_us)
            self.detected_us = min(self.detected_us, anomaly.detected_us)
        self.next_check_us = 0


def ends_of(anomaly: Anomaly) -> Ends:
    """The anomaly's pair without direction."""
    return ends_between(anomaly.src, anomaly.dst)


def ends_between(one: str, other: str) -> Ends:
    """Two endpoints as a pair without direction."""
    return (one, other) if one < other else (other, one)
