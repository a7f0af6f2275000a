"""How does one target come to hear of incidents? Its book says what to tell, a sender tells it, a log keeps what became
of it.

``Teller`` is the same in a replay in one process and over Kafka; who feeds it and where its log goes differ.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable

from schemas.alerting import AlertDelivery
from schemas.diagnosis import Incident, IncidentKind
from schemas.envelope import Clock, Producer
from skeletonhunter.alert_settings import AlertSettings
from skeletonhunter.alerting.forms import call_of
from skeletonhunter.alerting.pages import Book, Outcome, Telling
from skeletonhunter.alerting.routing import Tenants
from skeletonhunter.alerting.targets import Target
from skeletonhunter.sinks.alert_body import AlertBody, Occasion, alert_body
from skeletonhunter.sinks.webhook import DeliveryError, WebhookSender

_log = logging.getLogger(__name__)

Keep = Callable[[AlertDelivery], None]
"""Writes down what became of a telling."""

_CLOCK = Clock(source="none", offset_us=0.0, error_us=0.0)


class Teller:
    """Tells one target. ``now_us`` is the clock, us since the epoch (of a replay: of the recording); ``keep`` takes the
    deliveries.
    """

    def __init__(
        self, target: Target, settings: AlertSettings, sender: WebhookSender, now_us: Callable[[], int]
    ) -> None:
        self.target = target
        self.settings = settings
        self.sender = sender
        self.now_us = now_us
        self.tenants = Tenants()
        self.book = Book(target.settings, settings.silences, self.tenants)
        self.keep: Keep = lambda _: None
        self.outcomes: Counter[Outcome] = Counter()
        self.incidents_open: dict[str, IncidentKind] = {}
        self._boot = str(now_us())
        self._seq = 0

    def take(self, incident: Incident) -> Outcome | None:
        """Tells of a state of an incident, if that is to be told; None = there was nothing to say.

        Raises:
            DeliveryError: the target did not take it; the page remembers that.
        """
        self.note(incident)
        telling = self.book.take(incident, self.now_us())
        return None if telling is None else self._tell(telling)

    def note(self, incident: Incident) -> None:
        """Keeps count of what is open, whether or not it is told."""
        if incident.state == "resolved":
            self.incidents_open.pop(incident.incident, None)
        else:
            self.incidents_open[incident.incident] = incident.kind

    def look_after(self) -> None:
        """Reminders, repetitions after a failure, and what a silence held back; a failure is logged and tried later."""
        for telling in self.book.due(self.now_us()):
            try:
                self._tell(telling)
            except DeliveryError as error:
                _log.error("alert of %s not delivered: %s", telling.page.lead.incident, error)

    def body(self, telling: Telling) -> AlertBody:
        """What is said."""
        page, lead = telling.page, telling.page.lead
        occasion = Occasion(
            delivery=telling.delivery,
            state=telling.state,
            severity=page.severity,
            tenants=self.tenants.of(lead.jobs),
            other_incidents=len(page.members) - 1,
            reminder=telling.reminder,
            link=self.settings.link.replace("{incident}", lead.incident) if self.settings.link else None,
        )
        return alert_body(lead, occasion)

    def _tell(self, telling: Telling) -> Outcome:
        if telling.withheld is not None:
            self._settle(telling, "withheld", telling.withheld, None)
            return "withheld"
        call = call_of(self.target, self.body(telling), telling.page.labels, time.time_ns() // 1000)
        try:
            self.sender.deliver(call)
        except DeliveryError as error:
            self._settle(telling, "failed", str(error), None)
            raise
        self._settle(telling, "delivered", "", call.labels)
        return "delivered"

    def _settle(self, telling: Telling, outcome: Outcome, why: str, labels: dict[str, str] | None) -> None:
        self.outcomes[outcome] += 1
        self.book.settle(telling, outcome, labels, self.now_us())
        if telling.reminder and self.book.is_refreshed and outcome == "delivered":
            return
        delivery = self._delivery(telling, outcome, why)
        _log.info(
            "alert target=%s incident=%s state=%s severity=%s outcome=%s attempts=%d delivery=%s%s",
            *(self.target.name, delivery.incident, delivery.state, delivery.severity, outcome, delivery.attempts),
            *(delivery.delivery, f" why={why!r}" if why else ""),
        )
        self.keep(delivery)

    def _delivery(self, telling: Telling, outcome: Outcome, why: str) -> AlertDelivery:
        page, lead = telling.page, telling.page.lead
        self._seq += 1
        return AlertDelivery(
            v=1,
            t_us=max(each.t_us for each in page.latest.values()),
            producer=Producer(id=f"alert:{self.target.name}", kind="alert", boot=self._boot, seq=self._seq),
            clock=_CLOCK,
            fabric=lead.fabric,
            page=f"{self.target.name}/{lead.incident}",
            target=self.target.name,
            incident=lead.incident,
            members=tuple(page.members.values()),
            state=telling.state,
            outcome=outcome,
            why=why,
            told=page.told,
            severity=page.severity,
            said=page.said,
            labels=page.labels,
            reminders=page.reminders,
            delivery=telling.delivery,
            attempts=self.sender.attempts if outcome != "withheld" else 0,
            opened_us=page.opened_us,
            sent_us=page.sent_us,
        )
