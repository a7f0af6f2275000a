"""The ladder: up when over the budget, down with patience, never beyond its ends."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from collectors.throttling import DOWN_AFTER, EASE, FACTORS, UP_AFTER, Ladder, judge

BUDGET = 3.0


def climb(measurements: list[float]) -> list[int]:
    ladder, factors = Ladder(), []
    for cpu in measurements:
        ladder = judge(ladder, cpu, BUDGET)
        factors.append(ladder.factor)
    return factors


def test_it_steps_up_while_over_the_budget_and_stops_at_the_top() -> None:
    assert climb([4.0] * 10) == [1, 2, 2, 4, 4, 8, 8, 8, 8, 8]


def test_one_peak_is_no_reason() -> None:
    assert climb([9.0, 1.0] * 5) == [1] * 10


def test_it_steps_down_when_there_is_plenty_of_room() -> None:
    assert climb([4.0] * UP_AFTER + [0.5] * DOWN_AFTER)[-2:] == [2, 1]


def test_it_stays_between_room_and_budget() -> None:
    assert climb([4.0] * UP_AFTER + [EASE * BUDGET + 0.1] * 50)[-1] == 2


@given(st.lists(st.floats(0.0, 100.0), max_size=200))
def test_it_moves_one_step_at_a_time_within_its_ends(measurements: list[float]) -> None:
    factors = [1, *climb(measurements)]
    assert set(factors) <= set(FACTORS)
    steps = [FACTORS.index(factor) for factor in factors]
    assert all(abs(b - a) <= 1 for a, b in itertools.pairwise(steps))


def test_a_load_that_shrinks_with_the_factor_comes_to_rest() -> None:
    """What costs 10 % at factor 1 costs 2.5 % at 4: it stays there and does not swing."""
    ladder, seen = Ladder(), []
    for _ in range(100):
        ladder = judge(ladder, 10.0 / ladder.factor, BUDGET)
        seen.append(ladder.factor)
    assert set(seen[10:]) == {4}
