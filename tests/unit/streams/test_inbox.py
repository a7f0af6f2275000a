"""Which records count before a tick, and which offsets are still needed: the inbox and its ledger."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from schemas.control import Tick
from streams.inbox import Inbox
from streams.ledger import OffsetLedger
from streams.offsets import SharedOffsets
from streams.records import Record


def record(topic: str, offset: int, arrival_us: int = 0) -> Record:
    return Record(topic, 0, offset, b"k", b"v", arrival_us)


def tick(t_us: int, final: bool = False, **offsets: int) -> Tick:
    return Tick(t_us=t_us, source="clock", offsets=offsets, final=final)


def inbox() -> Inbox:
    return Inbox(("raw",), ("derived",), {})


def test_raw_records_count_by_offset_and_derived_ones_by_the_tick_that_made_them() -> None:
    box = inbox()
    for offset in range(4):
        box.receive(record("raw", offset))
        box.receive(record("derived", offset, arrival_us=[5, 10, 5, 11][offset]))
    taken = [(taken.topic, taken.offset) for taken in box.take(tick(10, raw=2))]
    assert taken == [("raw", 0), ("raw", 1), ("derived", 0), ("derived", 1), ("derived", 2)]
    assert [(taken.topic, taken.offset) for taken in box.take(tick(11, raw=4))] == [
        ("raw", 2),
        ("raw", 3),
        ("derived", 3),
    ]


def test_before_the_final_tick_everything_counts() -> None:
    box = inbox()
    box.receive(record("raw", 0))
    box.receive(record("derived", 0, arrival_us=99))
    assert len(list(box.take(tick(1, final=True)))) == 2
    assert box.waiting() == 0


def test_a_topic_that_the_tick_does_not_name_had_nothing() -> None:
    box = inbox()
    box.receive(record("raw", 0))
    assert list(box.take(tick(10))) == []


def test_what_was_read_before_is_ignored() -> None:
    box = Inbox(("raw",), (), {"raw": 5})
    box.receive(record("raw", 4))
    box.receive(record("raw", 5))
    box.receive(record("raw", 5))
    assert [taken.offset for taken in box.take(tick(1, raw=9))] == [5]


def test_a_waiting_record_is_still_needed() -> None:
    box = inbox()
    box.receive(record("raw", 0))
    box.receive(record("raw", 1))
    list(box.take(tick(1, raw=1)))
    assert box.safe() == {"raw": 1, "derived": 0}


def test_a_message_that_waits_for_its_second_holds_its_topic_back() -> None:
    ledger = OffsetLedger(("raw",), {})
    for offset in range(5):
        ledger.read("raw", offset)
    ledger.hold("raw", 1, t_us=9_500_000)
    ledger.hold("raw", 3, t_us=4_000_000)
    assert ledger.safe("raw") == 1
    ledger.release(until_us=4_000_000)
    assert ledger.safe("raw") == 1
    ledger.release(until_us=10_000_000)
    assert ledger.safe("raw") == 5


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=30), st.integers(0, 21))
def test_offsets_move_in_prefixes_only(messages: list[tuple[int, bool]], until_s: int) -> None:
    """``safe`` is below every message that waits, and nothing that waits is lost by reading on from there."""
    ledger = OffsetLedger(("raw",), {})
    for offset, (second, waits) in enumerate(messages):
        ledger.read("raw", offset)
        if waits:
            ledger.hold("raw", offset, second * 1_000_000)
    ledger.release(until_s * 1_000_000)
    waiting = [offset for offset, (second, waits) in enumerate(messages) if waits and second > until_s]
    assert ledger.safe("raw") == min(waiting, default=len(messages))


def test_of_stages_that_share_a_topic_the_slowest_decides() -> None:
    shared = SharedOffsets()
    shared.let_go("a", 0, {"raw": 5, "ticks": 7})
    shared.let_go("b", 0, {"raw": 3})
    assert shared.take() == {("raw", 0): 3, ("ticks", 0): 7}
    assert shared.take() == {}
    shared.let_go("b", 0, {"raw": 9})
    assert shared.take() == {("raw", 0): 5}
    shared.put_back([("raw", 0), ("gone", 1)])
    assert shared.take() == {("raw", 0): 5}
    shared.forget()
    shared.put_back([("raw", 0)])
    assert shared.take() == {}
