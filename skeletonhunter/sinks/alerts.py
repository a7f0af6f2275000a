"""How do incidents become alerts, for ever? One consumer group per webhook: read, deliver, only then move the offset.

A webhook that is away delays its own alerts only. Order is that of Kafka, so it is kept per incident. What no attempt
could deliver becomes a dead letter (``incidents-dlq``, reason ``delivery_failed``) and the next alert has its turn. A
crash between delivery and commit repeats an alert under the same ``delivery``. A group that is new starts with the
oldest incident that Kafka keeps; with ``auto.offset.reset = "latest"`` in ``kafka.librdkafka`` it starts with the next.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from hashlib import blake2b

from schemas.codec import BadRecord, decode
from schemas.diagnosis import Incident
from skeletonhunter.settings import Settings
from skeletonhunter.sinks.alert_body import alert_body
from skeletonhunter.sinks.dead_letters import DeadLetters
from skeletonhunter.sinks.kafka_source import KafkaSource, Stopped, wait_in
from skeletonhunter.sinks.webhook import DeliveryError, WebhookSender
from streams.records import Record

TOPIC = "incidents"
POLL_S = 0.2

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class AlertCounts:
    """What became of the incidents of one webhook."""

    delivered: int = 0
    dead_letters: int = 0
    unreadable: int = 0


def alert_group(webhook: str) -> str:
    """The consumer group of a webhook, without prefix; the name gives nothing of the URL away."""
    return f"alert-{blake2b(webhook.encode(), digest_size=6).hexdigest()}"


class AlertLoop:
    """Alerts of one webhook, until ``stop`` is set."""

    def __init__(self, webhook: str, settings: Settings, stop: threading.Event) -> None:
        self.webhook = webhook
        self.settings = settings
        self.stop = stop
        self.counts = AlertCounts()

    def run(self) -> AlertCounts:
        """Delivers one incident after the other.

        Raises:
            TooManyDeadLettersError: too many can't be delivered.
        """
        source = KafkaSource(self.settings.kafka, alert_group(self.webhook), [TOPIC])
        letters = DeadLetters(self.settings.kafka, self.settings.worker.dead_letters_per_minute)
        try:
            with WebhookSender(self.webhook, self.settings.alerts, wait_in(source, self.stop)) as sender:
                while not self.stop.is_set():
                    reading = source.read(1, POLL_S)
                    for record in reading.records:
                        self._tell(record, sender, letters)
                    if letters.flush(self.stop):
                        source.commit(reading.positions)
        except Stopped:
            pass
        finally:
            source.close()
        return self.counts

    def _tell(self, record: Record, sender: WebhookSender, letters: DeadLetters) -> None:
        incident = self._incident(record)
        if incident is None:
            return
        try:
            sender.deliver(alert_body(incident))
            self.counts.delivered += 1
        except DeliveryError as error:
            _log.error("alert of %s not delivered: %s", incident.incident, error)
            letters.write(record, BadRecord("delivery_failed", str(error)))
            self.counts.dead_letters += 1

    def _incident(self, record: Record) -> Incident | None:
        """The incident; None for what can't be read, which the sink reports."""
        try:
            value = decode(TOPIC, record.key, record.value, record.arrival_us, self.settings.kafka.max_message_bytes)
        except BadRecord as error:
            self.counts.unreadable += 1
            _log.warning("%s", error)
            return None
        return value if isinstance(value, Incident) else None
