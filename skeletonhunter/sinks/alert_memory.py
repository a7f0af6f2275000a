"""What does an alert sender know when it starts? All it knew, from Kafka: pages, incidents, and whose the jobs are.

Nothing is kept on a disk. Three compacted topics are read from their beginning: ``alert-deliveries`` (what was told),
``incidents`` (what pages speak of), ``endpoint-map`` (tenants of jobs); the last one is followed from then on.
"""

from __future__ import annotations

import logging
import threading

import msgspec
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition

from schemas.alerting import AlertDelivery
from schemas.codec import BadRecord, decode
from schemas.diagnosis import Incident
from schemas.envelope import Value
from skeletonhunter.alerting.telling import Teller
from skeletonhunter.replaying.kafka_outcome import read_all
from skeletonhunter.settings import KafkaSettings
from skeletonhunter.sinks.alert_log import DELIVERIES
from streams.records import arrival_of
from streams.topic_admin import TopicAdmin, TopicError

_log = logging.getLogger(__name__)

MAPS, INCIDENTS = "endpoint-map", "incidents"
AGAIN_S = 2.0
BATCH = 100


class MissingTopicError(RuntimeError):
    """A topic that is needed does not exist."""


def remember(teller: Teller, settings: KafkaSettings, stop: threading.Event) -> None:
    """Lets the teller go on where it, or one before it, left off; waits while Kafka is away.

    Raises:
        MissingTopicError: a topic does not exist.
    """
    while not stop.is_set():
        try:
            _read(teller, with_actual_partitions(settings))
            return
        except (KafkaException, TopicError) as error:
            _log.warning("what was told before can't be read yet: %s", error)
            stop.wait(AGAIN_S)


def with_actual_partitions(settings: KafkaSettings) -> KafkaSettings:
    """The settings with the number of partitions that the topics have.

    Raises:
        MissingTopicError: a topic does not exist.
        TopicError: Kafka does not answer.
    """
    existing = TopicAdmin(settings.url, settings.prefix, settings.librdkafka).existing()
    for topic in (MAPS, INCIDENTS, DELIVERIES):
        if topic not in existing:
            raise MissingTopicError(
                f"Kafka at {settings.url} has no topic {settings.prefix}{topic}, expected it by: skeletonhunter topics"
            )
    return msgspec.structs.replace(settings, partitions=existing[MAPS])


def _read(teller: Teller, settings: KafkaSettings) -> None:
    deliveries: list[AlertDelivery] = []
    incidents: dict[str, Incident] = {}
    for message in read_all(settings, [MAPS, INCIDENTS, DELIVERIES]):
        value = _value(settings, message)
        if isinstance(value, AlertDelivery):
            deliveries.append(value)
        elif isinstance(value, Incident):
            incidents[value.incident] = value
        elif value is not None:
            teller.tenants.observe(value)
    for incident in incidents.values():
        teller.note(incident)
    teller.book.restore(deliveries, incidents.values())


class MapFollower:
    """Follows endpoint maps, for whose the jobs are; from the beginning, so that none slips through at the start."""

    def __init__(self, settings: KafkaSettings) -> None:
        self.settings = settings
        config = {"bootstrap.servers": settings.url, "group.id": f"{settings.prefix}alert-maps"}
        self._consumer = Consumer({**config, "enable.auto.commit": False, **settings.librdkafka}, logger=_log)
        self._is_assigned = False

    def catch_up(self, teller: Teller) -> None:
        """Takes in what has come; while Kafka is away nothing does."""
        if not self._is_assigned:
            try:
                numbers = range(with_actual_partitions(self.settings).partitions)
            except TopicError as error:
                _log.warning("endpoint maps can't be read yet: %s", error)
                return
            topic = self.settings.prefix + MAPS
            self._consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in numbers])
            self._is_assigned = True
        for message in self._consumer.consume(BATCH, 0.0):
            if message.error() is None and (value := _value(self.settings, message)) is not None:
                teller.tenants.observe(value)

    def close(self) -> None:
        """Ends reading."""
        self._consumer.close()


def _value(settings: KafkaSettings, message: Message) -> Value | None:
    topic = (message.topic() or "").removeprefix(settings.prefix)
    raw, arrival_us = message.value(), arrival_of(message.headers(), message.timestamp()[1])
    if raw is None:
        return None
    try:
        return decode(topic, message.key(), raw, arrival_us, settings.max_message_bytes)
    except BadRecord:
        return None  # the sink reports it
