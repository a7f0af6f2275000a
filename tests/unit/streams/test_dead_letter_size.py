"""A bad record of the greatest size does not stop a worker: its letter is small enough to be sent, and says so."""

from __future__ import annotations

import msgspec
import pytest

from schemas.codec import BadRecord
from schemas.control import DeadLetter
from streams.dead_letters import LETTER_ROOM, dead_letter, short_key
from streams.records import Record

MOST = 1_000_000
ERROR = BadRecord("malformed_json", "rnic-counters: not JSON")


def record(value: bytes, key: bytes | None = b"job") -> Record:
    return Record("rnic-counters", 0, 7, key, value, 5)


def letter_of(of: Record) -> DeadLetter:
    raw = dead_letter(of, ERROR, MOST - LETTER_ROOM)
    assert len(raw) + len(short_key(of) or b"") + 500 <= MOST
    return msgspec.json.decode(raw, type=DeadLetter)


@pytest.mark.parametrize("size", [MOST, MOST - LETTER_ROOM, MOST * 3 // 4])
def test_a_large_record_stays_in_kafka_and_its_letter_says_where(size: int) -> None:
    letter = letter_of(record(b"x" * size))
    assert (letter.reason, letter.offset, letter.value_base64) == ("malformed_json", 7, "")
    assert letter.detail == f"rnic-counters: not JSON; its {size} bytes are too large for a letter, they stay in Kafka"


def test_a_small_record_is_in_its_letter() -> None:
    assert letter_of(record(b"xyz")).value_base64 == "eHl6"


@pytest.mark.parametrize("key", [b"\xff" * MOST, b"k" * MOST])
def test_a_key_of_the_greatest_size_is_cut(key: bytes) -> None:
    assert letter_of(record(b"x", key)).key is not None
