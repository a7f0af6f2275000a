"""How does a message go to Kafka? By an idempotent, compressing, batching producer of librdkafka without a time limit.

Keys choose partitions by murmur2, as everywhere in this project, so a job's topics stay co-partitioned. A fatal error
(the broker has forgotten the producer, or its numbers do not fit) breaks a producer of librdkafka for good: it is
emptied, what it held is reported as failed, and a new one takes its place.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from collectors.librdkafka import load
from collectors.publishing import Fate
from collectors.stamping import Stamped

log = logging.getLogger(__name__)

Config = Mapping[str, str | int | float | bool]


def producer_config(brokers: str, librdkafka: Config) -> dict[str, Any]:
    """What librdkafka is told; what the operator gives goes before what is not essential."""
    return {
        "linger.ms": 100,
        "compression.type": "gzip",  # workers of before read no other codec
        "queue.buffering.max.kbytes": 4096,
        "reconnect.backoff.max.ms": 2000,
        "statistics.interval.ms": 0,
        **librdkafka,
        "bootstrap.servers": brokers,
        "partitioner": "murmur2_random",
        "enable.idempotence": True,
        "message.timeout.ms": 0,
    }


class KafkaProducer:
    """A ``ProducerPort`` on confluent-kafka; ``prefix`` stands before each topic."""

    def __init__(self, brokers: str, prefix: str, librdkafka: Config) -> None:
        self.prefix = prefix
        self._kafka = load()
        self._config = producer_config(brokers, librdkafka)
        self._is_broken = False
        self._errors_said: set[int] = set()
        self._producer = self._make()

    def send(self, stamped: Stamped, report: Callable[[Fate, str], None]) -> None:
        """See ``ProducerPort``."""

        def delivered(error: Any, _message: Any) -> None:
            if error is None:
                self._errors_said.clear()
                report(Fate.CONFIRMED, "")
            else:
                report(self._fate_of(error), error.str())

        try:
            self._producer.produce(
                self.prefix + stamped.topic, value=stamped.value, key=stamped.key, on_delivery=delivered
            )
        except self._kafka.KafkaException as error:
            report(self._fate_of(error.args[0]), error.args[0].str())

    def serve(self) -> None:
        """See ``ProducerPort``."""
        self._producer.poll(0)
        if self._is_broken:
            self.renew()

    def renew(self) -> None:
        """See ``ProducerPort``."""
        self._producer.purge(in_queue=True, in_flight=True, blocking=True)
        self._producer.flush(1.0)
        self._is_broken = False
        self._producer = self._make()
        log.warning("Kafka: a new producer takes over")

    def flush(self, patience_s: float) -> None:
        """See ``ProducerPort``."""
        self._producer.flush(patience_s)

    def _make(self) -> Any:
        return self._kafka.Producer({**self._config, "error_cb": self._hear}, logger=_QUIET)

    def _hear(self, error: Any) -> None:
        if error.fatal():
            self._is_broken = True
        if error.code() not in self._errors_said:
            self._errors_said.add(error.code())
            log.warning("Kafka: %s", error.str())

    def _fate_of(self, error: Any) -> Fate:
        kafka_error = self._kafka.KafkaError
        if error.fatal() or error.code() == kafka_error._FATAL:
            self._is_broken = True
            return Fate.FAILED
        if error.code() in (kafka_error.MSG_SIZE_TOO_LARGE, kafka_error.INVALID_RECORD):
            return Fate.REFUSED
        missing = (
            kafka_error._UNKNOWN_TOPIC,
            kafka_error.UNKNOWN_TOPIC_OR_PART,
            kafka_error.TOPIC_AUTHORIZATION_FAILED,
            kafka_error._UNKNOWN_PARTITION,
        )
        return Fate.NO_TOPIC if error.code() in missing else Fate.FAILED


_QUIET = logging.getLogger(f"{__name__}.librdkafka")
_QUIET.setLevel(logging.CRITICAL)
"""What librdkafka says for each attempt is said once here, through its error callback."""
