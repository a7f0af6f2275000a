"""Where do records go that a sink can't use? To ``<topic>-dlq``, whole, with the reason, at a bounded rate.

The sink writes dead letters of topics that no stage reads; for the others the first stage that reads them does
(``streams.stages.dead_letter_stage``). The alert sender writes incidents that no attempt could deliver, with reason
``delivery_failed``, to ``incidents-dlq``: there they are found by those who look after the pipeline, and can be sent
again. Past the bounded rate the program stops: something bigger is wrong.
"""

from __future__ import annotations

import logging
import threading
import time
from base64 import b64encode
from collections import deque
from dataclasses import replace

import msgspec
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from schemas.control import DeadLetter
from schemas.topics import topic
from skeletonhunter.settings import KafkaSettings
from skeletonhunter.sinks.kafka_source import Record

_log = logging.getLogger(__name__)


class TooManyDeadLettersError(RuntimeError):
    """More records than the bound can't be used."""


def dead_letter(record: Record, reason: str, detail: str) -> DeadLetter:
    """The letter that holds the record."""
    return DeadLetter(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=None if record.key is None else record.key.decode(errors="backslashreplace"),
        reason=reason,
        detail=detail,
        arrival_us=record.arrival_us,
        value_base64=b64encode(record.value or b"").decode(),
    )


class DeadLetters:
    """Writes dead letters; ``flush`` returns when Kafka has them, and offsets may move."""

    def __init__(self, settings: KafkaSettings, per_minute: int) -> None:
        self.prefix = settings.prefix
        self.per_minute = per_minute
        self._times_s: deque[float] = deque()
        self._failed: list[KafkaError] = []
        config = {"bootstrap.servers": settings.url, "acks": "all", "linger.ms": 5, **settings.librdkafka}
        self._producer = Producer(config, logger=_log)

    def write(self, record: Record, reason: str, detail: str) -> None:
        """Sends the record to the dead letters of its topic.

        Raises:
            TooManyDeadLettersError: the bound is passed.
        """
        self._count(reason, detail)
        try:
            self._send(record, dead_letter(record, reason, detail))
        except KafkaException as error:
            if error.args[0].code() != KafkaError.MSG_SIZE_TOO_LARGE:
                raise
            detail = (
                f"{detail}; the record of {len(record.value or b'')} bytes is too large for a letter, it stays there"
            )
            self._send(record, dead_letter(replace(record, value=None), reason, detail))
        self._producer.poll(0)

    def _send(self, record: Record, letter: DeadLetter) -> None:
        name = self.prefix + topic(record.topic).dead_letters
        self._producer.produce(name, msgspec.json.encode(letter), key=record.key, on_delivery=self._delivered)

    def flush(self, stop: threading.Event) -> bool:
        """Waits until Kafka has all letters; False when the program was to end before.

        Raises:
            RuntimeError: Kafka refused one.
        """
        while self._producer.flush(0.5):
            if stop.is_set():
                return False
        if self._failed:
            raise RuntimeError(f"a dead letter was refused by Kafka: {self._failed[0].str()}")
        return True

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self._failed.append(error)

    def _count(self, reason: str, detail: str) -> None:
        now_s = time.monotonic()
        self._times_s.append(now_s)
        while self._times_s[0] < now_s - 60:
            self._times_s.popleft()
        if len(self._times_s) > self.per_minute:
            raise TooManyDeadLettersError(
                f"{len(self._times_s)} records within a minute can't be used, expected at most {self.per_minute}; "
                f"the last: {reason}: {detail}"
            )
