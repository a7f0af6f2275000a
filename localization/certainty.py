"""Which verdict can the next second hardly change? Then there is nothing to wait for.

What a case waits for after its detection is its other victims: with them another part may explain the losses better. A
fault that loses steadily, leads over everything that could take its place by more than some trains can make up for, and
stands without its strongest pair, is told at once. An erratic fault is not: it may take from each train what it likes,
so it leads while little is known, also in the place of parts that lose steadily.
"""

from __future__ import annotations

from localization.cases import Case
from localization.evidence import EvidenceStore
from localization.faults import Fault
from localization.heaps import suspect_of
from localization.suspects import component_of
from localization.verdict import Verdict
from schemas.instants import SECOND_US

LEAD_SHARE = 0.25
"""Of the fault's own nats: what a second of trains that resembles those so far adds to either side keeps it so."""
DOUBLE = 2.0
ALIVE_US = 2 * SECOND_US
EARLY_US = 5 * SECOND_US // 4
"""The second in which it began, and by how much a clock may be off and still be joined with (``clock_bound_s``)."""


def is_decided(case: Case, verdict: Verdict, store: EvidenceStore) -> bool:
    """Whether the verdict names what the trains blame, and these leave nobody else."""
    faults = [fault for fault in store.watch.active() if fault.suspect in case.faults]
    said = suspect_of(store.topology, verdict.component or "")
    blamed = {suspect_of(store.topology, component_of(store.topology, fault.suspect)) for fault in faults}
    return blamed == {said} and all(_leads(fault, store) and not _may_spread(fault, store) for fault in faults)


def _leads(fault: Fault, store: EvidenceStore) -> bool:
    """Whether a fault is clear of all others, and of the bar."""
    enough = max(store.parameters.decided_nats, LEAD_SHARE * fault.gain)
    if fault.erratic or fault.rivals:
        return False
    return fault.lead >= enough and fault.support >= DOUBLE * store.watch.penalty


def _may_spread(fault: Fault, store: EvidenceStore) -> bool:
    """Whether it is one of several links of a card, whose other links may turn out to be down as well."""
    cable = store.topology.cables.get(fault.suspect.name)
    return cable is not None and any(store.topology.has_several_uplinks(end) for end in (cable.node_a, cable.node_b))


def lives_from_us(cut_off_us: int, t_us: int, decided: bool) -> int:
    """Whoever is heard of after this instant lives, though nothing gets through since ``cut_off_us``.

    What an agent sent before it died may still come, and the first loss may be another one's. Where the verdict is
    decided and so does not rest on when each pair fell ill, less is enough: to be heard of in the second that has just
    ended, if that is not the one in which it began.
    """
    usual_us = cut_off_us + ALIVE_US
    return min(usual_us, max(cut_off_us + EARLY_US, t_us - SECOND_US)) if decided else usual_us
