"""Found and false blames: the rules of the localization cases, one by one."""

from __future__ import annotations

import pytest

from skeletonhunter.scoring import add_counts, count_blames
from skeletonhunter.scoring.places import Places
from skeletonhunter.scoring.referee import count_components
from tests.unit.scoring.cases import facts, fault, incident, truth

PLACES = Places(facts())


@pytest.mark.parametrize(
    ("faults", "blamed", "found", "false"),
    [
        (["link:f11", "link:a2"], ["link:f11"], 1, 0),
        (["link:f11"], ["link:f12"], 0, 1),
        (["link:a1"], ["rnic:h1/r0"], 1, 0),
        (["rnic:h1/r0"], ["link:a1", "port:leaf-1/1", "port:h1/r0/1"], 1, 0),
        (["link:f11"], ["port:leaf-1/u1", "port:spine-1/1"], 1, 0),
        (["switch:leaf-1"], ["switch:leaf-1"], 1, 0),
        (["switch:leaf-1"], ["link:a1", "link:f11"], 1, 0),
        (["switch:leaf-1"], ["link:a1"], 0, 0),
        (["switch:leaf-1"], ["link:a1", "link:f22"], 0, 1),
        (["link:f11"], ["switch:leaf-1"], 0, 1),
        (["switch:leaf-1", "link:a1"], ["link:a1"], 1, 0),
        ([], ["link:f11", "host:h1"], 0, 2),
        ([], [], 0, 0),
    ],
)
def test_what_counts_as_found_and_as_false(faults: list[str], blamed: list[str], found: int, false: int) -> None:
    count = count_components(faults, blamed, PLACES)
    assert (count.faults, count.found, count.false_blames) == (len(faults), found, false)


def test_only_the_last_state_of_a_network_fault_blames() -> None:
    incidents = [
        incident("link:f12", name="i1", sent=22),
        incident("link:f11", name="i1", sent=30),
        incident("link:f22", name="i2", kind="congestion"),
        incident("link:f21", name="i3", kind="insufficient_evidence"),
    ]
    count = count_blames(truth(fault("link:f11")), incidents, facts())
    assert (count.found, count.false_blames) == (1, 0)


def test_congestion_in_truth_is_no_fault_and_blaming_it_is_false() -> None:
    count = count_blames(truth(fault("port:leaf-2/3", kind="congestion")), [incident("port:leaf-2/3")], facts())
    assert (count.faults, count.found, count.false_blames) == (0, 0, 1)


def test_pooled_precision_recall_and_f1() -> None:
    one = count_components(["link:f11", "link:a2"], ["link:f11", "link:a3"], PLACES)
    total = add_counts([one, count_components([], [], PLACES)])
    assert (total.traces, total.precision, total.recall, total.f1) == (2, 0.5, 0.5, 0.5)
    empty = add_counts([])
    assert (empty.precision, empty.recall, empty.f1) == (None, None, None)
