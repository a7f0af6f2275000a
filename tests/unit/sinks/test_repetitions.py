"""What Kafka's clients say again and again while Kafka is away; librdkafka is heard itself."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from skeletonhunter.sinks.repetitions import EVERY_S, Repetitions


class Heard(logging.Handler):
    """Keeps the lines that its filters let pass."""

    def __init__(self, *filters: logging.Filter) -> None:
        super().__init__()
        self.lines: list[str] = []
        for each in filters:
            self.addFilter(each)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    logger = logging.getLogger("tests.repetitions")
    logger.propagate = False
    yield logger
    logger.handlers.clear()


def test_refused_connections_are_said_once_and_then_counted(log: logging.Logger) -> None:
    clock_s = 1000.0
    everything, few = Heard(), Heard(Repetitions(lambda: clock_s))
    log.addHandler(few)
    log.addHandler(everything)
    producer = Producer({"bootstrap.servers": "127.0.0.1:1,127.0.0.1:2"}, logger=log)
    ends_s = time.monotonic() + 20.0
    while len(everything.lines) < 6 and time.monotonic() < ends_s:
        producer.poll(0.1)
    refused = [line for line in few.lines if "refused" in line]
    assert len(refused) == 1, few.lines
    before = sum("refused" in line for line in everything.lines)
    clock_s += EVERY_S
    while len([line for line in few.lines if "refused" in line]) == 1 and time.monotonic() < ends_s + 20.0:
        producer.poll(0.1)
    again = [line for line in few.lines if "refused" in line][1]
    assert again.endswith(f"({before - 1} more like it in between)")


def test_lines_of_aiokafka_are_said_once_for_each_kind() -> None:
    few = Heard(Repetitions(lambda: 0.0))
    fetcher = logging.getLogger("aiokafka.consumer.fetcher")
    fetcher.addHandler(few)
    for node in range(5):
        fetcher.error("Failed fetch messages from %s: %s", node, "NodeNotReadyError")
        fetcher.warning("Heartbeat failed")
    fetcher.removeHandler(few)
    assert few.lines == ["Failed fetch messages from 0: NodeNotReadyError", "Heartbeat failed"]


def test_other_lines_are_never_left_out(log: logging.Logger) -> None:
    few = Heard(Repetitions())
    log.addHandler(few)
    for number in range(3):
        log.error("%s %s", "the database is away", number)
    assert len(few.lines) == 3
