"""A record that can't be used never ends a sink, however large its key; nor does a Kafka that is away for long."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
import pytest
from confluent_kafka import KafkaError, KafkaException

from schemas.codec import BadRecord
from schemas.control import DeadLetter
from skeletonhunter.settings import KafkaSettings
from skeletonhunter.sinks.dead_letters import DeadLetters
from streams.dead_letters import KEY_BYTES
from streams.records import Record

MOST = 1_000_000
ERROR = BadRecord("wrong_key", "job-progress: the key is not the job")


class SmallProducer:
    """Takes what librdkafka would take, without a broker."""

    def __init__(self, config: dict[str, Any], **_: Any) -> None:
        self.config = config
        self.taken: list[tuple[bytes | None, bytes]] = []

    def produce(self, _topic: str, value: bytes, key: bytes | None = None, **_: Any) -> None:
        if len(value) + len(key or b"") > MOST:
            raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
        self.taken.append((key, value))

    def poll(self, _timeout_s: float) -> int:
        return 0

    def flush(self, _timeout_s: float) -> int:
        return 0


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> DeadLetters:
    monkeypatch.setattr("skeletonhunter.sinks.dead_letters.Producer", SmallProducer)
    return DeadLetters(KafkaSettings(url="nowhere:1"), 100)


def taken(letters: DeadLetters) -> list[tuple[bytes | None, bytes]]:
    producer: Any = letters._made
    found: list[tuple[bytes | None, bytes]] = producer.taken
    return found


@pytest.mark.parametrize("key", [b"k" * (MOST - 500), b"\xff" * (MOST - 500), b"k" * 10_000, b"job", None])
@pytest.mark.parametrize("value", [b"{}", b"x" * 400])
def test_a_key_of_any_size_has_its_letter(letters: DeadLetters, key: bytes | None, value: bytes) -> None:
    letters.write(Record("job-progress", 0, 7, key, value, 5), ERROR)
    [(sent, raw)] = taken(letters)
    assert sent == (None if key is None else key[:KEY_BYTES])
    assert msgspec.json.decode(raw, type=DeadLetter).offset == 7


def test_letters_wait_for_kafka_as_long_as_it_is_away(letters: DeadLetters) -> None:
    letters.write(Record("job-progress", 0, 7, b"job", b"{}", 5), ERROR)
    producer: Any = letters._made
    assert producer.config["message.timeout.ms"] == 0  # librdkafka gives up after five minutes otherwise
    assert letters.flush(threading.Event())
