"""When a tick may be acted upon: sources, offsets, repeats, the final one."""

from __future__ import annotations

from schemas.control import Tick
from streams.barrier import BEGINNING, Barrier, Moment


def tick(t_us: int, source: str = "clock", final: bool = False, **offsets: int) -> Tick:
    return Tick(t_us=t_us, source=source, offsets=offsets, final=final)


def test_without_a_stage_before_it_the_clock_decides_once_its_offsets_are_reached() -> None:
    barrier = Barrier(())
    barrier.note(tick(1, raw=3), 0)
    assert barrier.due({"raw": 2}) is None
    assert barrier.missing({"raw": 2}) == {"raw": 3}
    assert barrier.due({"raw": 3}) == tick(1, raw=3)


def test_topics_that_are_not_read_here_do_not_matter() -> None:
    barrier = Barrier(())
    barrier.note(tick(1, other=99), 0)
    assert barrier.due({"raw": 0}) == tick(1, other=99)


def test_a_tick_waits_for_each_partition_of_the_stage_before_it_and_for_what_that_wrote() -> None:
    barrier = Barrier(("a/0", "a/1"))
    barrier.note(tick(1), 0)
    barrier.note(tick(1, "a/0", derived=2), 1)
    assert barrier.due({"derived": 9}) is None
    barrier.note(tick(1, "a/1", derived=5), 2)
    assert barrier.due({"derived": 4}) is None
    assert barrier.due({"derived": 5}) == tick(1)


def test_a_source_without_the_clocks_tick_covers_it_with_a_later_one() -> None:
    barrier = Barrier(("a/0",))
    barrier.note(tick(1), 0)
    barrier.note(tick(3, "a/0", derived=4), 1)
    assert barrier.due({"derived": 4}) == tick(1)


def test_a_source_that_was_faster_is_asked_for_the_offsets_of_its_ticks_up_to_this_one_only() -> None:
    barrier = Barrier(("a/0",))
    barrier.note(tick(1, "a/0", derived=1), 0)
    barrier.note(tick(2, "a/0", derived=9), 1)
    barrier.note(tick(1), 2)
    assert barrier.due({"derived": 1}) == tick(1)


def test_offsets_of_a_source_whose_tick_was_not_acted_upon_still_count() -> None:
    barrier = Barrier(("a/0",))
    barrier.note(tick(1, "a/0", derived=7), 0)  # the source was restarted after it and knows less
    barrier.note(tick(2, "a/0"), 1)
    barrier.note(tick(2), 2)
    assert barrier.due({"derived": 0}) is None
    assert barrier.due({"derived": 7}) == tick(2)


def test_ticks_are_acted_upon_in_their_order_and_once() -> None:
    barrier = Barrier(())
    for offset, t_us in enumerate((1, 2, 2, 1, 3)):
        barrier.note(tick(t_us), offset)
    handled = []
    while (due := barrier.due({})) is not None:
        handled.append(due.t_us)
        barrier.passed(due)
    assert handled == [1, 2, 3]


def test_what_was_handled_before_a_crash_is_not_handled_again() -> None:
    barrier = Barrier((), handled=Moment(2, False))
    barrier.note(tick(1), 0)
    barrier.note(tick(2), 1)
    assert barrier.due({}) is None
    assert barrier.oldest_offset() is None


def test_the_final_tick_comes_after_the_ordinary_one_of_its_instant() -> None:
    barrier = Barrier(())
    barrier.note(tick(2), 0)
    barrier.note(tick(2, final=True), 1)
    first = barrier.due({})
    assert first is not None and not first.final
    barrier.passed(first)
    second = barrier.due({})
    assert second is not None and second.final


def test_the_oldest_offset_is_that_of_the_first_tick_that_is_not_done() -> None:
    barrier = Barrier(("a/0",))
    barrier.note(tick(2, "a/0"), 4)
    barrier.note(tick(1), 5)
    barrier.note(tick(2), 6)
    assert barrier.oldest_offset() == 4
    barrier.passed(tick(1))
    assert barrier.oldest_offset() == 4
    barrier.passed(tick(2))
    assert barrier.oldest_offset() is None


def test_it_listens_to_the_clock_and_its_sources_only() -> None:
    barrier = Barrier(("a/0",), BEGINNING)
    assert barrier.listens_to("clock") and barrier.listens_to("a/0")
    assert not barrier.listens_to("b/0")


def test_what_a_log_will_not_come_to_is_not_waited_for_but_what_comes_in_its_place_is() -> None:
    barrier = Barrier(("a/0",))
    for second in (1, 2):
        barrier.note(tick(second, raw=10 + second), second)
        barrier.note(tick(second, "a/0"), second)
    barrier.waive("raw", 0)
    assert barrier.missing({"raw": 0}) == {}
    assert barrier.due({"raw": 0}) == tick(1, raw=11)
    barrier.passed(tick(2))
    barrier.note(tick(3, raw=4), 5)
    barrier.note(tick(3, "a/0"), 5)
    assert barrier.due({"raw": 3}) is None
    assert barrier.due({"raw": 4}) == tick(3, raw=4)
