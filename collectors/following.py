"""What do the maps and plans on Kafka say about this host? Read from ``endpoint-map`` and ``probe-plans``.

No consumer group: both topics are compacted, so each agent reads them from their beginning at start and then what is
new. A map that does not name this host is not even parsed. Plans are taken of jobs that live here only; when a job
appears the plans are read again from the beginning, because its plan may have passed by unread.

Nothing here waits, and nobody is asked how many partitions there are: librdkafka leaves alone those that do not exist
(and
asking would load the 15 MB of Python that ``librdkafka`` avoids). Cost at rest: one empty fetch in ``fetch_wait_ms``.
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
MOST_PARTITIONS = 64
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
        "topic.metadata.refresh.interval.ms": 30_000,
        "statistics.interval.ms": 0,
        **librdkafka,
        "bootstrap.servers": brokers,
        "group.id": "skeletonhunter-agent",  # never joined, but asked for
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
    }


class Follower:
    """Maps and plans of one host."""

    def __init__(self, host: str, prefix: str, config: dict[str, Any]) -> None:
        self.prefix = prefix
        self._kafka = load()
        self._needle = f'"{host}"'.encode()
        self._config = config
        self._consumer: Any = None
        self._bad = 0

    def read(self, jobs: frozenset[str]) -> list[EndpointMap | ProbePlan]:
        """What is new: maps that name this host or are of one of ``jobs``, and plans of ``jobs``."""
        if self._consumer is None:
            self._consumer = self._kafka.Consumer(self._config, logger=_QUIET)
            self._consumer.incremental_assign([*self._spots(MAPS), *self._spots(PLANS)])
        messages = self._consumer.consume(num_messages=AT_A_TIME, timeout=0)
        return list(self._understood(messages, jobs))

    def read_plans_again(self) -> None:
        """The plans will come again from the beginning of their topic."""
        if self._consumer is not None:
            plans = self._spots(PLANS)
            self._consumer.incremental_unassign(plans)
            self._consumer.incremental_assign(plans)

    def close(self) -> None:
        """Lets go of Kafka."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _spots(self, topic: str) -> list[Any]:
        spot = self._kafka.TopicPartition
        return [spot(self.prefix + topic, number, OFFSET_BEGINNING) for number in range(MOST_PARTITIONS)]

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
