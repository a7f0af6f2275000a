"""How do incidents become alerts, for ever? One consumer group per target: read, deliver, only then move the offset.

A target that is away delays its own alerts only. Order is that of Kafka, so it is kept per incident. What no attempt
could deliver becomes a dead letter (``incidents-dlq``, reason ``delivery_failed``) and the next alert has its turn; the
page is tried again a minute later, while it is open. Each telling is written to ``alert-deliveries`` before the offset
moves, and a sender that starts reads them: a crash in between repeats at most one alert, under the same ``delivery``.
A group that is new starts with the oldest incident that Kafka keeps; with ``auto.offset.reset = "latest"`` in
``kafka.librdkafka`` it starts with the next. Run one sender per target: two would share the incidents, and each would
see half of a storm.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from schemas.alerting import Severity
from schemas.codec import BadRecord, decode
from schemas.diagnosis import Incident, IncidentKind
from skeletonhunter.alerting.pages import Outcome
from skeletonhunter.alerting.targets import Target, plain_target
from skeletonhunter.alerting.telling import Teller
from skeletonhunter.metrics.readings import Flow
from skeletonhunter.settings import AlertSettings, Settings
from skeletonhunter.sinks.alert_log import AlertLog
from skeletonhunter.sinks.alert_memory import MapFollower, remember
from skeletonhunter.sinks.dead_letters import DeadLetters
from skeletonhunter.sinks.kafka_source import KafkaSource, Stopped, wait_in
from skeletonhunter.sinks.webhook import DeliveryError, WebhookSender
from streams.records import Record

TOPIC = "incidents"
POLL_S = 0.2
LOOK_EVERY_S = 1.0
"""How often it is looked for reminders, ends of silences, and what failed."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class AlertCounts:
    """What became of the incidents of one target: ``withheld`` by a silence, a storm, or until the verdict settles."""

    delivered: int = 0
    dead_letters: int = 0
    unreadable: int = 0
    withheld: int = 0


def alert_groups(alerts: AlertSettings) -> tuple[str, ...]:
    """The consumer groups of all targets, without prefix."""
    plain = [plain_target(url).name for url in alerts.webhooks]
    return tuple(f"alert-{name}" for name in (*plain, *(target.name for target in alerts.targets)))


class AlertLoop:
    """Alerts of one target, until ``stop`` is set."""

    def __init__(self, target: Target, settings: Settings, stop: threading.Event) -> None:
        self.target = target
        self.settings = settings
        self.stop = stop
        self.counts = AlertCounts()
        self.flow = Flow()
        self.letters: Counter[tuple[str, str]] = Counter()
        self.outcomes: Counter[Outcome] = Counter()
        self._sender: WebhookSender | None = None
        self._at_work: Teller | None = None
        self._is_stale = True

    @property
    def attempts(self) -> int:
        """Requests that were sent."""
        return self._sender.requests if self._sender else 0

    @property
    def incidents_open(self) -> Mapping[str, IncidentKind]:
        """All incidents that are not resolved, and their kinds."""
        return self._at_work.incidents_open if self._at_work else {}

    def pages_open(self) -> Counter[Severity]:
        """Pages that are open, by severity."""
        pages = list(self._at_work.book.pages.values()) if self._at_work else []
        return Counter(page.severity for page in pages)

    def run(self) -> AlertCounts:
        """Delivers one incident after the other.

        Raises:
            TooManyDeadLettersError: too many can't be delivered.
            MissingTopicError: a topic does not exist.
        """
        source = KafkaSource(self.settings.kafka, self.target.group, [TOPIC])
        source.on_lost = self._forget
        source.on_read = self.flow.note
        maps = MapFollower(self.settings.kafka)
        try:
            with WebhookSender(self.target, self.settings.alerts, wait_in(source, self.stop)) as sender:
                self._sender = sender
                self._move(source, maps, sender)
        except Stopped:
            pass
        finally:
            maps.close()
            source.close()
        return self.counts

    def _forget(self) -> None:
        """Partitions were taken away: another sender may tell meanwhile, so what is known has to be read again."""
        self._is_stale = True

    def _move(self, source: KafkaSource, maps: MapFollower, sender: WebhookSender) -> None:
        letters = DeadLetters(self.settings.kafka, self.settings.worker.dead_letters_per_minute)
        log = AlertLog(self.settings.kafka)
        looked_s = 0.0
        while not self.stop.is_set():
            reading = source.read(1, POLL_S)
            if self._is_stale:
                self._is_stale = False
                teller = self._teller(sender, log)
                if self.stop.is_set():  # perhaps before it knew what was told
                    return
            maps.catch_up(teller)
            for record in reading.records:
                self._tell(record, teller, letters)
            if time.monotonic() - looked_s >= LOOK_EVERY_S:
                teller.look_after()
                looked_s = time.monotonic()
            if letters.flush(self.stop) and log.flush(self.stop):
                source.commit(reading.positions)

    def _teller(self, sender: WebhookSender, log: AlertLog) -> Teller:
        teller = Teller(self.target, self.settings.alerts, sender, lambda: time.time_ns() // 1000)
        teller.keep, teller.outcomes = log.write, self.outcomes
        remember(teller, self.settings.kafka, self.stop)
        self._at_work = teller
        return teller

    def _tell(self, record: Record, teller: Teller, letters: DeadLetters) -> None:
        incident = self._incident(record)
        if incident is None:
            return
        try:
            outcome = teller.take(incident)
            self.counts.delivered += outcome == "delivered"
            self.counts.withheld += outcome == "withheld"
        except DeliveryError as error:
            _log.error("alert of %s not delivered: %s", incident.incident, error)
            letters.write(record, BadRecord("delivery_failed", str(error)))
            self.letters[record.topic, "delivery_failed"] += 1
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
