"""Whom what comes next can hardly clear is named in the second of its detection; all others wait."""

from __future__ import annotations

from dataclasses import replace

import pytest

from localization.cases import Case
from localization.certainty import EARLY_US, is_decided, lives_from_us
from localization.faults import Fault
from localization.parameters import LocalizationParameters
from localization.suspects import Suspect
from localization.verdict import Verdict
from schemas.diagnosis import Action
from schemas.instants import SECOND_US, micros
from tests.small_fabric import BEGIN_US, WELL, Effect, Suffers, health, history_of, uplink
from tests.unit.localization.test_scale import store_of

LINK = uplink("leaf-0-0", 0)
BLAMED = Suspect("direction", LINK, "leaf-0-0")
CLEAR = Fault(BLAMED, 1.0, 1.0, BEGIN_US, BEGIN_US + 2 * SECOND_US, 100.0, 80.0, 8, 1000, 900, rivals=(), lead=50.0)
NOTHING = Action(kind="none", target=None, why="")
SAID = Verdict("network_fault", None, f"link:{LINK}", "switch", 0.8, (), (), (), NOTHING, False)


def decided(fault: Fault, said: Verdict = SAID) -> bool:
    store = store_of(2)
    store.watch.faults = [fault]
    case = Case("c", BEGIN_US, BEGIN_US + SECOND_US, faults=[BLAMED])
    return is_decided(case, said, store)


def test_a_steady_fault_that_leads_over_all_others_is_decided() -> None:
    assert decided(CLEAR)


@pytest.mark.parametrize(
    "fault",
    [
        replace(CLEAR, hit=0.7),
        replace(CLEAR, lead=19.0),
        replace(CLEAR, gain=240.0),
        replace(CLEAR, support=20.0),
        replace(CLEAR, rivals=((Suspect("switch", "leaf-0-0"), 99.0),)),
        replace(CLEAR, over_us=BEGIN_US + SECOND_US),
    ],
    ids=["erratic", "hardly leads", "leads by little of its nats", "rests on one pair", "has a rival", "is over"],
)
def test_any_other_fault_is_not(fault: Fault) -> None:
    assert not decided(fault)


def test_what_names_somebody_else_than_the_trains_is_not_decided() -> None:
    assert not decided(CLEAR, replace(SAID, component="vswitch:h0"))


def test_an_agent_lives_that_is_heard_of_later_than_one_that_died_can_be() -> None:
    cut_off_us = 100 * SECOND_US
    assert lives_from_us(cut_off_us, 102 * SECOND_US, False) == 102 * SECOND_US
    assert lives_from_us(cut_off_us, 102 * SECOND_US, True) == cut_off_us + EARLY_US
    assert lives_from_us(cut_off_us, 103 * SECOND_US, True) == 102 * SECOND_US
    assert lives_from_us(cut_off_us, 110 * SECOND_US, True) == 102 * SECOND_US
    assert SECOND_US + micros(LocalizationParameters().clock_bound_s) == EARLY_US


def cut(name: str) -> Effect:
    return lambda second, src, dst, path: Suffers(loss=1.0) if second > 60 and name in (src, dst, *path) else WELL


@pytest.mark.parametrize("name", [LINK, "a2-0"])
def test_who_lets_nothing_pass_is_named_in_the_second_of_the_detection(name: str) -> None:
    first = history_of(70, cut(name), health(70))[0]
    assert first.component in (f"link:{LINK}", "rnic:h2/mlx5_0")
    assert first.t_us == first.detected_us


def test_an_agent_that_dies_is_not_taken_for_its_card_in_the_meantime() -> None:
    def gone(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        if second > 60 and "c3/" in src:
            return Suffers(silent=True)
        return Suffers(loss=1.0) if second > 60 and "c3/" in dst else WELL

    history = history_of(80, gone, health(80, dead={3: 60}))
    assert {incident.component for incident in history} <= {"agent:c3", None}


def test_one_of_several_links_of_a_card_is_not_decided() -> None:
    """The other one may be down as well, as in a bond of which both halves go: then it is the card."""
    store = store_of(2)
    access = Suspect("direction", "a0-0", "leaf-0-0")
    store.watch.faults = [replace(CLEAR, suspect=access)]
    store.topology.neighbours["h0/mlx5_0"] *= 2
    case = Case("c", BEGIN_US, BEGIN_US + SECOND_US, faults=[access])
    assert not is_decided(case, replace(SAID, component="link:a0-0"), store)
    store.topology.neighbours["h0/mlx5_0"].pop()
    assert is_decided(case, replace(SAID, component="link:a0-0"), store)
