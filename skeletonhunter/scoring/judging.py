"""How good is an incident list, given what was really wrong? A pure function of truth, incidents and recording facts.

Definitions: docs/explanation/scoring.md. Every incident counts by its last state; quarantines count in every state,
because what was isolated once was isolated. Cost: O(incidents x faults) set operations.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from schemas.diagnosis import Incident
from schemas.instants import seconds
from schemas.truth import Fault, Truth
from skeletonhunter.scoring.alarms import is_fibre, judge_alarms
from skeletonhunter.scoring.bystanders import (
    MONITOR_KINDS,
    judge_congestion,
    judge_congestion_call,
    judge_monitor,
    judge_monitor_call,
)
from skeletonhunter.scoring.facts import RecordingFacts
from skeletonhunter.scoring.histories import History, gather
from skeletonhunter.scoring.matching import Matcher
from skeletonhunter.scoring.places import Places
from skeletonhunter.scoring.progress import steps_lost
from skeletonhunter.scoring.quarantines import judge_quarantines
from skeletonhunter.scoring.verdicts import MISSED, NO_ISSUE, AlarmVerdict, FaultVerdict, Rules, Score


def score(
    truth: Truth,
    incidents: Sequence[Incident],
    facts: RecordingFacts,
    rules: Rules | None = None,
    remarked: Collection[str] = (),
) -> Score:
    """The verdict on ``incidents`` (all states, in the order written) about one recording.

    ``remarked``: components that the diagnosis says to be out of probes' coverage.
    """
    matcher = Matcher(facts, rules or Rules())
    histories = gather(incidents)
    alarms = judge_alarms(histories, truth, matcher)
    network = tuple(fault for fault in truth.faults if fault.kind == "network_fault")
    busy = tuple(fault for fault in truth.faults if fault.kind == "congestion")
    calls = [history for history in histories if history.last.kind == "congestion"]
    monitors = [history for history in histories if history.last.kind in MONITOR_KINDS]
    return Score(
        recording=facts.name,
        pair_hours=facts.pair_hours,
        alarms=alarms,
        faults=_FaultJudge(truth, facts, matcher, remarked).judge(network, alarms, calls),
        monitor_faults=tuple(judge_monitor(fault, histories, alarms, matcher) for fault in truth.monitor_faults),
        monitor_calls=tuple(judge_monitor_call(history, truth, matcher) for history in monitors),
        congestions=tuple(judge_congestion(fault, histories, alarms, matcher) for fault in busy),
        congestion_calls=tuple(judge_congestion_call(history, truth, matcher) for history in calls),
        quarantines=judge_quarantines(histories, network, matcher),
        retracted=sum(history.retracted for history in histories),
    )


class _FaultJudge:
    """Turns verdicts on alarms into verdicts on faults."""

    def __init__(self, truth: Truth, facts: RecordingFacts, matcher: Matcher, remarked: Collection[str]) -> None:
        self.facts = facts
        self.remarked = remarked
        self.matcher = matcher
        self.first_us = min((fault.start_us for fault in truth.faults), default=0)

    def judge(
        self, faults: Sequence[Fault], alarms: Sequence[AlarmVerdict], calls: Sequence[History]
    ) -> tuple[FaultVerdict, ...]:
        """One verdict per fault, in order."""
        return tuple(self._judge(fault, alarms, calls) for fault in faults)

    def _judge(self, fault: Fault, alarms: Sequence[AlarmVerdict], calls: Sequence[History]) -> FaultVerdict:
        about = [alarm for alarm in alarms if fault.fault in alarm.faults]
        naming = [alarm for alarm in about if alarm.names == fault.fault]
        localized_us = _localized(fault, naming, self.matcher.places)
        return FaultVerdict(
            fault=fault.fault,
            component=fault.component,
            issue=fault.issue,
            in_reach=fault.probe_visible,
            alarms=tuple(alarm.incident for alarm in about),
            naming=tuple(alarm.incident for alarm in naming),
            detection_s=_delay(fault, min((alarm.detected_us for alarm in about), default=None)),
            alarm_s=_delay(fault, min((alarm.heard_us for alarm in about), default=None)),
            localization_s=_delay(fault, localized_us),
            said=_said(about, naming),
            called_congestion=any(self.matcher.touched(call.last, [fault]) for call in calls),
            told_uncovered=not about and any(self.matcher.places.related(x, fault.component) for x in self.remarked),
            steps=steps_lost(self.facts, fault, self._jobs(fault), localized_us, self.first_us),
        )

    def _jobs(self, fault: Fault) -> frozenset[str]:
        reach = self.matcher.reach_of(fault)
        return frozenset(seat.job for seat in self.facts.seats if seat.endpoint in reach)


def _localized(fault: Fault, naming: Sequence[AlarmVerdict], places: Places) -> int | None:
    """When the fault was first named: by an alarm of its own, or by the one that completes half of a switch's links."""
    instants = {alarm.incident: alarm.localized_us for alarm in naming if alarm.localized_us is not None}
    own = [
        instants[alarm.incident]
        for alarm in naming
        if alarm.incident in instants and places.same(alarm.component or "", fault.component, is_fibre(fault))
    ]
    if own or not instants:
        return min(own, default=None)
    named_us: dict[str, int] = {}
    for alarm in sorted(naming, key=lambda alarm: instants[alarm.incident]):
        for link in places.cables(alarm.component or ""):
            named_us.setdefault(link, instants[alarm.incident])
    half = -(-len(places.links_of[fault.component.partition(":")[2]]) // 2)
    return sorted(named_us.values())[half - 1]


def _delay(fault: Fault, t_us: int | None) -> float | None:
    return None if t_us is None else max(0.0, seconds(t_us - fault.start_us))


def _said(about: Sequence[AlarmVerdict], naming: Sequence[AlarmVerdict]) -> str:
    """The issue that the operator reads: of the first alarm that names the component, else of the first alarm."""
    if not about:
        return MISSED
    first = min(naming or about, key=lambda alarm: (alarm.heard_us, alarm.incident))
    return first.issue or NO_ISSUE
