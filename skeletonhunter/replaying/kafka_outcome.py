"""What has come out of a replay over Kafka? Incidents and dead letters, read from their topics up to given ends.

Incidents stand in several partitions, by their own keys, and after a crash some stand there twice. They are put back
into the order in which they were said: by tick (their arrival), producer and sequence number; of equal ones one stays.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping

import msgspec
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from schemas.codec import BadRecord, decode
from schemas.control import DeadLetter
from schemas.diagnosis import Incident
from skeletonhunter.settings import KafkaSettings
from streams.answers import passes
from streams.offsets import Spot
from streams.records import arrival_of

log = logging.getLogger(__name__)

WAIT_S = 30.0
SLICE_S = 0.05
BATCH = 2000


def read_updates(settings: KafkaSettings) -> list[Incident]:
    """All states of all incidents, in the order in which they were said.

    Raises:
        KafkaException: the broker does not give what it has.
    """
    said: dict[tuple[int, str, int], Incident] = {}
    for message in read_all(settings, ["incidents"]):
        arrival_us = arrival_of(message.headers(), message.timestamp()[1])
        incident = decode("incidents", message.key(), message.value() or b"", arrival_us)
        assert isinstance(incident, Incident)
        said[arrival_us, incident.producer.id, incident.producer.seq] = incident
    return [said[turn] for turn in sorted(said)]


def read_dead_letters(settings: KafkaSettings, topics: list[str]) -> list[DeadLetter]:
    """Dead letters of ``topics`` in order of topic, partition and offset, each record's once."""
    letters = [
        msgspec.json.decode(message.value() or b"", type=DeadLetter)
        for message in read_all(settings, [f"{topic}-dlq" for topic in topics])
    ]
    unique = {(letter.topic, letter.partition, letter.offset): letter for letter in letters}
    return [unique[place] for place in sorted(unique)]


def refusal_of(letter: DeadLetter) -> BadRecord:
    """The error that made a record a dead letter."""
    return BadRecord(letter.reason, letter.detail)  # type: ignore[arg-type] # ours write reasons only


def read_all(settings: KafkaSettings, topics: list[str]) -> Iterator[Message]:
    """All records of the topics, to where their logs end now; partition by partition in order.

    The end is where the broker says that a partition has no more, not the end of the log: Tansu understates that.

    Raises:
        KafkaException: the broker does not give what it has.
    """
    config = {
        "bootstrap.servers": settings.url,
        "group.id": f"{settings.prefix}replay-outcome",
        "enable.auto.commit": False,
        "fetch.wait.max.ms": settings.fetch_wait_ms,
        "enable.partition.eof": True,
        **settings.librdkafka,
    }
    consumer = Consumer(config, logger=log)
    places = [(settings.prefix + topic, number) for topic in topics for number in range(settings.partitions)]
    try:
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for topic, number in places])
        yield from _until_ends(consumer, set(places))
    finally:
        consumer.close()


def _until_ends(consumer: Consumer, unfinished: set[tuple[str, int]]) -> Iterator[Message]:
    last_s = time.monotonic()
    while unfinished:
        messages = consumer.consume(BATCH, SLICE_S)
        if any(each.error() is None for each in messages):
            last_s = time.monotonic()
        elif time.monotonic() - last_s > WAIT_S:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"no end of {sorted(unfinished)[0]} in {WAIT_S} s"))
        for message in messages:
            error = message.error()
            if error is None:
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:
                unfinished.discard((message.topic() or "", message.partition() or 0))
            elif not passes(error):
                raise KafkaException(error)


def count_written(ends: Mapping[Spot, int]) -> dict[str, int]:
    """Records per topic below the ends of its partitions."""
    counts: dict[str, int] = {}
    for (topic, _), end in sorted(ends.items()):
        counts[topic] = counts.get(topic, 0) + end
    return counts
