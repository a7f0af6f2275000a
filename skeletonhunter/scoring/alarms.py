"""Is an alarm right, and does it name the right component, class and issue?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from schemas.truth import Fault, Truth
from skeletonhunter.scoring.histories import History
from skeletonhunter.scoring.matching import Matcher
from skeletonhunter.scoring.places import Places
from skeletonhunter.scoring.verdicts import AlarmVerdict, Cause

ALARM_KINDS = frozenset({"network_fault", "insufficient_evidence"})


def is_fibre(fault: Fault) -> bool:
    """Whether the fault is a cable that loses packets, which either end may be blamed for."""
    return fault.issue in (None, "crc_error")


def judge_alarms(histories: Sequence[History], truth: Truth, matcher: Matcher) -> tuple[AlarmVerdict, ...]:
    """Verdicts on all incidents that are alarms, in their order."""
    alarms = [history for history in histories if history.last.kind in ALARM_KINDS]
    verdicts = [_judge(history, truth, matcher) for history in alarms]
    return _count_links_of_switches(verdicts, truth, matcher.places)


def _judge(history: History, truth: Truth, matcher: Matcher) -> AlarmVerdict:
    last = history.last
    verdict = AlarmVerdict(
        incident=last.incident,
        kind=last.kind,
        component=last.component,
        component_class=last.component_class,
        issue=last.issue,
        confidence=last.confidence,
        standing="false",
        cause="nothing",
        detected_us=last.detected_us,
        heard_us=history.heard_us,
        localized_us=history.localized_us,
    )
    faults = matcher.touched(last, [fault for fault in truth.faults if fault.kind == "network_fault"])
    if not faults:
        cause = cause_beside_faults(history, truth, matcher)
        aside = last.kind == "insufficient_evidence" and cause == "monitor"
        return msgspec.structs.replace(verdict, cause=cause, standing="set_aside" if aside else "false")
    right = msgspec.structs.replace(
        verdict, standing="right", cause="network_fault", faults=tuple(fault.fault for fault in faults)
    )
    return _compare(right, history, faults, matcher)


def cause_beside_faults(history: History, truth: Truth, matcher: Matcher) -> Cause:
    """What lies behind an incident that touches no network fault."""
    if matcher.touched(history.last, [fault for fault in truth.faults if fault.kind == "congestion"]):
        return "congestion"
    return "monitor" if matcher.touched(history.last, truth.monitor_faults) else "nothing"


def _compare(verdict: AlarmVerdict, history: History, faults: Sequence[Fault], matcher: Matcher) -> AlarmVerdict:
    """Fills in the judging fault and, of an alarm that names a component, whether all it says is right."""
    places, last = matcher.places, history.last
    fault = max(faults, key=lambda fault: _closeness(history, fault, matcher))
    verdict = msgspec.structs.replace(
        verdict, judged_by=fault.fault, true_component=fault.component, true_issue=fault.issue
    )
    if last.component is None or last.kind != "network_fault":
        return verdict
    named = places.same(last.component, fault.component, is_fibre(fault))
    shown = (last.component, *(candidate.component for candidate in last.candidates))
    return msgspec.structs.replace(
        verdict,
        names=fault.fault if named else None,
        named=named,
        exact=last.component == fault.component,
        listed=any(places.same(said, fault.component, is_fibre(fault)) for said in shown),
        class_right=last.component_class in places.classes_of(fault),
        issue_right=None if fault.issue is None else last.issue == fault.issue,
    )


def _closeness(history: History, fault: Fault, matcher: Matcher) -> tuple[bool, bool, bool, int, int, str]:
    """By which of several touched faults an alarm is judged: the one it names, else the likeliest it means."""
    last, places = history.last, matcher.places
    named = last.component is not None and places.same(last.component, fault.component, is_fibre(fault))
    return (
        named,
        fault.probe_visible,
        last.component_class in places.classes_of(fault),
        len(matcher.reach(last) & matcher.reach_of(fault)),
        fault.start_us,
        fault.fault,
    )


def _count_links_of_switches(
    verdicts: Sequence[AlarmVerdict], truth: Truth, places: Places
) -> tuple[AlarmVerdict, ...]:
    """Blames of single links of a faulty switch: right if at least half of its links are blamed, else not judged."""
    switches = {fault.fault: fault for fault in truth.faults if fault.component.startswith("switch:")}
    blamed: dict[str, set[str]] = {}
    for verdict in verdicts:
        for name in _switches_of(verdict, switches, places):
            blamed.setdefault(name, set()).update(places.cables(verdict.component or ""))
    half = {name for name, links in blamed.items() if 2 * len(links) >= len(_links_of(switches[name], places))}
    return tuple(_as_link_of_switch(verdict, switches, half, places) for verdict in verdicts)


def _as_link_of_switch(
    verdict: AlarmVerdict, switches: Mapping[str, Fault], half: set[str], places: Places
) -> AlarmVerdict:
    names = _switches_of(verdict, switches, places)
    if not names:
        return verdict
    reached = next((name for name in names if name in half), None)
    fault = switches[reached or names[0]]
    return msgspec.structs.replace(
        verdict,
        judged_by=fault.fault,
        true_component=fault.component,
        true_issue=fault.issue,
        names=reached,
        named=True if reached else None,
        exact=None,
        issue_right=None if fault.issue is None else verdict.issue == fault.issue,
        class_right=verdict.component_class in places.classes_of(fault),
    )


def _switches_of(verdict: AlarmVerdict, switches: Mapping[str, Fault], places: Places) -> list[str]:
    """Faulty switches that the alarm touches and blames a link of, without having named a fault."""
    if verdict.named is not False:
        return []
    cables = places.cables(verdict.component or "")
    return [name for name in verdict.faults if name in switches and cables & _links_of(switches[name], places)]


def _links_of(fault: Fault, places: Places) -> set[str]:
    return places.links_of.get(fault.component.partition(":")[2], set())
