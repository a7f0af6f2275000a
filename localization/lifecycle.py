"""When is a verdict ready to be told, and when is an incident over?
 A verdict that names a component waits ``settle_s`` after the detection, so that its other victims are known, and
until the endpoints at its end have shown that they themselves still probe (or have been silent long enough to be a
monitor's trouble). One that names nobody waits ``patience_s``, twice as long while evidence that would decide is on
its way. An incident is resolved when all its anomalies are cleared and its faults have recovered for ``quiet_s``.
"""

from __future__ import annotations

import msgspec

from localization.actions import LIKELY, SURE, held_back
from localization.cases import Case, ends_between
from localization.certainty import is_decided, lives_from_us
from localization.evidence import EvidenceStore
from localization.grouping import CaseBook, touches
from localization.heaps import suspect_of
from localization.incidents import (
    EVEN,
    Told,
    closing,
    closing_merged,
    compose,
    doubted,
    is_material,
    settle_on,
    spoken_for,
    tell,
)
from localization.monitor import SHARE
from localization.monitor_cases import SILENCES, MonitorCases
from localization.suspects import Suspect
from localization.switches import is_cut_off
from localization.verdict import Verdict
from localization.watch import HEAVY_LOSS
from schemas.diagnosis import Anomaly, IncidentKind
from schemas.folding import Emission
from schemas.instants import SECOND_US, micros

MONITOR_KINDS: frozenset[IncidentKind] = frozenset(["agent_missing", "agent_starved", "clock_bad", "collector_gap"])
LONGEST_WAIT_US = 6 * SECOND_US
WIDE_WAIT_US = 4 * SECOND_US
TOGETHER_US = 5 * SECOND_US
GROUP_NATS = 10.0
Desk = tuple[EvidenceStore, Told, MonitorCases]


def report(case: Case, verdict: Verdict, desk: Desk, t_us: int) -> list[Emission]:
    """What there is to tell about a case now."""
    store, told, monitor = desk
    if verdict.kind in MONITOR_KINDS:
        if case.opened is None:
            return monitor.withhold(case, verdict, told, store, t_us)
        return _take_back(case, verdict, desk, t_us) if _was_monitor(case, verdict, store) else []
    if case.opened is None and not _is_ready(case, verdict, store, t_us):
        return []
    if not case.anomalies and not verdict.firm and case.opened is None:
        return []
    found = spoken_for(compose(case, verdict, store, _endpoints(case, store), t_us), case.meant, verdict.left)
    meant = case.meant if case.meant and _is_past(case, store) else settle_on(store, case.meant, found)
    if case.meant is None or case.meant.component != meant.component:
        case.blamed_us = t_us
    before, case.meant, case.firm = case.opened, meant, meant.component is not None
    steady = case.localized_us is None or case.blamed_us <= case.localized_us
    sure = meant.confidence if steady else min(meant.confidence, LIKELY)
    action = held_back(meant.action, sure, t_us - case.blamed_us, case.is_slow())
    now = msgspec.structs.replace(doubted(store, meant, found), action=action)
    if before is not None and not is_material(before, now):
        return []
    case.opened = msgspec.structs.replace(now, state="open" if before is None else "updated")
    return [tell(told, case.opened)]


def _is_past(case: Case, store: EvidenceStore) -> bool:
    """Whether a fault whose reason is known bothers nobody any more: what devices say now is of the time after it."""
    reasoned = case.meant is not None and case.meant.issue is not None
    return reasoned and bool(case.faults) and store.watch.has_recovered(case.faults)


def _was_monitor(case: Case, verdict: Verdict, store: EvidenceStore) -> bool:
    """Whether what was told of the network began with the agent's own trouble, which is known only now."""
    if verdict.kind not in SILENCES or case.opened is None or case.opened.kind in MONITOR_KINDS:
        return False
    agent = (verdict.component or "").removeprefix("agent:")
    mine = [e for pair in case.pairs() for e in pair if store.agent_of(e) == agent and e in store.sources]
    last_us = max((store.sources[endpoint].last_us for endpoint in mine), default=0)
    return last_us <= case.onset_us + TOGETHER_US


def _take_back(case: Case, verdict: Verdict, desk: Desk, t_us: int) -> list[Emission]:
    """Tells an incident off that was the monitor's own trouble, which is told instead."""
    store, told, monitor = desk
    before, case.opened, case.meant, case.firm, case.localized_us = case.opened, None, None, False, None
    emissions = monitor.withhold(case, verdict, told, store, t_us)
    now = monitor.told.get(case.withheld or "")
    if before is not None and now is not None:
        emissions.append(tell(told, closing_merged(before, now.incident, t_us)))
    return emissions


def _is_ready(case: Case, verdict: Verdict, store: EvidenceStore, t_us: int) -> bool:
    age_us, parameters = t_us - case.detected_us, store.parameters
    if not verdict.firm:
        slow = verdict.awaited and case.symptom() == "high_latency"
        return age_us >= micros(parameters.patience_s) * (2 if slow else 1)
    decided = is_decided(case, verdict, store)
    settled = age_us >= micros(parameters.settle_s) or _is_gentle(case, store) or decided
    if verdict.confidence < EVEN and age_us < LONGEST_WAIT_US:
        return False
    if _is_wide(case, verdict) and age_us < WIDE_WAIT_US:
        return False
    began = cut_off(case)
    if not settled or t_us - began.detected_us >= LONGEST_WAIT_US:
        return settled
    return not _in_doubt(case, verdict, store, lives_from_us(began.onset_us, t_us, decided))


def _is_wide(case: Case, verdict: Verdict) -> bool:
    """Whether a whole switch or host is blamed for what is not even an outage, and nothing but trains says so."""
    wide = (verdict.component or "").startswith(("switch:", "host:")) and verdict.confidence < SURE
    return wide and verdict.kind == "network_fault" and case.symptom() != "unconnectivity"


def _is_gentle(case: Case, store: EvidenceStore) -> bool:
    """Whether it is a small loss that took the whole fabric to be seen: nobody else falls ill in the next second."""
    losses = [fault.loss for fault in store.watch.active() if fault.suspect in case.faults]
    return bool(losses) and max(losses) < HEAVY_LOSS


def _in_doubt(case: Case, verdict: Verdict, store: EvidenceStore, lives_us: int) -> bool:
    """Whether an endpoint at the blamed end has not yet shown, after ``lives_us``, that its own agent lives.

    A container that is known to have crashed has taken its agent along.
    """
    component = verdict.component or ""
    for endpoint in {endpoint for pair in case.pairs() for endpoint in pair}:
        listed = store.topology.endpoints.get(endpoint)
        own = {f"rnic:{listed.host}/{listed.rnic}", f"host:{listed.host}"} if listed else set()
        source = store.sources.get(endpoint)
        blamed = suspect_of(store.topology, component) in own
        if blamed and source is not None and source.last_us <= lives_us:
            return True
    return verdict.issue != "container_crash" and rests_on_one_agent(case, store, lives_us)


def cut_off(case: Case) -> Case | Anomaly:
    """When it began that nothing gets through: losses on a link may be known long before an agent on its way dies."""
    dead = [anomaly for anomaly in case.open_anomalies() if anomaly.symptom == "unconnectivity"]
    return min(dead, key=lambda anomaly: anomaly.onset_us, default=case)


def rests_on_one_agent(case: Case, store: EvidenceStore, lives_us: int) -> bool:
    """Whether most pairs have an agent in common of which nothing is heard after ``lives_us``: then it may be that."""
    pairs = case.pairs()
    ends: dict[str, set[str]] = {}
    for pair in pairs:
        for endpoint in pair:
            ends.setdefault(store.agent_of(endpoint), set()).add(endpoint)
    for mine in ends.values():
        known = [store.sources[endpoint] for endpoint in mine if endpoint in store.sources]
        quiet = known and all(source.last_us <= lives_us for source in known)
        if quiet and sum(not mine.isdisjoint(pair) for pair in pairs) >= SHARE * len(pairs):
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
        elif _is_gone(case) or t_us - case.bad_us >= micros(store.parameters.quiet_s):
            book.cases.remove(case)
            if case.opened is not None:
                said = case.meant or case.opened
                sure = (
                    min(said.confidence, case.opened.confidence) if case.opened.confidence <= EVEN else said.confidence
                )
                last = msgspec.structs.replace(said, action=case.opened.action, confidence=sure)
                emissions.append(tell(told, closing(last, t_us, case.bad_us)))
    return emissions


def _is_gone(case: Case) -> bool:
    """Whether nothing was told of it that would have to be taken back, nor is it known to be the monitor's."""
    return case.opened is None and case.withheld is None


def unite(book: CaseBook, store: EvidenceStore, verdicts: dict[str, Verdict]) -> list[Case]:
    """Makes one case of those that blame the same component for the same kind of trouble; returns those that grew."""
    together = [*_unite_hosts(book, store, verdicts), *_unite_switches(book, store, verdicts)]
    return [*[case for case in together if case in book.cases], *_unite_same(book, store, verdicts)]


def _unite_hosts(book: CaseBook, store: EvidenceStore, verdicts: dict[str, Verdict]) -> list[Case]:
    """RNICs of one host that fall ill together have their board in common: two would hardly fail within seconds."""
    by_host: dict[str, list[Case]] = {}
    for case in book.cases:
        rnic = _bare_rnic(case, store, verdicts.get(case.case))
        if rnic is not None:
            by_host.setdefault(rnic.rpartition("/")[0], []).append(case)
    grown = []
    for host, cases in sorted(by_host.items()):
        first = min(cases, key=lambda case: (case.onset_us, case.case))
        near = [case for case in cases if case.onset_us - first.onset_us <= TOGETHER_US]
        if len({_bare_rnic(case, store, verdicts.get(case.case)) for case in near}) < 2:
            continue
        whole = near[0]
        for case in near[1:]:
            whole = book.absorb(whole, case)
        whole.group, whole.rivals = (Suspect("host", host), GROUP_NATS), ()
        grown.append(whole)
    return grown


def _unite_switches(book: CaseBook, store: EvidenceStore, verdicts: dict[str, Verdict]) -> list[Case]:
    """What is only seen on the way over a switch, and began with it, without a reason of its own, is due to it."""
    grown: list[Case] = []
    for whole in [case for case in book.cases if _culprit(case, store, verdicts).startswith("switch:")]:
        switch = Suspect("switch", _culprit(whole, store, verdicts).partition(":")[2])
        for other in [case for case in book.cases if case is not whole and whole in book.cases]:
            near = abs(other.onset_us - whole.onset_us) <= TOGETHER_US
            bare = _culprit(other, store, verdicts).startswith(("link:", "rnic:")) and _is_bare(other, verdicts)
            said = [case.meant or verdicts.get(case.case) for case in (whole, other)]
            owed = bare or is_cut_off(store.topology, *[(each.component, each.issue) for each in said if each])
            if near and owed and whole in book.cases and _lies_behind(other, store, switch):
                grown.append(book.absorb(whole, other))
    return grown


def _culprit(case: Case, store: EvidenceStore, verdicts: dict[str, Verdict]) -> str:
    """Whom a case blames, empty: nobody."""
    return (_blamed(case, store, verdicts.get(case.case)) or ("", ""))[0]


def _lies_behind(case: Case, store: EvidenceStore, switch: Suspect) -> bool:
    """Whether all pairs that suffer in a case have the switch on their way."""
    ends = case.ends() | {ends_between(src, dst) for src, dst, _ in store.watch.losses_on(case.faults)}
    return bool(ends) and all(touches(store, switch, pair) for pair in sorted(ends))


def _is_bare(case: Case, verdicts: dict[str, Verdict]) -> bool:
    """Whether a case blames somebody for no known reason."""
    said = case.meant or verdicts.get(case.case)
    return said is not None and said.kind == "network_fault" and said.issue is None


def _bare_rnic(case: Case, store: EvidenceStore, verdict: Verdict | None) -> str | None:
    """The RNIC that a case blames for no known reason."""
    said = case.meant or verdict
    if said is None or said.kind != "network_fault" or said.issue is not None or said.component is None:
        return None
    kind, _, name = suspect_of(store.topology, said.component).partition(":")
    return name if kind == "rnic" else None


def _unite_same(book: CaseBook, store: EvidenceStore, verdicts: dict[str, Verdict]) -> list[Case]:
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
