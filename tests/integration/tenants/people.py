"""Two tenants, their jobs, and messages of their agents, made from the examples of the contract."""

from __future__ import annotations

import secrets
import time
from typing import Any

import msgspec
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from schemas.codec import decode, encode, key_of
from schemas.envelope import Message
from skeletonhunter.reference.examples import examples
from skeletonhunter.settings import KafkaSettings

AGENTS_GROUP = "skeletonhunter-agent"
JOBS = {"acme": "acme-70b", "bolt": "bolt-7b"}


def now_us() -> int:
    """The wall clock."""
    return time.time_ns() // 1000


def said(topic: str, of: str, job: str | None = None, agent: str | None = None, **fields: Any) -> Message:
    """What an agent of a tenant says about a job of its own, or of another."""
    found = examples()[topic]["typical.valid"]
    value = decode(topic, found.key, bytes(found.value), 2**53)
    assert isinstance(value, Message)
    producer = msgspec.structs.replace(value.producer, id=f"agent:{agent or of + '.a1'}/{topic}", boot="b1")
    about = {"job": job or JOBS[of], "tenant": of} if hasattr(value, "job") else {}
    return msgspec.structs.replace(value, t_us=now_us(), producer=producer, **{"fabric": "f1", **about, **fields})


class Client:
    """A principal of Kafka who writes and reads."""

    def __init__(self, settings: KafkaSettings) -> None:
        self.settings = settings
        self._base = {"bootstrap.servers": settings.url, "log_level": 0, **settings.librdkafka}

    def tell(self, topic: str, value: Message) -> str:
        """Writes a message; what Kafka said against it, or nothing."""
        return self.write(topic, key_of(topic, value), encode(topic, value))

    def write(self, topic: str, key: str, raw: bytes | None) -> str:
        """Writes a record."""
        errors: list[str] = []
        config = {"partitioner": "murmur2_random", "message.timeout.ms": 10_000}
        producer = Producer({**self._base, **config})
        heard = lambda error, _message: errors.append(error.name() if error else "")  # noqa: E731
        producer.produce(self.settings.prefix + topic, raw, key=key, on_delivery=heard)
        producer.flush(15)
        return errors[0] if errors else "no answer"

    def read(self, topic: str, most: int = 100, patience_s: float = 3.0) -> tuple[list[tuple[str, bytes | None]], str]:
        """(key, value) of the records of a topic, and what Kafka said against reading them."""
        user = str(self.settings.librdkafka.get("sasl.username", ""))
        group = AGENTS_GROUP if user.startswith("agent") else f"{self.settings.prefix}reader-{secrets.token_hex(4)}"
        consumer = Consumer({**self._base, "group.id": group, "auto.offset.reset": "earliest"})
        name, found = self.settings.prefix + topic, []
        known = consumer.list_topics(name, timeout=10).topics[name].error
        refusal = known.name() if known is not None else ""
        consumer.assign([TopicPartition(name, number, 0) for number in range(self.settings.partitions)])
        ends_s = time.monotonic() + patience_s
        try:
            while len(found) < most and time.monotonic() < ends_s:
                for message in consumer.consume(most, 0.2):
                    error = message.error()
                    if error is None:
                        found.append(((message.key() or b"").decode(), message.value()))
                    else:
                        refusal = error.name()
        except KafkaException as error:
            refusal = error.args[0].name()
        finally:
            consumer.close()
        return found, refusal
