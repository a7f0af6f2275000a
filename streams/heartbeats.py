"""How far have the agents come? Reads their heartbeats, from some time before a gap on, as long as time waits."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import msgspec
from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, Message, TopicPartition

from streams.answers import ask, passes
from streams.settling import Beat
from streams.setup import WorkerSetup

log = logging.getLogger(__name__)

TOPIC = "agent-health"
PATIENCE_S = 10.0
LOOK_S = 1.0
AT_ONCE = 1000


class Heartbeats:
    """Heartbeats of all partitions that were made since ``from_us`` or so.

    Raises (all methods):
        KafkaException: they can't be read.
    """

    def __init__(self, setup: WorkerSetup, from_us: int) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": ",".join(setup.brokers),
                "fetch.wait.max.ms": setup.fetch_wait_ms,
                "queued.max.messages.kbytes": 16384,
                **setup.librdkafka,
                "group.id": f"{setup.group}-heartbeats",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
            },
            logger=log,
        )
        topic = setup.prefix + TOPIC
        asked = [TopicPartition(topic, number, from_us // 1000) for number in range(setup.partitions)]
        try:
            found = ask(lambda left_s: _all_told(self._consumer.offsets_for_times(asked, timeout=left_s)), PATIENCE_S)
            for spot in found:
                if spot.offset < 0:
                    spot.offset = OFFSET_END
            self._consumer.assign(found)
        except KafkaException:
            self._consumer.close()
            raise
        self.has_all = False
        """Whether the last ``read`` came to the end of each partition."""
        self._partitions = setup.partitions
        self._at_end: set[int] = set()

    def read(self) -> Iterator[Beat]:
        """What has come, until that is all or ``LOOK_S`` are over."""
        ends_s = time.monotonic() + LOOK_S
        reached = set(self._at_end)
        self.has_all = False
        while time.monotonic() < ends_s and not self.has_all:
            for message in self._consumer.consume(AT_ONCE, timeout=0.1):
                yield from self._beats_in(message)
                reached |= self._at_end
            self.has_all = len(reached) == self._partitions

    def close(self) -> None:
        """Reads no more."""
        self._consumer.close()

    def _beats_in(self, message: Message) -> Iterator[Beat]:
        error, partition = message.error(), message.partition()
        if error is None:
            self._at_end.discard(partition or 0)
            try:
                yield msgspec.json.decode(message.value() or b"", type=Beat)
            except msgspec.MsgspecError:  # a dead letter; the stage that reads it says so
                return
        elif error.code() == KafkaError._PARTITION_EOF:
            self._at_end.add(partition or 0)
        elif not passes(error):
            raise KafkaException(error)


def _all_told(spots: list[TopicPartition]) -> list[TopicPartition]:
    for spot in spots:
        if spot.error is not None:
            raise KafkaException(spot.error)
    return spots
