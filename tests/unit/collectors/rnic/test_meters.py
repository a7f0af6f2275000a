"""Ceilings, wraps, resets, impossible rises: readers know one rule (a decrease is a reset, null is unknown)."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from collectors.rnic.counter_text import Unread
from collectors.rnic.meters import ByteMeter, Meter

SECOND = 1_000_000


def known_deltas(shown: list[int | None]) -> list[int]:
    """What a reader of the contract makes of a column: sums of rises, nothing across decreases."""
    numbers = [value for value in shown if value is not None]
    return [after - before for before, after in pairwise(numbers) if after >= before]


def test_a_ceiling_is_unknown_not_a_number() -> None:
    meter = Meter(1, 255)
    assert [meter.take(raw) for raw in (250, 255, 255)] == [250, None, None]
    assert meter.reason is Unread.CEILING


def test_a_counter_cleared_at_its_ceiling_shows_a_reset_even_above_the_old_value() -> None:
    meter = Meter(1, 255)
    shown = [meter.take(raw) for raw in (100, 255, 150, 160)]
    assert shown == [100, None, 0, 10]


def test_an_extended_counter_passes_the_old_ceiling() -> None:
    meter = Meter(1, 255)
    assert [meter.take(raw) for raw in (254, 255, 256, 255 + 256)] == [254, None, 256, 511]


def test_a_decrease_is_passed_on() -> None:
    meter = Meter()
    assert [meter.take(raw) for raw in (500, 20, 30)] == [500, 20, 30]


def test_a_new_life_of_the_driver_shows_even_if_the_counter_is_larger() -> None:
    meter = Meter()
    assert meter.take(100) == 100
    meter.begin_anew()
    assert [meter.take(raw) for raw in (150, 170)] == [0, 20]


def test_a_wrap_at_32_bits_is_carried_when_the_line_allows_it() -> None:
    meter = ByteMeter(4)
    line = 40.0
    shown = [meter.take_bytes(raw, n * SECOND, line, False) for n, raw in enumerate((2**32 - 1000, 500, 1500))]
    assert [b - a for a, b in pairwise(shown)] == [1500 * 4, 1000 * 4]  # type: ignore[operator]


def test_a_wrap_with_a_reset_beside_it_is_a_reset() -> None:
    meter = ByteMeter(4)
    assert meter.take_bytes(2**32 - 1000, 0, 40.0, False) == (2**32 - 1000) * 4
    assert meter.take_bytes(500, SECOND, 40.0, True) == 2000


def test_no_wrap_is_guessed_when_the_line_could_turn_the_counter_twice_or_is_unknown() -> None:
    for line in (400.0, None):
        meter = ByteMeter(4)
        meter.take_bytes(2**32 - 1000, 0, line, False)
        assert meter.take_bytes(500, SECOND, line, False) == 2000


def test_bytes_faster_than_the_line_are_an_error_of_the_count_not_traffic() -> None:
    meter = ByteMeter(4)
    line = 10.0
    shown = [meter.take_bytes(raw, n * SECOND, line, False) for n, raw in enumerate((0, 10**6, 10**12, 10**12 + 100))]
    assert shown == [0, 4 * 10**6, 0, 400]


def test_the_reason_is_told() -> None:
    meter = ByteMeter(4)
    meter.take_bytes(0, 0, 10.0, False)
    meter.take_bytes(10**12, SECOND, 10.0, False)
    assert meter.reason is Unread.TOO_FAST


def test_a_driver_that_refreshes_seldom_is_not_too_fast() -> None:
    meter = ByteMeter(1)
    full = 1_250_000_000
    raws = [0, 0, 2 * full, 2 * full, 4 * full, 4 * full, 6 * full]
    shown = [meter.take_bytes(raw, n * SECOND, 10.0, False) for n, raw in enumerate(raws)]
    assert shown == raws


def test_a_rate_that_is_always_exceeded_is_not_believed() -> None:
    meter = ByteMeter(1)
    step = 10**11
    shown = [meter.take_bytes(n * step, n * SECOND, 10.0, False) for n in range(8)]
    assert sum(known_deltas(shown)) == 5 * step


@given(st.lists(st.one_of(st.integers(0, 2**40), st.just(Unread.TEXT)), min_size=1, max_size=40))
def test_nulls_are_exactly_the_unread_and_plain_counters_come_as_they_are(raws: list[int | Unread]) -> None:
    meter = Meter()
    shown = [meter.take(raw) for raw in raws]
    assert [value is None for value in shown] == [not isinstance(raw, int) for raw in raws]
    assert [value for value in shown if value is not None] == [raw for raw in raws if isinstance(raw, int)]


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.booleans()), min_size=1, max_size=40),
)
def test_no_traffic_is_invented_across_lives_of_a_driver(steps: list[tuple[int, bool]]) -> None:
    """The kernel's counter grows by each step; a true flag loads the driver anew at an arbitrary larger value."""
    meter, raw, moved = Meter(), 0, 0
    shown = [meter.take(0)]
    for step, reborn in steps:
        if reborn:
            meter.begin_anew()
            raw += 12345
        else:
            moved += step
        raw += step
        shown.append(meter.take(raw))
    assert sum(known_deltas(shown)) <= moved


@given(st.lists(st.integers(0, 2**33), min_size=2, max_size=40), st.integers(0, 2**32))
def test_a_wrapping_counter_never_invents_bytes(steps: list[int], start: int) -> None:
    meter, line = ByteMeter(1), 8.0
    total, shown = start, []
    for n, step in enumerate(steps):
        total += step % (10**9)
        shown.append(meter.take_bytes(total % 2**32, n * SECOND, line, False))
    assert sum(known_deltas(shown)) <= total - start
    assert all(value is None or value >= 0 for value in shown)
