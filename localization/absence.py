"""Whose agent is gone? Known before any verdict, so that what it leaves behind is not taken for a fault.

An agent is absent when all its endpoints that used to probe have stopped, nothing of it has been heard of since, and
its container is not known to have exited. Only agents whose endpoints are ill are looked at. What is probed at an
absent agent is left out of the search (``localization.muting``), and its anomalies are given to one case of their own:
mixed with others' they would be judged as a fault of what they have in common. Cost: O(endpoints) while somebody ill is
silent, else O(ill endpoints).
"""

from __future__ import annotations

from typing import NamedTuple

from localization.cases import Case, ends_of
from localization.evidence import EvidenceStore
from localization.grouping import CaseBook, place
from localization.muting import MUTED_US
from localization.troubles import have_exited
from schemas.diagnosis import Anomaly
from schemas.instants import SECOND_US

EDGE_US = 2 * SECOND_US


class Absence(NamedTuple):
    """Endpoints of an absent agent, and since when they have not probed, us."""

    endpoints: frozenset[str]
    since_us: int


def mute_absent(book: CaseBook, store: EvidenceStore, t_us: int) -> dict[str, Absence]:
    """Absent agents at the open anomalies; what is probed there is left out from now on."""
    ill = {end for case in book.cases for anomaly in case.open_anomalies() for end in ends_of(anomaly)}
    silent = {store.agent_of(endpoint) for endpoint in ill if store.sources.is_silent(endpoint, t_us)}
    if not silent:
        return {}
    members: dict[str, list[str]] = {agent: [] for agent in sorted(silent)}
    for endpoint in store.sources:
        agent = store.agent_of(endpoint)
        if agent in members:
            members[agent].append(endpoint)
    found = {}
    for agent, endpoints in members.items():
        last_us = max(store.sources[endpoint].last_us for endpoint in endpoints)
        gone = all(store.sources.is_silent(endpoint, t_us) for endpoint in endpoints)
        present = [endpoint for endpoint in endpoints if endpoint in store.topology.endpoints]
        if gone and present and not store.producers.heard(agent, last_us) and not have_exited(store, present):
            since_us = min(store.sources[endpoint].last_us for endpoint in endpoints) - EDGE_US
            found[agent] = Absence(frozenset(endpoints), since_us)
            store.watch.mute(endpoints, since_us, t_us + MUTED_US)
    return found


def gather_absent(book: CaseBook, store: EvidenceStore, absent: dict[str, Absence]) -> None:
    """Gives each absent agent's anomalies, those from its silence on, to one case; others' rest is sorted anew.

    A case that has been told keeps its name and the rest of its members.
    """
    for agent, absence in absent.items():
        mixed = [(case, mine) for case in book.cases if (mine := _members(case, absence))]
        if not mixed:
            continue
        home = _home(book, store, agent, absence)
        if home is None:
            first = min((a for _, mine in mixed for a in mine), key=lambda a: (a.onset_us, a.anomaly))
            home = book.start(f"agent {agent}", first.onset_us, first.detected_us)
        for case, mine in mixed:
            if case is home:
                continue
            for anomaly in mine:
                home.take(case.anomalies.pop(anomaly.anomaly))
            if case.opened is None:
                book.cases.remove(case)
                for anomaly in case.anomalies.values():
                    place(book, store, anomaly)


def _members(case: Case, absence: Absence) -> list[Anomaly]:
    """Anomalies of a case that began with the silence of an absent agent's endpoints."""
    since_us, endpoints = absence.since_us, absence.endpoints
    return [a for a in case.anomalies.values() if a.onset_us >= since_us and not endpoints.isdisjoint(ends_of(a))]


def _home(book: CaseBook, store: EvidenceStore, agent: str, absence: Absence) -> Case | None:
    """The case of an absent agent: the withheld one, or one that is not told and holds nothing else.

    A fault that goes on without the agent's endpoints is something else.
    """
    for case in book.cases:
        if case.withheld is not None and case.withheld.endswith(f" agent:{agent}"):
            return case
    active = {fault.suspect for fault in store.watch.active()}
    for case in book.cases:
        alone = case.opened is None and active.isdisjoint(case.faults)
        if alone and case.anomalies and len(_members(case, absence)) == len(case.anomalies):
            return case
    return None
