"""How does a command publish one message of a person? It waits until the broker has it, or says why it has not."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schemas.envelope import Message, Producer
    from skeletonhunter.settings import KafkaSettings

SENT_WITHIN_S = 30.0
_QUIET = logging.getLogger(f"{__name__}.librdkafka")
_QUIET.setLevel(logging.CRITICAL)
"""What librdkafka says for each attempt, hundreds of lines in half a minute, is said once by the command itself."""


def person(user: str | None, topic: str, now_us: int) -> Producer:
    """The producer that stands for a person; each message is a stream of its own, so none is taken for a repetition."""
    import getpass

    from schemas.envelope import Producer

    return Producer(id=f"user:{user or getpass.getuser()}/{topic}", kind="user", boot=str(now_us), seq=0)


def check(topic: str, key: str, message: Message) -> None:
    """Refuses to say what no reader would take, such as a name that is empty or too long.

    Raises:
        InputError: with what its readers would say.
    """
    from schemas.codec import BadRecord, decode, encode
    from skeletonhunter.cli import InputError

    try:
        decode(topic, key, encode(topic, message), message.t_us)
    except BadRecord as error:
        raise InputError(f"what was given makes no message of {topic}: {error}") from error


def announce(kafka: KafkaSettings, topic: str, key: str, message: Message) -> None:
    """Publishes the message and waits until the broker has it.

    Raises:
        InputError: it did not take it.
    """
    from confluent_kafka import KafkaException, Producer

    from schemas.codec import encode
    from skeletonhunter.cli import InputError
    from streams.records import arrival_headers

    failures: list[str] = []
    config: dict[str, str | int | float | bool] = {"bootstrap.servers": kafka.url, "acks": "all"}
    producer = Producer({**config, "partitioner": "murmur2_random", **kafka.librdkafka}, logger=_QUIET)
    try:
        producer.produce(
            kafka.prefix + topic,
            encode(topic, message),
            key=key,
            timestamp=message.t_us // 1000,
            headers=arrival_headers(message.t_us),
            on_delivery=lambda error, _: failures.append(str(error)) if error else None,
        )
        waiting = producer.flush(SENT_WITHIN_S)
    except KafkaException as error:
        raise InputError(f"Kafka at {kafka.url}: the message could not be sent: {error}") from error
    if failures or waiting:
        raise InputError(f"Kafka at {kafka.url}: the message could not be sent: {(failures or ['no answer'])[0]}")
