"""What became of the troubles that are no network fault: the monitor's own, and congestion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from schemas.instants import seconds
from schemas.truth import SILENT_MONITOR_FAULTS, Fault, MonitorFault, Truth
from skeletonhunter.scoring.alarms import cause_beside_faults
from skeletonhunter.scoring.histories import History
from skeletonhunter.scoring.matching import Matcher
from skeletonhunter.scoring.verdicts import (
    AlarmVerdict,
    CongestionCall,
    CongestionVerdict,
    MonitorCall,
    MonitorVerdict,
)

MONITOR_KINDS = frozenset({"agent_missing", "agent_starved", "clock_bad", "collector_gap"})


def judge_monitor(
    fault: MonitorFault, histories: Sequence[History], alarms: Sequence[AlarmVerdict], matcher: Matcher
) -> MonitorVerdict:
    """Whether an incident of its kind found it, and which alarms took it for a network fault."""
    about = [history.last for history in histories if matcher.touched(history.last, [fault])]
    finding = [history.last for history in histories if matcher.finds(history.last, fault)]
    detected_us = min((last.detected_us for last in finding), default=None)
    wrong = {alarm.incident for alarm in alarms if alarm.cause == "monitor" and alarm.standing == "false"}
    return MonitorVerdict(
        fault=fault.fault,
        kind=fault.kind,
        found=None if fault.kind in SILENT_MONITOR_FAULTS else bool(finding),
        detection_s=None if detected_us is None else max(0.0, seconds(detected_us - fault.start_us)),
        blamed=tuple(last.incident for last in about if last.incident in wrong),
    )


def judge_monitor_call(history: History, truth: Truth, matcher: Matcher) -> MonitorCall:
    """Whether an incident about the monitor is right."""
    last = history.last
    return MonitorCall(incident=last.incident, kind=last.kind, standing=_standing(history, truth, matcher))


def _standing(history: History, truth: Truth, matcher: Matcher) -> Literal["right", "other_kind", "set_aside", "false"]:
    if any(matcher.finds(history.last, fault) for fault in truth.monitor_faults):
        return "right"
    if matcher.touched(history.last, truth.monitor_faults):
        return "other_kind"
    return "set_aside" if matcher.touched(history.last, truth.faults) else "false"


def judge_congestion(
    fault: Fault, histories: Sequence[History], alarms: Sequence[AlarmVerdict], matcher: Matcher
) -> CongestionVerdict:
    """Whether a congested port was recognised, and which alarms took it for a fault."""
    about = [history.last for history in histories if matcher.touched(history.last, [fault])]
    wrong = {alarm.incident for alarm in alarms if alarm.cause == "congestion"}
    return CongestionVerdict(
        fault=fault.fault,
        component=fault.component,
        recognised=any(last.kind == "congestion" for last in about),
        blamed=tuple(last.incident for last in about if last.incident in wrong),
    )


def judge_congestion_call(history: History, truth: Truth, matcher: Matcher) -> CongestionCall:
    """What an incident of kind congestion is really about; true congestion first."""
    cause = cause_beside_faults(history, truth, matcher)
    network = [fault for fault in truth.faults if fault.kind == "network_fault"]
    if cause != "congestion" and matcher.touched(history.last, network):
        cause = "network_fault"
    return CongestionCall(incident=history.last.incident, cause=cause)
