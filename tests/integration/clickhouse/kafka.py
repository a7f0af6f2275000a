"""A broker with topics for tests of sinks, on the embedded one or on the one that $SKELETONHUNTER_TEST_KAFKA names."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from skeletonhunter.embedded.broker import SESSION_S, embedded_broker
from skeletonhunter.settings import KafkaSettings
from streams.records import Record, arrival_headers
from streams.topic_admin import TopicAdmin, plan_topics

PATIENCE_S = 60.0
UNSETTLED = (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS)
_numbers = count()


@contextmanager
def broker() -> Iterator[str]:
    """The address of a broker."""
    named = os.environ.get("SKELETONHUNTER_TEST_KAFKA")
    if named:
        yield named
        return
    with embedded_broker() as address:
        yield address


def until(condition: Callable[[], bool], what: str) -> None:
    """Waits until the condition holds; fails when it takes too long."""
    ends_s = time.monotonic() + PATIENCE_S
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < ends_s, f"waited {PATIENCE_S:.0f} s in vain until {what}"
        pause.wait(0.05)


class Bench:
    """Topics of its own on a broker, with what tests want to know of them."""

    def __init__(self, address: str, partitions: int = 2) -> None:
        prefix = f"t{os.getpid()}-{next(_numbers)}-"
        self.settings = KafkaSettings(url=address, prefix=prefix, partitions=partitions, session_s=SESSION_S)
        TopicAdmin(address, self.settings.prefix, {}).ensure(
            plan_topics(self.settings.max_message_bytes, keep_forever=True), partitions, 1
        )
        self._producer = Producer({"bootstrap.servers": address})
        self.ends: dict[tuple[str, int], int] = {}
        """The end of each log that was written to, by the broker's receipts: when a batch holds several records, the
        embedded broker answers the question for the end with that of the batch's first one."""

    def publish(self, records: Iterable[Record], partition: int | None = None) -> None:
        """Writes records, of which topic, key, value and arrival count."""
        place = {} if partition is None else {"partition": partition}
        for record in records:
            self._producer.produce(
                self.settings.prefix + record.topic,
                record.value,
                key=record.key,
                timestamp=record.arrival_us // 1000,
                headers=arrival_headers(record.arrival_us),
                on_delivery=self._delivered,
                **place,
            )
            self._producer.poll(0)
        assert self._producer.flush(30) == 0

    def _delivered(self, error: object, message: Message) -> None:
        assert error is None
        spot = ((message.topic() or "").removeprefix(self.settings.prefix), message.partition() or 0)
        self.ends[spot] = max(self.ends.get(spot, 0), (message.offset() or 0) + 1)

    def committed(self, group: str, topics: Iterable[str]) -> dict[tuple[str, int], int]:
        """The offsets of a group, where it has any. At first a group may have no coordinator yet."""
        prefix, numbers = self.settings.prefix, range(self.settings.partitions)
        consumer = Consumer({"bootstrap.servers": self.settings.url, "group.id": prefix + group})
        spots = [TopicPartition(prefix + topic, number) for topic in topics for number in numbers]
        found: list[TopicPartition] = []

        def is_answered() -> bool:
            try:
                found.extend(consumer.committed(spots, timeout=20))
            except KafkaException as error:
                if error.args[0].code() not in UNSETTLED:
                    raise
                return False
            return True

        until(is_answered, f"the offsets of {group} are told")
        consumer.close()
        return {(spot.topic.removeprefix(prefix), spot.partition): spot.offset for spot in found if spot.offset > 0}

    def read(self, topic: str, number: int) -> list[bytes]:
        """The values of the first ``number`` records of a topic."""
        name = self.settings.prefix + topic
        consumer = Consumer({"bootstrap.servers": self.settings.url, "group.id": f"{name}-reader"})
        consumer.assign([TopicPartition(name, part, 0) for part in range(self.settings.partitions)])
        values: list[bytes] = []

        def has_all() -> bool:
            message = consumer.poll(0.2)
            if message is not None and not message.error():
                values.append(message.value() or b"")
            return len(values) >= number

        until(has_all, f"{topic} has {number} records")
        consumer.close()
        return values
