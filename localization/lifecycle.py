"""When is a verdict ready to be told, and when is an incident over?
 A verdict that names a component waits ``settle_s`` after the detection, so that its other victims are known, and
until the endpoints at its end have shown that they themselves still probe (or have been silent long enough to be a
monitor's trouble). One that names nobody waits ``patience_s``, twice as long while evidence that would decide is on
its way. An incident is resolved when all its anomalies are cleared and its faults have recovered for ``quiet_s``.
"""

from __future__ import annotations

import msgspec

from localization.cases import Case
from localization.evidence import EvidenceStore
from localization.grouping import CaseBook
from localization.incidents import Told, closing, closing_merged, compose, is_material, settle_on, tell
from localization.monitor_cases import MonitorCases
from localization.verdict import Verdict, suspect_of
from localization.watch import HEAVY_LOSS
from schemas.diagnosis import IncidentKind
from schemas.folding import Emission
from schemas.instants import SECOND_US, micros

MONITOR_KINDS: frozenset[IncidentKind] = frozenset(["agent_missing", "agent_starved", "clock_bad", "collector_gap"])
LONGEST_WAIT_US = 6 * SECOND_US
Desk = tuple[EvidenceStore, Told, MonitorCases]


def report(case: Case, verdict: Verdict, desk: Desk, t_us: int) -> list[Emission]:
    """What there is to tell about a case now."""
    store, told, monitor = desk
    if verdict.kind in MONITOR_KINDS:
        return monitor.withhold(case, verdict, told, store, t_us) if case.opened is None else []
    if case.opened is None and not _is_ready(case, verdict, store, t_us):
        return []
    if not case.anomalies and not verdict.firm and case.opened is None:
        return []
    now = settle_on(store, case.opened, compose(case, verdict, store, _endpoints(case, store), t_us))
    before, case.firm = case.opened, now.component is not None
    if before is not None and not is_material(before, now):
        return []
    case.opened = msgspec.structs.replace(now, state="open" if before is None else "updated")
    return [tell(told, case.opened)]


def _is_ready(case: Case, verdict: Verdict, store: EvidenceStore, t_us: int) -> bool:
    age_us = t_us - case.detected_us
    parameters = store.parameters
    if not verdict.firm:
        slow = verdict.awaited and case.symptom() == "high_latency"
        return age_us >= micros(parameters.patience_s) * (2 if slow else 1)
    settled = age_us >= micros(parameters.settle_s) or _is_gentle(case, store)
    return settled and (age_us >= LONGEST_WAIT_US or not _in_doubt(case, verdict, store))


def _is_gentle(case: Case, store: EvidenceStore) -> bool:
    """Whether it is a small loss that took the whole fabric to be seen: nobody else falls ill in the next second."""
    losses = [fault.loss for fault in store.watch.active() if fault.suspect in case.faults]
    return bool(losses) and max(losses) < HEAVY_LOSS


def _in_doubt(case: Case, verdict: Verdict, store: EvidenceStore) -> bool:
    """Whether an endpoint at the blamed end has not yet shown since the onset that its own agent lives."""
    component = verdict.component or ""
    for endpoint in {endpoint for pair in case.pairs() for endpoint in pair}:
        listed = store.topology.endpoints.get(endpoint)
        own = {f"rnic:{listed.host}/{listed.rnic}", f"host:{listed.host}"} if listed else set()
        source = store.sources.known.get(endpoint)
        blamed = suspect_of(store.topology, component) in own
        if blamed and source is not None and source.last_us <= case.onset_us + SECOND_US:
            return True
    return False


def _endpoints(case: Case, store: EvidenceStore) -> set[str]:
    """Everyone who suffers: ends of ill pairs, and of routes that lose on a fault."""
    found = {endpoint for anomaly in case.anomalies.values() for endpoint in (anomaly.src, anomaly.dst)}
    for src, dst, _ in store.watch.losses_on(case.faults):
        found.update((src, dst))
    return found


def close_cases(book: CaseBook, store: EvidenceStore, told: Told, t_us: int) -> list[Emission]:
    """Cases that are over: told ones after the quiet time, others at once (whatever it was, it has gone by itself)."""
    emissions = []
    active = {fault.suspect for fault in store.watch.active()}
    for case in list(book.cases):
        if case.open_anomalies() or active & set(case.faults):
            case.bad_us = t_us
        elif case.opened is None or t_us - case.bad_us >= micros(store.parameters.quiet_s):
            book.cases.remove(case)
            if case.opened is not None:
                emissions.append(tell(told, closing(case.opened, t_us, case.bad_us)))
    return emissions


def unite(book: CaseBook, store: EvidenceStore, verdicts: dict[str, Verdict]) -> list[Case]:
    """Makes one case of those that blame the same component for the same kind of trouble; returns those that grew."""
    first: dict[tuple[str, IncidentKind], Case] = {}
    grown: list[Case] = []
    for case in list(book.cases):
        key = _blamed(case, store, verdicts.get(case.case))
        if key is None:
            continue
        if key not in first:
            first[key] = case
            continue
        whole = book.absorb(first[key], case)
        grown = [other for other in grown if other is not first[key] and other is not case]
        grown.append(whole)
        first[key] = whole
    return grown


def _blamed(case: Case, store: EvidenceStore, verdict: Verdict | None) -> tuple[str, IncidentKind] | None:
    """Whom a case blames: as it was told, else as it will be."""
    if case.opened is not None and case.opened.component is not None:
        return suspect_of(store.topology, case.opened.component), case.opened.kind
    if verdict is None or verdict.component is None or verdict.kind in MONITOR_KINDS:
        return None
    return suspect_of(store.topology, verdict.component), verdict.kind


def tell_merged(book: CaseBook, told: Told, t_us: int) -> list[Emission]:
    """Cases that were told and have turned out to be another one's are told off."""
    emissions = []
    for other, heir in book.merged:
        if other.opened is not None and other.opened.incident != heir.case:
            emissions.append(tell(told, closing_merged(other.opened, heir.case, t_us)))
    book.merged = []
    return emissions
