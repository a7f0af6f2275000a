"""What is left when everything else is ruled out: parts of a host, slow cards, links that are cut at either end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from localization.actions import hits_a_part
from localization.boundary import CHECKS, _Progress
from localization.cards import slow_for_no_other_reason
from localization.incidents import spoken_for
from schemas.instants import SECOND_US
from tests.small_fabric import WELL, Suffers, endpoint, health, told

CARDS = [f"h/mlx5_{number}" for number in range(8)]


def scene(ill: list[int], looked: list[int], after_s: float = 30.0) -> Any:
    """As much of a scene as is asked for: which cards of host h are slow, and which still probe."""
    return SimpleNamespace(
        looked_at=lambda host: [CARDS[number] for number in looked],
        endpoints=lambda: [f"c/mlx5_{number}" for number in ill],
        topology=SimpleNamespace(node_of=lambda name: name.replace("c/", "h/")),
        case=SimpleNamespace(is_slow=lambda: True, faults=[]),
        onset_us=0,
        t_us=round(after_s * SECOND_US),
    )


@pytest.mark.parametrize(
    ("ill", "looked", "part"),
    [
        ([0, 1, 2, 3], list(range(8)), True),
        ([2, 3], list(range(8)), True),
        (list(range(8)), list(range(8)), False),
        ([0, 3, 7], list(range(8)), False),
        ([0, 3, 7], [0, 3, 7], False),
    ],
)
def test_cards_behind_a_pcie_switch_are_neighbours_and_others_are_well(
    ill: list[int], looked: list[int], part: bool
) -> None:
    assert hits_a_part(scene(ill, looked), "host:h") is part


@pytest.mark.parametrize(
    ("looked", "after_s", "firmware"),
    [(list(range(8)), 30.0, True), ([5], 30.0, False), (list(range(8)), 10.0, False)],
)
def test_a_slow_card_is_its_firmwares_fault_if_others_of_the_host_are_well_for_long(
    looked: list[int], after_s: float, firmware: bool
) -> None:
    assert slow_for_no_other_reason(scene([5], looked, after_s), "h/mlx5_5") is firmware


def test_what_nothing_passes_is_taken_out_of_use_at_the_link_whose_ends_nothing_tells_apart() -> None:
    def cut_off(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return Suffers(loss=1.0) if second > 30 and endpoint(7, 0) in (src, dst) else WELL

    (incident,) = told(60, cut_off, health(60))
    assert (incident.component, incident.issue) == ("rnic:h7/mlx5_0", None)
    assert (incident.action.kind, incident.action.target) == ("quarantine", "link:a7-0")
    assert incident.candidates[1].component == "port:leaf-3-0/7"


@pytest.mark.parametrize(
    ("own", "elsewhere", "least", "most"),
    [((2, 0), (40, 0), 5.0, 8.0), ((2, 0), (40, 20), 0.0, 1.5), ((2, 2), (40, 0), 0.0, 1.0)],
)
def test_a_host_with_few_flows_is_judged_by_what_is_usual_on_others(
    own: tuple[int, int], elsewhere: tuple[int, int], least: float, most: float
) -> None:
    """A mismatch that healthy flows have too, there or anywhere, proves little."""
    shares = {("h0", CHECKS[1][0]): own, ("h1", CHECKS[1][0]): own, ("h2", CHECKS[1][0]): elsewhere}
    compared = _Progress(shares=shares, hosts=["h0", "h1", "h2"])
    known: Any = SimpleNamespace(topology=SimpleNamespace(host_of=lambda name: name.partition("/")[0]))
    assert least <= compared.rarity(known, ("h0/r", "h1/r"), CHECKS[1][0]) <= most


@pytest.mark.parametrize(
    ("before", "left", "kept"),
    [
        ({"issue": "offloading_failure"}, True, None),
        ({"kind": "congestion", "issue": None}, True, None),
        ({"issue": None}, True, "rnic_firmware_unresponsive"),
        ({"issue": "offloading_failure"}, False, "rnic_firmware_unresponsive"),
    ],
)
def test_what_is_left_does_not_take_the_place_of_a_reason(before: dict[str, Any], left: bool, kept: str | None) -> None:
    """As when a queue is flat again, or the tables agree again, and the pairs are not yet cleared."""

    def slow_card(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return Suffers(rtt=20.0) if second > 30 and endpoint(7, 0) in (src, dst) else WELL

    (slow,) = told(60, slow_card)
    now = structs.replace(slow, issue="rnic_firmware_unresponsive")
    assert spoken_for(now, structs.replace(slow, **before), left).issue == kept
    assert spoken_for(now, None, left).issue == "rnic_firmware_unresponsive"
