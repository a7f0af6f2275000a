"""Where do records go that a sink can't use? To ``<topic>-dlq``, whole, with the reason, at a bounded rate.

The sink writes dead letters of topics that no stage reads; for the others the first stage that reads them does
(``streams.stages.dead_letter_stage``). The alert sender writes incidents that no attempt could deliver, with reason
``delivery_failed``, to ``incidents-dlq``: there they are found by those who look after the pipeline, and can be sent
again. Past the bounded rate the program stops: something bigger is wrong.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from schemas.codec import BadRecord
from schemas.topics import topic
from skeletonhunter.settings import KafkaSettings
from streams.dead_letters import DeadLetterRate, dead_letter, short_key
from streams.records import Record

_log = logging.getLogger(__name__)


def patient_config(settings: KafkaSettings) -> dict[str, str | int | float | bool]:
    """Settings of a producer of a sink, which waits for Kafka as long as it is away: offsets stay meanwhile."""
    config: dict[str, str | int | float | bool] = {"bootstrap.servers": settings.url, "acks": "all", "linger.ms": 5}
    return {**config, "message.timeout.ms": 0, **settings.librdkafka}


class DeadLetters:
    """Writes dead letters; ``flush`` returns when Kafka has them, and offsets may move."""

    def __init__(self, settings: KafkaSettings, per_minute: int) -> None:
        self.prefix = settings.prefix
        self._rate = DeadLetterRate(per_minute)
        self._failed: list[KafkaError] = []
        self._config = patient_config(settings)
        self._made: Producer | None = None

    @property
    def counts(self) -> Mapping[tuple[str, str], int]:
        """Letters by topic and reason, since the program began."""
        return self._rate.counts

    def write(self, record: Record, error: BadRecord) -> None:
        """Sends the record to the dead letters of its topic; of one that is too large, the letter without it.

        Raises:
            TooManyDeadLettersError: the bound is passed.
        """
        self._rate.count(record, error)
        try:
            self._send(record, dead_letter(record, error))
        except KafkaException as refusal:
            if refusal.args[0].code() != KafkaError.MSG_SIZE_TOO_LARGE:
                raise
            detail = f"{error.detail}; its {len(record.value)} bytes are too large for a letter, they stay in Kafka"
            rest = record._replace(value=b"", key=short_key(record))
            self._send(rest, dead_letter(rest, BadRecord(error.reason, detail)))
        self._producer().poll(0)

    def flush(self, stop: threading.Event) -> bool:
        """Waits until Kafka has all letters; False when the program was to end before.

        Raises:
            KafkaException: Kafka refused one.
        """
        while self._made is not None and self._made.flush(0.5):
            if stop.is_set():
                return False
        if self._failed:
            _log.error("a dead letter was refused by Kafka")
            raise KafkaException(self._failed[0])
        return True

    def _producer(self) -> Producer:
        """Connected when there is the first letter, which is seldom."""
        if self._made is None:
            self._made = Producer(self._config, logger=_log)
        return self._made

    def _send(self, record: Record, letter: bytes) -> None:
        self._producer().produce(
            self.prefix + topic(record.topic).dead_letters,
            letter,
            key=short_key(record),  # stamped with the present: the record's arrival may be one that Kafka refuses
            on_delivery=self._delivered,
        )

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self._failed.append(error)
