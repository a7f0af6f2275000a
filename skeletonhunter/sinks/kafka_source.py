"""How do sinks read Kafka? Records of a consumer group whose offsets move only when a sink says that it is done.

A sink that has to wait (ClickHouse or a webhook is away) holds: its partitions are paused and polling goes on, so it
stays in the group however long it takes. When partitions are taken away, what was read of them and not committed will
be read by whoever gets them; ``on_lost`` tells the sink to forget it. Assignment is eager: all are lost, then new ones
come, and reading goes on from the committed offsets.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from skeletonhunter.settings import KafkaSettings
from streams.answers import passes
from streams.records import Record, arrival_of

_log = logging.getLogger(__name__)

HOLD_SLICE_S = 0.1
PAY_AGAIN_S = 2.0

Place = tuple[str, int]
"""(topic without prefix, partition)"""

Positions = Mapping[Place, int]
"""The next offset to read, by place."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Records, without tombstones, and how far reading has come with them and the tombstones among them."""

    records: list[Record] = field(default_factory=list)
    positions: dict[Place, int] = field(default_factory=dict)


def group_config(settings: KafkaSettings, group: str) -> dict[str, str | int | float | bool]:
    """Settings of a consumer of ours; what the operator gives librdkafka goes before."""
    return {
        "bootstrap.servers": settings.url,
        "group.id": settings.prefix + group,
        "auto.offset.reset": "earliest",
        "partition.assignment.strategy": "range",
        "session.timeout.ms": round(settings.session_s * 1000),
        "heartbeat.interval.ms": round(settings.session_s * 1000 / 6),
        "fetch.wait.max.ms": settings.fetch_wait_ms,
        "topic.metadata.refresh.interval.ms": 10_000,
        **settings.librdkafka,
        "enable.auto.commit": False,
    }


class KafkaSource:
    """A member of ``group`` that reads ``topics``. Close it when done."""

    def __init__(self, settings: KafkaSettings, group: str, topics: Sequence[str]) -> None:
        self.prefix = settings.prefix
        self.on_lost: Callable[[], None] = lambda: None
        self.on_read: Callable[[Reading], None] = lambda _: None
        self._owed: dict[Place, int] = {}
        self._pay_again_s = 0.0
        self._consumer = Consumer(group_config(settings, group), logger=_log)
        names = [self.prefix + topic for topic in topics]
        self._consumer.subscribe(names, on_revoke=self._lose, on_lost=self._lose)

    def read(self, most: int, timeout_s: float) -> Reading:
        """Up to ``most`` records, as many as come within ``timeout_s``.

        Raises:
            KafkaException: an error that does not pass by itself.
        """
        if self._owed and time.monotonic() >= self._pay_again_s:
            self._pay()
        messages = self._consumer.consume(num_messages=most, timeout=timeout_s)
        reading = Reading()
        for message in messages:
            if _is_record(message):
                self._take(message, reading)
        self.on_read(reading)
        return reading

    def hold(self, wait: Callable[[float], bool], timeout_s: float = float("inf")) -> None:
        """Waits, as a member of the group that reads nothing, for ``timeout_s`` or till ``wait`` says that it is over.

        ``wait(seconds)`` waits for that long at most, and is true when what it waits for has happened.
        """
        ends_s = time.monotonic() + timeout_s
        while (left_s := ends_s - time.monotonic()) > 0 and not wait(min(left_s, HOLD_SLICE_S)):
            self._consumer.pause(self._consumer.assignment())
            self._put_back(self._consumer.poll(0))
        self._consumer.resume(self._consumer.assignment())

    def commit(self, positions: Positions) -> None:
        """Moves the offsets of the group; while Kafka is away, ``read`` tries again. What is lost comes again."""
        self._owed.update(positions)
        self._pay()

    def _pay(self) -> None:
        offsets = [TopicPartition(self.prefix + topic, part, offset) for (topic, part), offset in self._owed.items()]
        if not offsets:
            return
        try:
            self._consumer.commit(offsets=offsets, asynchronous=False)
            self._owed.clear()
        except KafkaException as error:
            self._pay_again_s = time.monotonic() + PAY_AGAIN_S
            _log.warning("offsets were not committed yet: %s", error.args[0].str())

    def close(self) -> None:
        """Leaves the group."""
        self._consumer.close()

    def _take(self, message: Message, reading: Reading) -> None:
        topic = (message.topic() or "").removeprefix(self.prefix)
        partition, offset, value = message.partition() or 0, message.offset() or 0, message.value()
        reading.positions[topic, partition] = offset + 1
        if value is not None:
            arrival_us = arrival_of(message.headers(), message.timestamp()[1])
            reading.records.append(Record(topic, partition, offset, message.key(), value, arrival_us))

    def _put_back(self, message: Message | None) -> None:
        """A record that came while partitions were being assigned, before they could be paused, is read again later."""
        if message is not None and _is_record(message):
            self._consumer.seek(TopicPartition(message.topic(), message.partition(), message.offset()))

    def _lose(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        self._owed.clear()
        self.on_lost()


def wait_in(source: KafkaSource, stop: threading.Event) -> Callable[[float], None]:
    """A wait that keeps ``source`` in its group and raises ``Stopped`` when the program is to end."""

    def wait(seconds: float) -> None:
        source.hold(stop.wait, seconds)
        if stop.is_set():
            raise Stopped

    return wait


class Stopped(Exception):
    """The program is to end; what is under way is left undone and its offset stays."""


def _is_record(message: Message) -> bool:
    error = message.error()
    if error is None:
        return True
    slept = error.code() == KafkaError._MAX_POLL_EXCEEDED  # or the wait was long; reading joins again
    if slept or passes(error):
        _log.warning("%s", error.str())
        return False
    raise KafkaException(error)
