"""The event clock: monotone, never ahead of arrival, one tick at each whole second."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skeletonhunter.recordings.ticks import MAX_TICKS, SECOND_US, EventClock

INSTANTS = st.integers(0, 400 * SECOND_US)


@given(st.lists(st.tuples(INSTANTS, INSTANTS), min_size=1))
def test_ticks_are_the_whole_seconds_that_the_clock_has_reached(messages: list[tuple[int, int]]) -> None:
    clock, ticks = EventClock(), []
    for t_us, arrival_us in messages:
        ticks.extend(clock.pass_to(t_us, arrival_us))
        assert not ticks or ticks[-1] == clock.now_us // SECOND_US * SECOND_US
    assert clock.now_us == max(min(pair) for pair in messages)
    assert ticks == list(range(ticks[0], ticks[-1] + 1, SECOND_US))
    assert ticks[0] == min(messages[0]) // SECOND_US * SECOND_US


def test_a_producer_ahead_of_time_does_not_hurry_the_clock() -> None:
    clock = EventClock()
    clock.pass_to(99 * SECOND_US, 10 * SECOND_US)
    assert clock.now_us == 10 * SECOND_US


def test_a_long_gap_is_one_tick() -> None:
    clock = EventClock()
    clock.pass_to(0, 0)
    assert len(clock.pass_to(MAX_TICKS * SECOND_US, 10**15)) == MAX_TICKS
    assert list(clock.pass_to(10**10 * SECOND_US, 10**17)) == [10**10 * SECOND_US]
