"""Which case does an anomaly belong to? One cause is one case, however many pairs show it.
 An anomaly goes to the case that has its pair already, else to the fault that its pair crosses, else to the firm
case whose component it depends on, else to a case of its own. Cases without a culprit are looked at again whenever
something new is known: a fault that all their pairs cross takes them over, and slow pairs that have a part in
common (the same likelihood as for loss, a pair being one packet that is slow or not) become one case.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log, sqrt

import numpy as np
from msgspec import structs

from localization.arrays import Floats, Ints
from localization.cases import Case, Ends, ends_of
from localization.evidence import EvidenceStore
from localization.faults import Fault
from localization.inference import infer
from localization.modes import Modes
from localization.passages import LEAST_CHANCE, passing_chances
from localization.routes import sums_by_suspect
from localization.samples import Sample
from localization.scene import Scene
from localization.search import rank, related
from localization.suspects import Suspect, component_of
from localization.watch import HEAVY_LOSS
from schemas.diagnosis import Anomaly
from schemas.ids import content_id
from schemas.instants import SECOND_US

SLOW_BY_CHANCE = 1e-3
SLOW = Modes(np.array([0.06, 0.12, 0.25, 0.5, 0.8, 0.97]), np.zeros(0))
GROUP_NATS = 3.0
RECENT_S = 10
LIKE = 3.0
CHANCE_SD = 3.0
EARLY_US = 5 * SECOND_US


@dataclass(slots=True)
class CaseBook:
    """The live cases of a fabric, oldest first; ``merged``: cases that others have taken over, to be told off.

    ``grouped``: the slow pairs of the last look for what they have in common.
    """

    fabric: str
    cases: list[Case] = field(default_factory=list)
    merged: list[tuple[Case, Case]] = field(default_factory=list)
    grouped: set[Ends] = field(default_factory=set)

    def start(self, what: str, onset_us: int, detected_us: int) -> Case:
        """A new case of ``what`` (a pair or a component). A case that began as the same may blame another by now."""
        taken, name = {case.case for case in self.cases}, content_id("incident", self.fabric, what, onset_us)
        if name in taken:
            name = content_id("incident", self.fabric, what, onset_us, detected_us)
        case = Case(name, onset_us, detected_us, bad_us=detected_us)
        self.cases.append(case)
        return case

    def absorb(self, into: Case, other: Case) -> Case:
        """Makes two cases one; the one that was told first, or began first, keeps its name."""
        first, second = sorted((into, other), key=lambda case: (case.opened is None, case.onset_us, case.case))
        for anomaly in second.anomalies.values():
            first.take(anomaly)
        first.faults = list(dict.fromkeys([*first.faults, *second.faults]))
        first.group, first.rivals = (first.group, first.rivals) if first.group else (second.group, second.rivals)
        first.bad_us = max(first.bad_us, second.bad_us)
        first.next_check_us = 0
        self.cases.remove(second)
        if second.opened is not None:
            self.merged.append((second, first))
        return first

    def replace(self, anomaly: Anomaly) -> None:
        """Clears what a new anomaly is told instead of: a job has one per pair and symptom at a time.

        So detection has forgotten the older one (its measurements were deleted) and will never clear it.
        """
        for case in self.cases:
            for older in case.open_anomalies():
                if _what(older) == _what(anomaly):
                    case.take(structs.replace(older, t_us=anomaly.t_us, state="cleared"))


def _what(anomaly: Anomaly) -> tuple[str, str, str, str]:
    return anomaly.job, anomaly.src, anomaly.dst, anomaly.symptom


def place(book: CaseBook, store: EvidenceStore, anomaly: Anomaly) -> None:
    """Finds the case of a new anomaly."""
    ends = ends_of(anomaly)
    for case in book.cases:
        if ends in case.ends():
            case.take(anomaly)
            return
    for case in book.cases:
        if _is_explained(case, store, anomaly):
            case.take(anomaly)
            return
    book.start(f"{ends[0]} {ends[1]}", anomaly.onset_us, anomaly.detected_us).take(anomaly)


def _is_explained(case: Case, store: EvidenceStore, anomaly: Anomaly) -> bool:
    """Whether a case's culprit lies on the anomaly's way."""
    ends = ends_of(anomaly)
    faults = [fault for fault in store.watch.faults if fault.suspect in case.faults]
    if any(_spreads(store, fault, anomaly) for fault in faults):
        return True
    if case.group is not None and anomaly.symptom == "high_latency" and touches(store, case.group[0], ends):
        return True
    if not case.firm or case.opened is None or case.opened.component is None or case.faults:
        return False
    scene = Scene(case, store, anomaly.t_us, [(anomaly.src, anomaly.dst)])
    if _waits_there(scene, case.opened.component, anomaly):
        return True
    own = set(scene.own_parts(anomaly.src)) | set(scene.own_parts(anomaly.dst))
    return case.opened.component in own


def _waits_there(scene: Scene, component: str, anomaly: Anomaly) -> bool:
    """Whether a slow pair's packets or replies may wait in the queue that a case blames, and it is deep again."""
    kind, _, port = component.partition(":")
    if kind not in ("port", "config") or anomaly.symptom != "high_latency":
        return False
    if passing_chances(scene, ends_of(anomaly)).get(port, 0.0) < LEAST_CHANCE:
        return False
    test = scene.store.queues.test(port, anomaly.onset_us, scene.t_us, scene.case.before)
    return test is not None and test.deep


def _spreads(store: EvidenceStore, fault: Fault, anomaly: Anomaly) -> bool:
    """Whether an anomaly that began while a fault lasted may come from it.

    The pair's trains cross it; or only their replies do: of a dead switch in the middle every pair of the fabric may
    suffer so, whose own way leads around it. Then it may not lose much more than the fault makes packets lose.
    """
    ends, over_us = ends_of(anomaly), fault.over_us or anomaly.onset_us
    if not fault.since_us - EARLY_US <= anomaly.onset_us <= over_us + EARLY_US:
        return False
    if touches(store, fault.suspect, ends):
        return True
    if anomaly.symptom == "high_latency" or (fault.loss < HEAVY_LOSS and _loses_more(anomaly, fault.loss)):
        return False
    routes = store.watch.routes.of_pair(*ends)
    return bool(len(routes)) and store.watch.echo_chances(routes, fault.suspect) is not None


def _loses_more(anomaly: Anomaly, loss: float) -> bool:
    """Whether a pair lost clearly more than ``LIKE`` times as much would explain.

    An alarm comes in a second in which by chance more was lost than usual, so ``CHANCE_SD`` deviations are allowed for.
    """
    lost, sent = anomaly.observed.loss or 0.0, anomaly.observed.sent or 0
    usual = LIKE * loss * sent
    return lost * sent > usual + CHANCE_SD * sqrt(usual) if sent else lost > LIKE * loss


def touches(store: EvidenceStore, suspect: Suspect, ends: Ends) -> bool:
    """Whether trains between two endpoints cross a suspect; of a link in either direction, since replies come back."""
    table = store.watch.routes
    numbers = [table.suspects.index[each] for each in _ways(store, suspect) if each in table.suspects.index]
    return bool(numbers) and bool(np.isin(table.members[table.of_pair(*ends)], numbers).any())


def _ways(store: EvidenceStore, suspect: Suspect) -> list[Suspect]:
    """A link in all its directions; anything else as it is."""
    cable = store.topology.cables.get(suspect.name)
    if suspect.kind not in ("direction", "link") or cable is None:
        return [suspect]
    ways = [Suspect("direction", cable.link, node) for node in (cable.node_a, cable.node_b)]
    return [*ways, Suspect("link", cable.link)]


def own_faults(book: CaseBook, store: EvidenceStore) -> None:
    """Sees to it that each active fault has a case."""
    owned: list[Fault] = []
    for fault in store.watch.active():
        case = next((case for case in book.cases if fault.suspect in case.faults), None)
        case = case or _heir(book, store, fault)
        if case is None and _is_told(book, store, fault):
            continue
        if case is None:
            component = component_of(store.topology, fault.suspect)
            case = book.start(component, fault.since_us, fault.found_us)
            case.faults.append(fault.suspect)
        owned.append(fault)
    known = {fault.suspect for fault in store.watch.faults}
    for case in book.cases:
        if case.opened is None and case.anomalies and known.isdisjoint(case.faults):
            case.faults = []  # nobody was told of it, and others explain its anomalies now
    for fault in owned:
        case = next(case for case in book.cases if fault.suspect in case.faults)
        for weak in [weak for weak in book.cases if weak is not case and _is_weak(weak)]:
            if all(_spreads(store, fault, anomaly) for anomaly in weak.anomalies.values()):
                case = book.absorb(case, weak)
        case.bad_us = max(case.bad_us, fault.bad_us)


def _heir(book: CaseBook, store: EvidenceStore, fault: Fault) -> Case | None:
    """The case whose blamed suspect or common part this fault replaces, or is a part of, or contains."""
    for case in book.cases:
        if any(suspect in fault.replaces for suspect in case.faults):
            case.faults = [suspect for suspect in case.faults if suspect not in fault.replaces] + [fault.suspect]
            case.next_check_us = 0
            return case
    for case in book.cases:
        known = [*case.faults, *([case.group[0]] if case.group else [])]
        if any(related(store.watch, suspect, fault.suspect) for suspect in known):
            case.faults.append(fault.suspect)
            case.next_check_us = 0
            return case
    return None


def _is_told(book: CaseBook, store: EvidenceStore, fault: Fault) -> bool:
    """Whether all that loses packets on a fault depends on what another case blames already, with its reason."""
    lossy = {(src, dst) for src, dst, _ in store.watch.losses_on([fault.suspect])}
    for case in book.cases:
        said = case.meant
        if said is None or said.component is None or said.issue is None or said.onset_us > fault.since_us:
            continue
        scene = Scene(case, store, fault.found_us, sorted(lossy))
        parts = [set(scene.own_parts(src)) | set(scene.own_parts(dst)) for src, dst in lossy]
        if parts and all(said.component in each for each in parts):
            return True
    return False


def _is_weak(case: Case) -> bool:
    return not case.firm and not case.faults and case.group is None and bool(case.anomalies)


def group_slow(book: CaseBook, store: EvidenceStore, t_us: int) -> None:
    """Makes one case of slow pairs that have a part in common; what more pairs have in common may be another part."""
    loose = [case for case in book.cases if _is_loose(case) and case.symptom() == "high_latency"]
    slow = {ends for case in loose for ends in case.ends()}
    if len(slow) < 2 or slow == book.grouped:
        return
    book.grouped = slow
    for suspect, nats, rivals in common_parts(store, slow, t_us):
        mine = [case for case in loose if case in book.cases and all(touches(store, suspect, e) for e in case.ends())]
        if len(mine) < 2 and not any(case.group for case in mine):
            continue
        whole = mine[0]
        for case in mine[1:]:
            whole = book.absorb(whole, case)
        whole.group, whole.rivals, whole.next_check_us = (suspect, nats), rivals, 0


def _is_loose(case: Case) -> bool:
    """Whether nothing but places speaks for its verdict: more slow pairs may show another place."""
    if case.faults or not case.anomalies:
        return False
    said = case.meant
    return _is_weak(case) or (case.group is not None and (said is None or said.issue in (None, "pcie_nic_error")))


def common_parts(
    store: EvidenceStore, slow: set[Ends], t_us: int
) -> list[tuple[Suspect, float, tuple[tuple[Suspect, float], ...]]]:
    """Suspects that explain which pairs are slow and which are not, with nats over chance, and their rivals'."""
    table = store.watch.routes
    seconds = store.watch.window.since(t_us - RECENT_S * SECOND_US)
    route = np.unique(np.concatenate([second.route for second in seconds])) if seconds else np.zeros(0, np.int64)
    numbers = {table.pair_index[ends] for ends in slow if ends in table.pair_index}
    is_slow = np.isin(table.pair[route], sorted(numbers))
    if not is_slow.any():
        return []
    lossy, size = route[is_slow], len(table.suspects.all)
    sample = Sample(
        second=np.zeros(len(lossy), np.int64),
        members=table.members[lossy],
        route=lossy,
        pair=table.pair[lossy],
        sent=np.ones(len(lossy)),
        lost=np.ones(len(lossy)),
        base=np.full(len(lossy), SLOW_BY_CHANCE),
        against=_healthy(table.members[route[~is_slow]], size),
        expected=SLOW_BY_CHANCE * len(route),
        prior=table.prior,
        modes=SLOW,
        echo=lambda _: None,
        flown=lambda routes, _: np.zeros(len(routes), np.int64),
        whole=table.whole_cables(store.topology, np.arange(size)),
    )
    chance = log(len(np.unique(sample.members)))
    found = infer(sample, chance + GROUP_NATS, lambda suspect: rank(store.watch, suspect))
    names = table.suspects.all
    rivals = [tuple((names[other], gain - chance) for other, gain in pick.rivals) for pick in found.picks]
    return [(names[pick.suspect], pick.gain - chance, near) for pick, near in zip(found.picks, rivals, strict=True)]


def _healthy(members: Ints, size: int) -> Floats:
    """What pairs that are not slow say against each suspect, 1 x suspects x modes."""
    return sums_by_suspect(members, SLOW.against(np.ones(len(members), np.int64)), size)[None]
