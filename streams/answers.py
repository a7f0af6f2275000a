"""What does Kafka refuse only for a moment? Such questions are asked again, such errors between records passed over.

librdkafka says of none of these errors that they are ``retriable``: that flag is of its transactions alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

PAUSE_S = 0.1

_PASSING = frozenset(
    (
        KafkaError.UNKNOWN_TOPIC_OR_PART,  # a topic that was just made: not every broker, nor the leader, knows it yet
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
        KafkaError._WAIT_COORD,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
    )
)

T = TypeVar("T")


def passes(error: KafkaError) -> bool:
    """Whether the error is over by itself: brokers come back, leaders and coordinators are found, news gets round."""
    return error.code() in _PASSING


def ask(question: Callable[[float], T], within_s: float) -> T:
    """The answer to ``question``, which is given the seconds that are left; asked again while what it raises passes.

    Raises:
        KafkaException: what was said last, or what doesn't pass.
    """
    ends_s = time.monotonic() + within_s
    while True:
        try:
            return question(max(PAUSE_S, ends_s - time.monotonic()))
        except KafkaException as error:
            if not passes(error.args[0]) or time.monotonic() + PAUSE_S >= ends_s:
                raise
        time.sleep(PAUSE_S)


def log_bounds(consumer: Consumer, topic: str, numbers: Iterable[int], within_s: float) -> dict[int, tuple[int, int]]:
    """First and next offset of each partition of a topic; ``within_s``: for one of them.

    Raises:
        KafkaException: Kafka doesn't tell.
    """
    spots = {number: TopicPartition(topic, number) for number in numbers}
    return {number: ask(partial(consumer.get_watermark_offsets, spot), within_s) for number, spot in spots.items()}
