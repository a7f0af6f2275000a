"""Who is to blame? The fold over everything that is known of one fabric, from anomalies to incidents.

Each second of event time: evidence is joined (``localization.evidence``), the fabric is searched if its trains say so
(``localization.search``), anomalies and faults are made into cases (``localization.grouping``), each case that is due
goes through the five passes, and the verdict (``localization.verdict``) is told when it is new or has changed.
Cost: about 1.5 ms a quiet second for 640 trains; a case a few ms each time it is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from localization.absence import gather_absent, mute_absent
from localization.boundary import boundary_pass
from localization.cases import Case, Ends, ends_of
from localization.evidence import EvidenceStore, new_evidence
from localization.grouping import CaseBook, group_slow, own_faults, place
from localization.host import host_pass
from localization.incidents import Told
from localization.lifecycle import close_cases, report, tell_merged, unite
from localization.monitor import monitor_pass
from localization.monitor_cases import MonitorCases
from localization.overlay import overlay_pass
from localization.parameters import LocalizationParameters
from localization.requests import RequestBook, is_lacking, wishes_of
from localization.scene import Scene
from localization.search import look
from localization.underlay import underlay_pass
from localization.verdict import Verdict, conclude
from schemas.diagnosis import Anomaly
from schemas.folding import Emission, Event, Observation, Stray
from schemas.instants import SECOND_US

MOST_PAIRS = 64


@dataclass(slots=True)
class LocalizationState:
    """What is known of one fabric. ``fresh``: anomalies of the second that is still open."""

    store: EvidenceStore
    book: CaseBook
    told: Told
    requests: RequestBook
    monitor: MonitorCases = field(default_factory=MonitorCases)
    fresh: list[Anomaly] = field(default_factory=list)


class LocalizationEngine:
    """The engine of stage ``localization``."""

    def __init__(self, parameters: LocalizationParameters) -> None:
        self.parameters = parameters

    def start(self, key: str) -> LocalizationState:
        """The state before the first event of fabric ``key``."""
        return LocalizationState(new_evidence(key, self.parameters), CaseBook(key), Told(key), RequestBook(key))

    def step(self, state: LocalizationState, event: Event) -> tuple[LocalizationState, Sequence[Emission]]:
        """See ``schemas.folding.Engine``."""
        if not isinstance(event, Observation):
            return state, self._close_second(state, event.t_us, event.strays)
        if isinstance(event.value, Anomaly):
            state.fresh.append(event.value)
        else:
            state.store.take(event.topic, event.value)
        return state, ()

    def _close_second(self, state: LocalizationState, t_us: int, strays: tuple[Stray, ...]) -> list[Emission]:
        store, book = state.store, state.book
        store.close_second(t_us, strays)
        absent = mute_absent(book, store, t_us)
        if store.watch.is_due(t_us):
            look(store.watch, t_us)
        _take_fresh(state)
        gather_absent(book, store, absent)
        own_faults(book, store)
        group_slow(book, store, t_us)
        emissions = state.monitor.check(store, state.told, t_us)
        emissions += close_cases(book, store, state.told, t_us)
        ill = {ends_of(anomaly) for case in book.cases for anomaly in case.open_anomalies()}
        due = [case for case in book.cases if case.next_check_us <= t_us and not _is_over(case, store)]
        verdicts = {case.case: judge(case, store, ill, t_us) for case in due}
        for case in unite(book, store, verdicts):
            verdicts[case.case] = judge(case, store, ill, t_us)
        state.requests.follow(store, t_us)
        for case in [case for case in book.cases if case.case in verdicts]:
            case.next_check_us = t_us + _pause_us(case, t_us)
            verdict = _asked_for(state, case, verdicts[case.case], (t_us, emissions))
            emissions += report(case, verdict, (store, state.told, state.monitor), t_us)
        emissions += tell_merged(book, state.told, t_us)
        return emissions + state.monitor.close_quiet(state.told, t_us, self.parameters.quiet_s)


def _asked_for(state: LocalizationState, case: Case, verdict: Verdict, into: tuple[int, list[Emission]]) -> Verdict:
    """Asks for evidence that the verdict lacks; returns the verdict with what was asked for and what came of it."""
    t_us, emissions = into
    if is_lacking(verdict):
        wishes = wishes_of(pairs_of(case, state.store), verdict, state.store, case.onset_us)
        emissions += state.requests.ask(case.case, wishes, t_us)
    return state.requests.noted(case.case, verdict, case.onset_us, t_us)


def _is_over(case: Case, store: EvidenceStore) -> bool:
    """Whether a verdict stands and only the quiet time is waited for: what comes now says nothing of what was."""
    if not case.firm or case.withheld or case.open_anomalies():
        return False
    return store.watch.has_recovered(case.faults)


def _pause_us(case: Case, t_us: int) -> int:
    """How long until a case is looked at again: each second while it is young, less often once its verdict stands."""
    age_us = t_us - case.detected_us
    if case.firm:
        return max(2 * SECOND_US, min(15 * SECOND_US, age_us // 4))
    return SECOND_US if age_us < 30 * SECOND_US else 5 * SECOND_US


def _take_fresh(state: LocalizationState) -> None:
    """Anomalies of the second that has just ended: new ones find their case, cleared ones leave it."""
    for anomaly in state.fresh:
        case = next((case for case in state.book.cases if anomaly.anomaly in case.anomalies), None)
        if case is not None:
            case.take(anomaly)
        elif anomaly.state == "open":
            state.book.replace(anomaly)
            place(state.book, state.store, anomaly)
    state.fresh = []


def judge(case: Case, store: EvidenceStore, ill: set[Ends], t_us: int) -> Verdict:
    """All five passes on one case, and what they say together."""
    scene = Scene(case, store, t_us, pairs_of(case, store)[:MOST_PAIRS], ill)
    outcomes = [
        monitor_pass(scene),
        overlay_pass(scene),
        underlay_pass(scene),
        boundary_pass(scene),
        host_pass(scene),
    ]
    return conclude(scene, outcomes)


def pairs_of(case: Case, store: EvidenceStore) -> list[tuple[str, str]]:
    """Directed pairs that are ill; of a fault that no pair shows by itself, those that lost most on it."""
    pairs = case.pairs()
    if pairs:
        return pairs
    lost: dict[tuple[str, str], int] = {}
    for src, dst, count in store.watch.losses_on(case.faults):
        lost[src, dst] = lost.get((src, dst), 0) + count
    return sorted(lost, key=lambda pair: (-lost[pair], pair))
