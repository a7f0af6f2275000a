"""Two worlds with equal counters: what can't be told apart is kept as further pairs, and reported as twins."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from schemas.envelope import Message
from schemas.maps import EndpointMap
from schemas.skeletons import SkeletonUpdate
from skeletonhunter.testbed.parallelism import Degrees, rank_groups
from skeletonhunter.testbed.steps import Step
from skeletonhunter.testbed.traffic import StepShape, step_bursts
from tests.simulated_jobs import Shape, Transfers, burst_messages, counter_messages, endpoint_map, fold, name_of

SHAPE = Shape(tp=1, pp=2, dp=4)
SECONDS = 200
RIGHT = {0: 1, 2: 3, 4: 5, 6: 7}
CROSSED = {0: 3, 2: 1, 4: 5, 6: 7}
"""First stage to second stage. Replicas 0 and 1 are in step; the others are not."""


def world(partner: dict[int, int]) -> Transfers:
    """Steps of ten seconds: six messages there and back, then everybody of a stage reduces."""
    draw = np.random.default_rng(3)
    moved = Transfers([[] for _ in range(SHAPE.ranks)])
    for step in range(SECONDS // 10):
        at = step * 10.0 + 0.4
        late = {0: 0.0, 2: 0.0, 4: 0.0, 6: 0.0}
        for batch in range(6):
            for first in (4, 6):
                late[first] = float(draw.normal(0.3, 0.15))
            shared = float(draw.normal(0.3, 0.15))
            late[0] = late[2] = shared
            for first, last in partner.items():
                forward = at + batch * 1.1 + late[first]
                moved.add(first, forward, 40_000_000, True)
                moved.add(last, forward, 40_000_000, False)
                moved.add(last, forward + 0.45, 40_000_000, True)
                moved.add(first, forward + 0.45, 40_000_000, False)
        for rank in range(SHAPE.ranks):
            for sent in (True, False):
                moved.add(rank, at + 8.0 + 0.2 * (rank % 2), 2_000_000_000, sent)
    for rows in moved.by_rank:
        rows.sort()
    return moved


def counted(partner: dict[int, int]) -> list[Message]:
    return [endpoint_map(SHAPE), *counter_messages(SHAPE, world(partner), SECONDS)]


def last(messages: list[Message]) -> SkeletonUpdate:
    return fold(messages, SECONDS)[0][-1].value  # type: ignore[return-value]


def pairs_of(partner: dict[int, int]) -> set[tuple[str, str]]:
    return {(name_of(SHAPE, a), name_of(SHAPE, b)) for a, b in (sorted(pair) for pair in partner.items())}


def test_the_worlds_differ_in_who_talks_to_whom_and_not_in_any_counter() -> None:
    assert RIGHT != CROSSED
    assert counted(RIGHT) == counted(CROSSED)


@pytest.mark.parametrize("bursts", [False, True])
def test_both_worlds_are_kept(bursts: bool) -> None:
    """Bursts don't help either: they too are equal."""
    messages = counted(RIGHT)
    if bursts:
        messages += burst_messages(SHAPE, world(RIGHT), SECONDS)
    found = last(messages)
    edges = {(a, b) for a, b, kind in found.edges if kind == "pp"}
    assert found.state == "trusted"
    assert edges == pairs_of(RIGHT) | pairs_of(CROSSED), "replicas out of step are told apart, twins are not"
    assert found.evidence["pairing"] == "ambiguous"
    assert found.evidence["twins"] == 2
    assert "twins" in found.reason


def in_order(message: Message, order: list[int]) -> Message:
    """The map with its containers in this order, said to be rank order."""
    if not isinstance(message, EndpointMap):
        return message
    listed = tuple(message.endpoints[index] for index in order)
    return msgspec.structs.replace(message, endpoints=listed, reason="placement, containers in rank order")


def test_rank_order_tells_twins_apart() -> None:
    messages = counted(RIGHT)
    messages[0] = in_order(messages[0], [0, 2, 4, 6, 1, 3, 5, 7])
    found = last(messages)
    assert {(a, b) for a, b, kind in found.edges if kind == "pp"} == pairs_of(RIGHT)
    assert found.evidence["hints"] == {"order": "used"}
    assert (found.evidence["twins"], found.evidence["pairing"]) == (0, "known")


@pytest.mark.parametrize(
    "order",
    [
        pytest.param([0, 2, 4, 6, 5, 3, 1, 7], id="links-that-traffic-rules-out"),
        pytest.param([0, 1, 2, 4, 3, 6, 5, 7], id="stages-in-no-regular-runs"),
    ],
)
def test_an_order_that_traffic_contradicts_is_not_believed(order: list[int]) -> None:
    messages = counted(RIGHT)
    messages[0] = in_order(messages[0], order)
    found = last(messages)
    assert {(a, b) for a, b, kind in found.edges if kind == "pp"} == pairs_of(RIGHT) | pairs_of(CROSSED)
    assert found.evidence["hints"] == {"order": "contradicted"}


def test_chains_of_a_library_are_used_where_they_agree_and_else_not() -> None:
    for partner, expected, outcome in (
        (RIGHT, RIGHT, "used"),
        ({0: 5, 2: 1, 4: 3, 6: 7}, {**RIGHT}, "contradicted"),
    ):
        messages = counted(RIGHT)
        chains = [[name_of(SHAPE, a), name_of(SHAPE, b)] for a, b in partner.items()]
        messages[0] = msgspec.structs.replace(messages[0], groups={"pp": chains, "whatever": 3})  # type: ignore[type-var]
        found = last(messages)
        edges = {(a, b) for a, b, kind in found.edges if kind == "pp"}
        assert edges == pairs_of(expected) | (pairs_of(CROSSED) if outcome == "contradicted" else set())
        assert found.evidence["hints"] == {"chains": outcome}


def test_experts_whose_groups_all_act_at_once_leave_no_trace_of_who_is_with_whom() -> None:
    """Two jobs of sixteen ranks whose expert groups differ send and receive the same bytes at the same instants."""
    pairs, fours = Degrees(tp=2, dp=4, ep=2), Degrees(tp=2, dp=2, ep=4)
    assert rank_groups(pairs, "ep") != rank_groups(fours, "ep")
    assert rank_groups(pairs, "dp") != rank_groups(fours, "dp")
    step = Step(0, 0.0, 10.0, stretch=1.0, finished=True)
    worlds = [step_bursts(degrees, StepShape(), step, np.random.default_rng(1)) for degrees in (pairs, fours)]
    for one, other in zip(*(world.columns() for world in worlds), strict=True):
        assert len(one) > 0
        np.testing.assert_array_equal(one, other)
