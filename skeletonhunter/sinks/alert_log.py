"""Where do alert senders keep what they told? In the topic ``alert-deliveries``; after a restart they go on from it."""

from __future__ import annotations

import logging
import threading

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from schemas.alerting import AlertDelivery
from schemas.codec import encode
from skeletonhunter.settings import KafkaSettings
from skeletonhunter.sinks.dead_letters import patient_config
from streams.records import arrival_headers

_log = logging.getLogger(__name__)

DELIVERIES = "alert-deliveries"


class AlertLog:
    """Writes deliveries; ``flush`` returns when Kafka has them, and offsets may move."""

    def __init__(self, settings: KafkaSettings) -> None:
        self.topic = settings.prefix + DELIVERIES
        self._failed: list[KafkaError] = []
        self._producer = Producer({"partitioner": "murmur2_random", **patient_config(settings)}, logger=_log)

    def write(self, delivery: AlertDelivery) -> None:
        """Sends a delivery on its way."""
        self._producer.produce(
            self.topic,
            encode(DELIVERIES, delivery),
            key=delivery.page,
            timestamp=max(delivery.sent_us, delivery.t_us) // 1000,
            headers=arrival_headers(max(delivery.sent_us, delivery.t_us)),
            on_delivery=self._delivered,
        )

    def flush(self, stop: threading.Event) -> bool:
        """Waits until Kafka has all; False when the program was to end before.

        Raises:
            KafkaException: Kafka refused one.
        """
        while self._producer.flush(0.5):
            if stop.is_set():
                return False
        if self._failed:
            _log.error("a delivery could not be written to %s", self.topic)
            raise KafkaException(self._failed[0])
        return True

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self._failed.append(error)
