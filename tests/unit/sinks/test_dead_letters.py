"""A dead letter holds the record whole; too many of them stop the program."""

from __future__ import annotations

from base64 import b64decode

import pytest

from schemas.codec import decode
from schemas.control import DeadLetter
from skeletonhunter.settings import KafkaSettings
from skeletonhunter.sinks.dead_letters import DeadLetters, TooManyDeadLettersError, dead_letter
from skeletonhunter.sinks.kafka_source import Record

RECORD = Record("incidents", 3, 17, b"inc-\xff", b"{\x00\xff", 1_750_000_000_000_000)


def test_the_letter_holds_the_whole_record() -> None:
    letter = dead_letter(RECORD, "malformed_json", "unexpected end")
    assert (letter.topic, letter.partition, letter.offset, letter.reason) == ("incidents", 3, 17, "malformed_json")
    assert b64decode(letter.value_base64) == RECORD.value
    assert letter.key == "inc-\\xff"


def test_the_letter_can_be_read_by_the_codec() -> None:
    import msgspec

    letter = dead_letter(RECORD, "malformed_json", "unexpected end")
    read = decode("incidents-dlq", letter.key, msgspec.json.encode(letter), RECORD.arrival_us)
    assert isinstance(read, DeadLetter)
    assert read == letter


def test_past_the_bound_the_program_stops() -> None:
    letters = DeadLetters(KafkaSettings(url="localhost:1"), per_minute=3)
    letters._send = lambda record, letter: None  # type: ignore[method-assign]
    for _ in range(3):
        letters.write(RECORD, "malformed_json", "unexpected end")
    with pytest.raises(TooManyDeadLettersError, match=r"4 records within a minute .* expected at most 3"):
        letters.write(RECORD, "malformed_json", "unexpected end")
