"""Who hands what to whom, and what becomes of records that can't be used."""

from __future__ import annotations

import msgspec
import pytest

from schemas.codec import BadRecord
from schemas.control import DeadLetter
from streams.dead_letters import DeadLetterRate, TooManyDeadLettersError, dead_letter
from streams.records import Record, arrival_headers, arrival_of
from streams.stages import STAGES, dead_letter_stage
from streams.topology import pipeline

ALL = pipeline(tuple(STAGES), 3)


def test_every_topic_that_a_stage_reads_has_one_post_for_its_dead_letters() -> None:
    for stage in STAGES.values():
        for topic in stage.inputs:
            posts = [name for name in STAGES if topic in ALL.post(name, 0).letters]
            assert posts == [dead_letter_stage(topic)]


def test_a_post_waits_for_each_partition_of_the_stages_before_it() -> None:
    before = tuple(f"{stage}/{partition}" for stage in ("detection", "skeleton") for partition in range(3))
    assert ALL.post("localization", 1).upstream == before
    assert ALL.post("detection", 1).upstream == ()


def test_a_stage_that_runs_nowhere_is_not_waited_for_and_its_topics_come_from_outside() -> None:
    alone = pipeline(("localization",), 2)
    assert alone.post("localization", 0).upstream == ()
    assert alone.post("localization", 0).derived == ()
    assert "anomalies" in alone.raw


def test_ticks_go_to_all_partitions_where_somebody_follows_and_else_stay_but_for_the_final_one() -> None:
    assert list(ALL.post("detection", 1).targets(final=False)) == [0, 1, 2]
    assert list(ALL.post("localization", 1).targets(final=False)) == [1]
    assert list(ALL.post("localization", 1).targets(final=True)) == [0, 1, 2]
    assert set(ALL.last) == {"planner", "localization"}


def test_raw_and_derived_topics_are_all_inputs() -> None:
    for name, stage in STAGES.items():
        post = ALL.post(name, 0)
        assert sorted((*post.raw, *post.derived)) == sorted(stage.inputs)


def test_the_header_says_when_a_record_arrived_and_else_its_time_stamp() -> None:
    assert arrival_of(arrival_headers(1_753_000_000_000_123), 5) == 1_753_000_000_000_123
    assert arrival_of(None, 5) == 5000
    assert arrival_of([("other", b"7"), ("arrival_us", None), ("arrival_us", b"-3")], 5) == 5000
    assert arrival_of([("arrival_us", b"9" * 30)], 5) == 5000


def record(arrival_us: int) -> Record:
    return Record("device-events", 1, 7, b"\xff", b"{", arrival_us)


def test_a_dead_letter_keeps_the_record_whole() -> None:
    letter = msgspec.json.decode(dead_letter(record(9), BadRecord("malformed_json", "why")), type=DeadLetter)
    assert letter == DeadLetter(
        topic="device-events",
        partition=1,
        offset=7,
        key="\\xff",
        reason="malformed_json",
        detail="why",
        arrival_us=9,
        value_base64="ew==",
    )


def test_the_bound_is_per_minute_of_arrival() -> None:
    rate, error = DeadLetterRate(2), BadRecord("malformed_json", "why")
    for minute in range(20):
        rate.count(record(minute * 60_000_000), error)
        rate.count(record(minute * 60_000_000 + 59_999_999), error)
    with pytest.raises(TooManyDeadLettersError, match=r"expected at most 2; the last: device-events, partition 1"):
        rate.count(record(19 * 60_000_000), error)
