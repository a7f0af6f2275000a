"""When was an incident? Asked of the topic ``incidents`` of live Kafka, to cut a recording around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from confluent_kafka import Consumer, KafkaException, TopicPartition

from schemas.codec import BadRecord, decode
from schemas.diagnosis import Incident
from skeletonhunter.recordings.manifest import RecordingError
from skeletonhunter.settings import KafkaSettings
from streams.answers import log_bounds
from streams.records import arrival_of

ANSWER_S = 10.0
QUIET_S = 1.0
SLICE_S = 0.25
TOPIC = "incidents"


@dataclass(frozen=True)
class Around:
    """An incident, seconds before its onset and after its end."""

    incident: str
    lead_s: float
    tail_s: float


def span_of(settings: KafkaSettings, around: Around) -> tuple[int, int | None]:
    """First and last arrival (us) to record; the last is None while the incident is open.

    Raises:
        RecordingError: Kafka does not answer, or there is no such incident.
    """
    try:
        found = _newest(settings, around.incident)
    except KafkaException as error:
        raise RecordingError(f"Kafka at {settings.url} fails: {error.args[0].str()}") from error
    if found is None:
        raise RecordingError(f"Kafka at {settings.url}: topic {settings.prefix}{TOPIC} tells no {around.incident!r}")
    begin_us = max(0, found.onset_us - round(around.lead_s * 1e6))
    if found.resolved_us is None:
        return begin_us, None
    return begin_us, max(found.resolved_us, found.t_us) + round(around.tail_s * 1e6)


def _newest(settings: KafkaSettings, name: str) -> Incident | None:
    config: dict[str, Any] = {"bootstrap.servers": settings.url, "log_level": 0, **settings.librdkafka}
    config |= {"group.id": f"{settings.prefix}record", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    consumer = Consumer(config)
    found: Incident | None = None
    try:
        silent_s, spots = 0.0, _spots(consumer, settings.prefix + TOPIC)
        consumer.assign([TopicPartition(settings.prefix + TOPIC, part, low) for part, low in spots.items()])
        while spots and silent_s < QUIET_S:
            batch = consumer.consume(500, SLICE_S)
            silent_s = 0.0 if batch else silent_s + SLICE_S
            for message in batch:
                if message.error() is None and message.key() in (name, name.encode()) and message.value() is not None:
                    told = _incident(message.value() or b"", name, message)
                    found = told if told and (found is None or told.t_us >= found.t_us) else found
    finally:
        consumer.close()
    return found


def _spots(consumer: Consumer, topic: str) -> dict[int, int]:
    known = consumer.list_topics(timeout=ANSWER_S).topics
    parts = known[topic].partitions if topic in known else ()
    bounds = log_bounds(consumer, topic, parts, ANSWER_S)
    return {part: low for part, (low, high) in bounds.items() if low < high}


def _incident(raw: bytes, name: str, message: Any) -> Incident | None:
    try:
        value = decode(TOPIC, name, raw, arrival_of(message.headers(), message.timestamp()[1]))
    except (BadRecord, msgspec.MsgspecError):
        return None
    return value if isinstance(value, Incident) else None
