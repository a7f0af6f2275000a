"""What do maps, plans, anomalies and requests on Kafka say about this host? Read as far as they matter here.

No consumer group: maps and plans are compacted, so each agent reads them from their beginning at start and then what is
new. A map that does not name this host is not even parsed. Plans are taken of jobs that live here only; when a job
appears the plans are read again from the beginning, because its plan may have passed by unread. The fabric's map is
read only if somebody wants it, and so are anomalies and requests for evidence, from now on.

Nothing here waits, and nobody is asked how many partitions there are: librdkafka leaves alone those that do not exist
(and
asking would load the 15 MB of Python that ``librdkafka`` avoids). Cost at rest: one empty fetch in ``fetch_wait_ms``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from collectors.kafka_producer import Config
from collectors.librdkafka import load
from collectors.residents import Residents
from schemas.codec import BadRecord, decode
from schemas.envelope import Value

log = logging.getLogger(__name__)

MAPS, PLANS, FABRIC, ANOMALIES = "endpoint-map", "probe-plans", "fabric-map", "anomalies"
REQUESTS = "evidence-requests"
FROM_NOW_ON = frozenset([ANOMALIES, REQUESTS])
MOST_PARTITIONS = 64
AT_A_TIME = 200
OFFSET_BEGINNING, OFFSET_END = -2, -1


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


class Interests(Struct, frozen=True, kw_only=True):
    """What matters to this agent; ``residents`` knows the jobs that live on its host."""

    residents: Residents
    fabric: str
    topics: tuple[str, ...] = (MAPS, PLANS)

    def covers(self, topic: str, key: str, raw: bytes) -> bool:
        """Whether a record is worth parsing."""
        if topic in (FABRIC, ANOMALIES):
            return key == self.fabric
        if key in self.residents.jobs():
            return True
        is_named = f'"{self.residents.host}"'.encode() in raw
        return is_named and (topic == MAPS or (topic == REQUESTS and key == self.fabric))


class Follower:
    """Reads what matters to one agent."""

    def __init__(self, interests: Interests, prefix: str, config: dict[str, Any]) -> None:
        self.interests = interests
        self.prefix = prefix
        self._kafka = load()
        self._config = config
        self._consumer: Any = None
        self._bad = 0
        self._denied: set[str] = set()

    def read(self) -> Iterator[Value]:
        """What is new."""
        if self._consumer is None:
            self._consumer = self._kafka.Consumer(self._config, logger=_QUIET)
            self._consumer.incremental_assign([spot for topic in self.interests.topics for spot in self._spots(topic)])
        for message in self._consumer.consume(num_messages=AT_A_TIME, timeout=0):
            value = self._understood(message)
            if value is not None:
                yield value

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
        offset = OFFSET_END if topic in FROM_NOW_ON else OFFSET_BEGINNING
        return [spot(self.prefix + topic, number, offset) for number in range(MOST_PARTITIONS)]

    def _understood(self, message: Any) -> Value | None:
        topic, raw, key = (message.topic() or "").removeprefix(self.prefix), message.value(), message.key()
        if message.error() is not None:
            self._complain(topic, message.error())
            return None
        if raw is None or key is None:
            return None
        key = key.decode(errors="replace")
        if not self.interests.covers(topic, key, raw):
            return None
        try:
            return decode(topic, key, raw, time.time_ns() // 1000)
        except BadRecord as error:
            self._bad += 1
            if self._bad == 1:
                log.warning("a record is left out, and others like it: %s", error)
            return None

    def _complain(self, topic: str, error: Any) -> None:
        """Says once that a topic is denied; other errors pass, or are of partitions that there are not."""
        if error.code() == self._kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED and topic not in self._denied:
            self._denied.add(topic)
            log.warning("%s can't be read, the agent goes on without it: %s", topic, error.str())


_QUIET = logging.getLogger(f"{__name__}.librdkafka")
_QUIET.setLevel(logging.CRITICAL)
