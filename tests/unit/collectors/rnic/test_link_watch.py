"""Flaps: seen ones, hidden ones, counters that are reset, ports that were down from the beginning, recovery."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collectors.rnic.link_watch import Change, LinkWatch

S = 1_000_000


def watch(hold_s: int = 600) -> LinkWatch:
    return LinkWatch(600 * S, hold_s * S, 3)


def kinds(changes: list[Change]) -> list[str]:
    return [change.kind for change in changes]


def test_down_and_up_are_told_once_each() -> None:
    link = watch()
    told = [link.look(n * S, up, None) for n, up in enumerate([True, True, False, False, True, True])]
    assert [kinds(one) for one in told] == [[], [], ["down"], [], ["up"], []]
    assert told[4][0].down_us == 2 * S


def test_flaps_between_two_looks_are_found_by_their_count() -> None:
    link = watch()
    link.look(0, True, 10)
    changes = link.look(5 * S, True, 16)
    assert changes[0].flaps == 6 and changes[0].hidden
    assert kinds(changes) == ["down", "up"] * 4


def test_a_seen_down_and_its_count_are_one_flap() -> None:
    link = watch()
    link.look(0, True, 3)
    assert link.look(S, False, 4)[0].flaps == 1
    assert link.look(2 * S, True, 4)[0].flaps == 1


def test_a_count_that_decreases_is_a_reset_not_flaps() -> None:
    link = watch()
    link.look(0, True, 200)
    assert link.look(S, True, 0) == []
    assert link.look(2 * S, True, 1)[0].flaps == 1


def test_old_totals_are_no_flaps() -> None:
    assert watch().look(0, True, 255) == []


def test_a_port_that_is_down_from_the_beginning_is_told_after_three_looks() -> None:
    link = watch()
    assert [kinds(link.look(n * S, False, None)) for n in range(5)] == [[], [], ["down"], [], []]


def test_recovery_needs_a_stable_period() -> None:
    link = watch(hold_s=10)
    for n, up in enumerate([True, False, True, False, True]):
        link.look(n * S, up, None)
    assert [kinds(link.look((5 + n) * S, True, None)) for n in range(10)] == [[]] * 9 + [["stable"]]


def test_what_can_not_be_read_says_nothing() -> None:
    link = watch()
    link.look(0, True, 1)
    assert link.look(S, None, None) == []
    assert link.look(2 * S, True, 1) == []


def test_flaps_leave_the_window() -> None:
    link = watch()
    link.look(0, True, 0)
    link.look(S, True, 5)
    assert link.look(700 * S, True, 6)[0].flaps == 1


@given(st.lists(st.tuples(st.none() | st.booleans(), st.none() | st.integers(0, 2**64)), max_size=60))
def test_downs_and_ups_take_turns(looks: list[tuple[bool | None, int | None]]) -> None:
    link, up = watch(), True
    for n, (state, count) in enumerate(looks):
        for change in link.look(n * S, state, count):
            if change.kind != "stable":
                assert (change.kind == "down") == up
                up = change.kind == "up"
            assert change.flaps >= 0
