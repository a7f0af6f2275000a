"""What do the maps and plans on Kafka say about this host? Read from ``endpoint-map`` and ``probe-plans``.

No consumer group: both topics are compacted, so each agent reads them from their beginning at start and then what is
new. A map that does not name this host is not even parsed. Plans are taken of jobs that live here only; when a job
appears the plans are read again from the beginning, because its plan may have passed by unread. Both calls may wait
for Kafka and belong in the slow lane. Cost at rest: one empty fetch in ``fetch_wait_ms``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

from collectors.kafka_producer import Config
from collectors.librdkafka import load
from schemas.codec import BadRecord, decode
from schemas.envelope import Value
from schemas.maps import EndpointMap
from schemas.probing import ProbePlan

log = logging.getLogger(__name__)

MAPS, PLANS = "endpoint-map", "probe-plans"
METADATA_S = 2.0
AT_A_TIME = 200
OFFSET_BEGINNING = -2


def consumer_config(brokers: str, fetch_wait_ms: int, librdkafka: Config) -> dict[str, Any]:
    """What librdkafka is told; its buffers are kept small."""
    return {
        "queued.max.messages.kbytes": 2048,
        "queued.min.messages": 100,
        "fetch.wait.max.ms": fetch_wait_ms,
        "fetch.queue.backoff.ms": 100,
        "reconnect.backoff.max.ms": 2000,
        "statistics.interval.ms": 0,
        **librdkafka,
        "bootstrap.servers": brokers,
        "group.id": "skeletonhunter-agent",  # never joined, but asked for
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
    }


class Follower:
    """Maps and plans of one host. ``read`` and ``begin_again`` are called from one thread."""

    def __init__(self, host: str, prefix: str, config: dict[str, Any]) -> None:
        self.prefix = prefix
        self._kafka = load()
        self._needle = f'"{host}"'.encode()
        self._config = config
        self._consumer: Any = None
        self._bad = 0

    def read(self, jobs: frozenset[str]) -> list[EndpointMap | ProbePlan]:
        """What is new: maps that name this host or one of ``jobs``, and plans of ``jobs``.

        Raises:
            OSError: Kafka does not answer, or the topics are not there.
        """
        if self._consumer is None:
            self._consumer = self._begin()
        messages = self._consumer.consume(num_messages=AT_A_TIME, timeout=0)
        return list(self._understood(messages, jobs))

    def read_plans_again(self) -> None:
        """The plans will come again from the beginning of their topic."""
        if self._consumer is not None:
            plans = [spot for spot in self._consumer.assignment() if spot.topic == self.prefix + PLANS]
            self._consumer.incremental_unassign(plans)
            fresh = [self._kafka.TopicPartition(spot.topic, spot.partition, OFFSET_BEGINNING) for spot in plans]
            self._consumer.incremental_assign(fresh)

    def close(self) -> None:
        """Lets go of Kafka."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _begin(self) -> Any:
        consumer = self._kafka.Consumer(self._config, logger=_QUIET)
        try:
            spots = [spot for topic in (MAPS, PLANS) for spot in self._partitions(consumer, self.prefix + topic)]
        except (self._kafka.KafkaException, OSError) as error:
            consumer.close()
            raise OSError(f"maps and plans can't be read from Kafka: {error}") from error
        consumer.incremental_assign(spots)
        return consumer

    def _partitions(self, consumer: Any, topic: str) -> Iterator[Any]:
        about = consumer.list_topics(topic, timeout=METADATA_S).topics[topic]
        if about.error is not None or not about.partitions:
            raise OSError(f"topic {topic} is not there")
        for number in sorted(about.partitions):
            yield self._kafka.TopicPartition(topic, number, OFFSET_BEGINNING)

    def _understood(self, messages: list[Any], jobs: frozenset[str]) -> Iterator[EndpointMap | ProbePlan]:
        for message in messages:
            raw, key = message.value(), message.key()
            if message.error() is not None or raw is None or key is None:
                continue
            topic = message.topic().removeprefix(self.prefix)
            if key.decode(errors="replace") not in jobs and (topic == PLANS or self._needle not in raw):
                continue
            value = self._value(topic, key, raw)
            if isinstance(value, EndpointMap | ProbePlan):
                yield value

    def _value(self, topic: str, key: bytes, raw: bytes) -> Value | None:
        try:
            return decode(topic, key, raw, time.time_ns() // 1000)
        except BadRecord as error:
            self._bad += 1
            if self._bad == 1:
                log.warning("a record is left out, and others like it: %s", error)
            return None


_QUIET = logging.getLogger(f"{__name__}.librdkafka")
_QUIET.setLevel(logging.CRITICAL)
