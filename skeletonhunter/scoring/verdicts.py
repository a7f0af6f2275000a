"""The answer sheet: what became of every alarm, fault, monitor fault, congestion and quarantine of one recording.

Delays are seconds from the fault's onset, never negative; null = did not happen. See docs/explanation/scoring.md.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from schemas.diagnosis import ComponentClass, IncidentKind, IssueId
from schemas.truth import MonitorFaultKind

Cause = Literal["network_fault", "congestion", "monitor", "nothing"]
"""What really lay behind an alarm."""

NO_ISSUE = "no issue"
"""Column of the confusion matrix: an alarm that says no issue."""

MISSED = "missed"
"""Column of the confusion matrix: no alarm at all."""


class Rules(Struct, frozen=True, forbid_unknown_fields=True):
    """Tolerances in time. ``early_s``: an alarm this long before the onset may still be about the fault (clock errors).
    ``aftermath_s``: what begins this long after a fault's end may still be its consequence (the lateness bound)."""

    early_s: float = 1.0
    aftermath_s: float = 5.0


class AlarmVerdict(Struct, frozen=True, kw_only=True):
    """An incident of kind ``network_fault`` or ``insufficient_evidence``, by its last state.

    ``standing`` right: it touches a fault in time; set_aside: it says that evidence lacks, and a monitor fault is the
    reason. ``faults``: all that it touches; ``judged_by``: the one that its component, class and issue are compared
    with; ``names``: the one whose component it names. ``named`` null: not judged (it names none, or a single link of a
    faulty switch). ``exact`` null: it is one of many links that together name a switch.
    """

    incident: str
    kind: IncidentKind
    component: str | None
    component_class: ComponentClass | None
    issue: IssueId | None
    confidence: float
    standing: Literal["right", "false", "set_aside"]
    cause: Cause
    faults: tuple[str, ...] = ()
    judged_by: str | None = None
    true_component: str | None = None
    true_issue: IssueId | None = None
    names: str | None = None
    named: bool | None = None
    exact: bool | None = None
    listed: bool | None = None
    class_right: bool | None = None
    issue_right: bool | None = None
    detected_us: int
    heard_us: int
    localized_us: int | None


class StepsLost(Struct, frozen=True):
    """Training steps that a fault cost, against an oracle that isolates at onset: ``lost`` when the component is
    isolated once it is named, ``unaided`` when it never is."""

    lost: float
    unaided: float


class FaultVerdict(Struct, frozen=True, kw_only=True):
    """A network fault. ``detection_s`` by the alarm's own ``detected_us``, ``alarm_s`` until the first message,
    ``localization_s`` until the first message that names the component. ``told_uncovered``: no alarm, but a remark that
    something at its place is out of probes' coverage."""

    fault: str
    component: str
    issue: IssueId | None
    in_reach: bool
    alarms: tuple[str, ...]
    naming: tuple[str, ...]
    detection_s: float | None
    alarm_s: float | None
    localization_s: float | None
    said: str
    called_congestion: bool
    told_uncovered: bool = False
    steps: StepsLost | None


class MonitorVerdict(Struct, frozen=True, kw_only=True):
    """A monitor fault. ``found`` by an incident of its kind (null: must stay silent); ``blamed``: alarms that call it a
    network fault."""

    fault: str
    kind: MonitorFaultKind
    found: bool | None
    detection_s: float | None
    blamed: tuple[str, ...]


class MonitorCall(Struct, frozen=True, kw_only=True):
    """An incident about the monitor. set_aside: a network fault explains it (a crashed host takes its agent along)."""

    incident: str
    kind: IncidentKind
    standing: Literal["right", "other_kind", "set_aside", "false"]


class CongestionVerdict(Struct, frozen=True, kw_only=True):
    """A congested port that is not at fault; ``blamed``: alarms that call it a network fault."""

    fault: str
    component: str
    recognised: bool
    blamed: tuple[str, ...]


class CongestionCall(Struct, frozen=True, kw_only=True):
    """An incident of kind ``congestion``; ``cause`` network_fault: a fault was taken for congestion."""

    incident: str
    cause: Cause


class QuarantineVerdict(Struct, frozen=True, kw_only=True):
    """A component that an incident (in any of its states) asks to isolate. wide: it holds the faulty one and more."""

    incident: str
    target: str
    standing: Literal["at_fault", "wide", "unnecessary"]


class Score(Struct, frozen=True, kw_only=True):
    """One recording, judged. ``retracted``: incidents that were once a network fault and at last are something else."""

    recording: str
    pair_hours: float
    alarms: tuple[AlarmVerdict, ...] = ()
    faults: tuple[FaultVerdict, ...] = ()
    monitor_faults: tuple[MonitorVerdict, ...] = ()
    monitor_calls: tuple[MonitorCall, ...] = ()
    congestions: tuple[CongestionVerdict, ...] = ()
    congestion_calls: tuple[CongestionCall, ...] = ()
    quarantines: tuple[QuarantineVerdict, ...] = ()
    retracted: int = 0
