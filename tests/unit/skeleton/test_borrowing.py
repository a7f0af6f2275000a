"""An unresolved rail takes the pipelines of the others only if its own messages bear them out."""

from __future__ import annotations

import dataclasses

import numpy as np

from skeleton.borrowing import BORROWED, borrow_chains
from skeleton.matching import Matches
from skeleton.membership import Membership
from skeleton.rails import RailTraffic
from skeleton.structure import RailFinding

HOSTS = ("1", "2", "3", "4")
JOB = Membership(
    1,
    tuple(f"{host}/{rail}" for rail in range(3) for host in HOSTS),
    tuple(rail for rail in range(3) for _ in HOSTS),
    HOSTS * 3,
    HOSTS * 3,
)
STRAIGHT = ((0, 2), (1, 3))
CROSSED = ((0, 3), (1, 2))


def known(rail: int, chains: tuple[tuple[int, int], ...]) -> RailFinding:
    members = tuple(range(4 * rail, 4 * rail + 4))
    pairs = tuple((members[a], members[b]) for a, b in chains)
    return RailFinding(rail, members, "paired", (members[:2], members[2:]), pairs, links=pairs, ordered=True)


def unresolved(rail: int) -> RailFinding:
    return RailFinding(rail, tuple(range(4 * rail, 4 * rail + 4)), "unresolved")


def view(rail: int, chains: tuple[tuple[int, int], ...], missed: int = 0) -> RailTraffic:
    """Forty messages along each chain, of which the first ``missed`` of row 0 were seen to be received by nobody."""
    messages = []
    for a, b in chains:
        for sender, receiver in ((a, b), (b, a)):
            met = np.zeros((40, 4), dtype=bool)
            met[missed if sender == 0 else 0 :, receiver] = True
            messages.append((np.full(40, sender), met))
    passed = np.zeros((4, 4), np.int64)
    for rows, met in messages:
        np.add.at(passed, rows, met.astype(np.int64))
    idle = np.zeros((4, 10))
    matches = Matches((), 0.9, 0.9, passed, (np.empty(0, np.int64),) * 4, tuple(messages), ())
    return RailTraffic(rail, unresolved(rail).members, None, None, idle, idle, (0, 1, 2, 3), 0.0, matches)


def third(
    others: tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]], seen: RailTraffic, job: Membership = JOB
) -> RailFinding:
    findings = [known(0, others[0]), known(1, others[1]), unresolved(2)]
    return borrow_chains(findings, [view(0, STRAIGHT), view(1, STRAIGHT), seen], job)[2]


def test_a_rail_with_some_lost_messages_takes_the_pipelines_of_the_others() -> None:
    found = third((STRAIGHT, STRAIGHT), view(2, STRAIGHT, missed=15))
    assert (found.knowledge, found.links, found.clarity) == ("paired", ((8, 10), (9, 11)), BORROWED)


def test_messages_that_go_elsewhere_refuse_them() -> None:
    assert third((STRAIGHT, STRAIGHT), view(2, CROSSED)) == unresolved(2)
    assert third((STRAIGHT, STRAIGHT), view(2, STRAIGHT, missed=40)) == unresolved(2)


def test_rails_that_contradict_each_other_lend_nothing() -> None:
    assert third((STRAIGHT, CROSSED), view(2, STRAIGHT)) == unresolved(2)


def test_nothing_is_lent_without_bursts_or_to_two_members_on_one_host() -> None:
    blind = dataclasses.replace(view(2, STRAIGHT), matches=None)
    assert third((STRAIGHT, STRAIGHT), blind) == unresolved(2)
    crowded = dataclasses.replace(JOB, hosts=(*HOSTS * 2, "1", "1", "3", "4"))
    assert third((STRAIGHT, STRAIGHT), view(2, STRAIGHT), crowded) == unresolved(2)
