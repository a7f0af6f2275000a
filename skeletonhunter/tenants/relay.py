"""How do a tenant's agents reach the pipeline without reaching each other? One relay per tenant copies what may pass.

Agents of tenant T read and write ``tenant.T.<topic>``, and the broker lets them do nothing else. The relay copies up
what ``Ownership`` lets pass; what it refuses becomes a dead letter of the pipeline's topic. Down it copies maps, plans
and skeletons of T's jobs. At least once: offsets move when the copies are in Kafka; copies of copies are known by their
sequence numbers. Order per key is kept (one idempotent producer each way, the same partitioner).

An arrival is stamped anew on the way up, so a tenant can't forge it. Maps are read from their beginning at start,
before anything else, and again before each batch; so the relay knows a job before the job's agents can.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from msgspec import structs

from schemas.codec import BadRecord, decode
from schemas.envelope import Message as Envelope
from schemas.maps import EndpointMap
from skeletonhunter.settings import KafkaSettings, Settings
from skeletonhunter.sinks.dead_letters import DeadLetters
from skeletonhunter.sinks.kafka_source import KafkaSource, Reading
from skeletonhunter.tenants.ownership import DOWN, UP, Ownership, prefix_of
from streams.answers import log_bounds
from streams.records import Record, arrival_headers
from streams.topic_admin import TopicAdmin, TopicPlan, plan_topics

_log = logging.getLogger(__name__)

MAPS = "endpoint-map"
BATCH, WAIT_S = 1000, 0.2
BEHIND_S = 10.0
MAP_PATIENCE_S = 5.0
"""A record whose job has no map by then is nobody's, and is not copied."""


@dataclass(slots=True)
class RelayCounts:
    """What a relay has done."""

    up: int = 0
    down: int = 0
    refused: int = 0


def tenant_settings(settings: KafkaSettings, tenant: str) -> KafkaSettings:
    """The settings under which a tenant's own topics are reached.

    Raises:
        TenantError: the name can't be a tenant's.
    """
    return structs.replace(settings, prefix=settings.prefix + prefix_of(tenant))


def tenant_plans(max_message_bytes: int) -> list[TopicPlan]:
    """The topics that each tenant has."""
    return [plan for plan in plan_topics(max_message_bytes) if plan.name in (*UP, *DOWN)]


class MapReader:
    """Reads the endpoint maps of the pipeline, from their beginning."""

    def __init__(self, settings: KafkaSettings, tenant: str) -> None:
        self.settings = settings
        self.ownership = Ownership(tenant)
        config: dict[str, str | int | float | bool] = {"bootstrap.servers": settings.url}
        group = {"group.id": f"{settings.prefix}relay-{tenant}", "enable.auto.commit": False}
        self._consumer = Consumer({**config, **settings.librdkafka, **group}, logger=_log)
        self._is_assigned = False

    def begin(self, stop: threading.Event) -> None:
        """Reads all maps that there are.

        Raises:
            TopicError: Kafka does not answer.
            KafkaException: it does not tell what there is.
        """
        admin = TopicAdmin(self.settings.url, self.settings.prefix, self.settings.librdkafka)
        numbers = range(admin.existing().get(MAPS, 0))
        topic = self.settings.prefix + MAPS
        bounds = log_bounds(self._consumer, topic, numbers, BEHIND_S)
        self._consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in numbers])
        missing = {number: end for number, (first, end) in bounds.items() if end > first}
        while missing and not stop.is_set():
            for message in self._consumer.consume(BATCH, WAIT_S):
                self._take(message)
            at = {each.partition: each.offset for each in self._consumer.position(self._consumer.assignment())}
            missing = {number: end for number, end in missing.items() if at.get(number, 0) < end}

    def catch_up(self, timeout_s: float = 0.0) -> None:
        """Reads what is new, and waits for it for up to ``timeout_s``."""
        while messages := self._consumer.consume(BATCH, timeout_s):
            for message in messages:
                self._take(message)

    def close(self) -> None:
        """Ends reading."""
        self._consumer.close()

    def _take(self, message: Message) -> None:
        if message.error() is not None:
            return
        raw, key = message.value(), message.key() or b""
        if raw is None:
            self.ownership.forget(key.decode(errors="replace"))
            return
        try:
            value = decode(MAPS, key, raw, message.timestamp()[1] * 1000, self.settings.max_message_bytes)
        except BadRecord:
            return  # a stage reports it
        if isinstance(value, EndpointMap):
            self.ownership.learn(value)


class Copier:
    """Writes copies; ``settle`` returns when Kafka has them."""

    def __init__(self, settings: KafkaSettings) -> None:
        self.prefix = settings.prefix
        self._failed: list[KafkaError] = []
        config: dict[str, str | int | float | bool] = {"bootstrap.servers": settings.url, "linger.ms": 20}
        essential = {"enable.idempotence": True, "partitioner": "murmur2_random", "message.timeout.ms": 0}
        size = {"message.max.bytes": settings.max_message_bytes}
        self._producer = Producer({**config, **size, **settings.librdkafka, **essential}, logger=_log)

    def copy(self, record: Record, arrival_us: int) -> None:
        """Sends a copy on its way."""
        while True:
            try:
                self._producer.produce(
                    self.prefix + record.topic,
                    record.value,
                    key=record.key,
                    timestamp=arrival_us // 1000,
                    headers=arrival_headers(arrival_us),
                    on_delivery=self._delivered,
                )
                return
            except BufferError:
                self._producer.poll(WAIT_S)

    def settle(self, stop: threading.Event) -> bool:
        """Waits until Kafka has all; False when the program was to end before.

        Raises:
            KafkaException: Kafka refused one.
        """
        while self._producer.flush(WAIT_S):
            if stop.is_set():
                return False
        if self._failed:
            raise KafkaException(self._failed[0])
        return True

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self._failed.append(error)


class Relay:
    """Copies between one tenant's topics and the pipeline's until ``stop``."""

    def __init__(self, settings: Settings, tenant: str, stop: threading.Event) -> None:
        self.settings, self.stop, self.counts = settings, stop, RelayCounts()
        shared, own = settings.kafka, tenant_settings(settings.kafka, tenant)
        self.maps = MapReader(shared, tenant)
        self.down = KafkaSource(shared, f"relay-{tenant}", DOWN)
        self.up = KafkaSource(own, "relay", UP)
        self.to_pipeline, self.to_tenant = Copier(shared), Copier(own)
        self.letters = DeadLetters(shared, settings.worker.dead_letters_per_minute)

    def run(self) -> RelayCounts:
        """Copies.

        Raises:
            TopicError: Kafka does not answer at the start.
            KafkaException: an error that does not pass, such as a missing permission.
            TooManyDeadLettersError: more records than the bound were refused.
        """
        try:
            self.maps.begin(self.stop)
            while not self.stop.is_set():
                self.turn()
        finally:
            for part in (self.maps, self.down, self.up):
                part.close()
        return self.counts

    def turn(self) -> None:
        """One batch in each direction."""
        downward = self.down.read(BATCH, WAIT_S)
        self._await_maps(downward.records)
        mine = [record for record in downward.records if self.maps.ownership.owns(_job(record))]
        for record in mine:
            self.to_tenant.copy(record, record.arrival_us)
        if self.to_tenant.settle(self.stop):
            self.counts.down += len(mine)
            self._commit(self.down, downward)
        upward = self.up.read(BATCH, WAIT_S)
        self.maps.catch_up()
        self._lift(upward.records)
        if self.to_pipeline.settle(self.stop) and self.letters.flush(self.stop):
            self._commit(self.up, upward)

    def _await_maps(self, records: Iterable[Record]) -> None:
        """Reads maps until it is known whose the records' jobs are: maps come by another way, and may be behind."""
        self.maps.catch_up()
        ends_s = time.monotonic() + MAP_PATIENCE_S
        while not all(self.maps.ownership.knows(_job(each)) for each in records) and time.monotonic() < ends_s:
            self.maps.catch_up(WAIT_S)

    def _lift(self, records: Iterable[Record]) -> None:
        for record in records:
            arrival_us = time.time_ns() // 1000
            try:
                self._check(record, arrival_us)
            except BadRecord as error:
                self.counts.refused += 1
                self.letters.write(record._replace(arrival_us=arrival_us), error)
                continue
            self.counts.up += 1
            self.to_pipeline.copy(record, arrival_us)

    def _check(self, record: Record, arrival_us: int) -> None:
        limits = self.settings.parameters.limits
        most = self.settings.kafka.max_message_bytes
        value = decode(record.topic, record.key, record.value, arrival_us, most, limits)
        if not isinstance(value, Envelope):
            raise BadRecord("invalid_value", f"{record.topic}: expected a message with an envelope")
        self.maps.ownership.check(record.topic, value)

    def _commit(self, source: KafkaSource, reading: Reading) -> None:
        if reading.positions:
            source.commit(reading.positions)


def _job(record: Record) -> str:
    return (record.key or b"").decode(errors="replace")
