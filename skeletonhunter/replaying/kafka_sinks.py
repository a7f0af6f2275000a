"""Have the sinks caught up? They have when their consumer groups have committed the ends of what they read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, TopicPartition

from skeletonhunter.replaying.kafka_services import Program
from skeletonhunter.settings import KafkaSettings
from streams.answers import passes
from streams.offsets import Spot

log = logging.getLogger(__name__)

PAUSE_S = 0.05
TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Sink:
    """A program that reads what the pipeline takes in and sends out; ``groups`` are its consumer groups."""

    program: Program
    groups: tuple[str, ...]
    topics: tuple[str, ...]


def wait_until_read(
    settings: KafkaSettings, sink: Sink, ends: Mapping[Spot, int], meanwhile: Callable[[float], None]
) -> None:
    """Returns when the sink has committed the ends of its topics; ``meanwhile`` is called with seconds to spend.

    Raises:
        KafkaException: the broker does not tell.
    """
    awaited = {spot: end for spot, end in ends.items() if end and spot[0] in sink.topics}
    for group in sink.groups:
        consumer = Consumer(
            {"bootstrap.servers": settings.url, **settings.librdkafka, "group.id": settings.prefix + group}
        )
        try:
            while _behind(consumer, settings.prefix, awaited):
                meanwhile(PAUSE_S)
        finally:
            consumer.close()


def _behind(consumer: Consumer, prefix: str, awaited: Mapping[Spot, int]) -> bool:
    if not awaited:
        return False
    asked = [TopicPartition(prefix + topic, number) for topic, number in awaited]
    try:
        committed = consumer.committed(asked, timeout=TIMEOUT_S)
    except KafkaException as error:
        if passes(error.args[0]):
            log.warning("can't tell how far a sink has come: %s", error)
            return True
        raise
    return any(found.offset < awaited[found.topic.removeprefix(prefix), found.partition] for found in committed)
