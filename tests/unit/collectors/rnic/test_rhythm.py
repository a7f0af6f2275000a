"""Samples fall on multiples of the period, whatever the start, the lateness of wake-ups and steps of the clock."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.rnic.rhythm import Rhythm
from tests.unit.collectors.rnic.trees import T0


def sampled(
    period_s: float, start_us: int, late_us: list[int], turns: int = 200, step_at: int = -1, stretch: int = 1
) -> list[int]:
    """Instants of readings, as the agent's loop makes them: due instants, each reached a little late."""
    rhythm, due_us, off_us, seen = Rhythm(period_s), start_us, 0, []
    for turn in range(turns):
        if turn == step_at:
            off_us = 777_777
        now_us = due_us + late_us[turn % len(late_us)]
        seen.append(T0 + now_us + off_us)
        due_us += round(rhythm.next_s(T0 + now_us + off_us) * stretch * 1e6)
    return seen


def distance(t_us: int, period_us: int) -> int:
    return abs((t_us + period_us // 2) % period_us - period_us // 2)


@pytest.mark.parametrize("period_s", [0.01, 0.05, 1.0])
@given(start_us=st.integers(0, 10**7), late_us=st.lists(st.integers(0, 300), min_size=1, max_size=9))
def test_readings_fall_on_multiples_of_the_period(period_s: float, start_us: int, late_us: list[int]) -> None:
    seen = sampled(period_s, start_us, late_us)
    assert all(distance(t_us, round(period_s * 1e6)) <= 400 for t_us in seen[100:])
    assert all(0.4 * period_s * 1e6 < b - a < 1.6 * period_s * 1e6 for a, b in pairwise(seen))


@pytest.mark.parametrize("stretch", [2, 4, 8])
def test_an_agent_that_saves_asks_at_multiples_as_well(stretch: int) -> None:
    seen = sampled(0.05, 12_345, [20, 90, 40], turns=60, stretch=stretch)
    assert all(distance(t_us, 50_000) <= 300 for t_us in seen[20:])
    assert all(abs(b - a - stretch * 50_000) <= 300 for a, b in pairwise(seen[20:]))


def test_a_clock_that_is_set_is_followed_at_once() -> None:
    seen = sampled(1.0, 123_456, [50, 120, 80], turns=60, step_at=30)
    assert all(distance(t_us, 1_000_000) <= 400 for t_us in seen[34:])


def test_a_single_late_turn_hardly_matters() -> None:
    seen = sampled(1.0, 0, [*[0] * 99, 80_000], turns=120)
    assert distance(seen[100], 1_000_000) <= 10_000
