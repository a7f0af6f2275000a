"""When is somebody told, and of what? Incidents become pages: opened, updated, reminded of, resolved. Pure.

One fabric event is one page: an incident joins a page of its fabric that was opened within ``storm_s`` and speaks of
the same host or switch; and once ``storm_pages`` pages were opened within ``storm_s``, any incident joins the newest. A
page that others join is told of when it has 2, 4, 8, ... incidents, and resolved when all are. What says the same as
before is not told again. States of an incident that were taken in are known by ``producer.seq``: the same again is
nothing new, after a restart or when Kafka delivers from the beginning.

A page is opened ``settle_s`` after its incident came, with the verdict that it has then.

A page goes on from its last ``AlertDelivery`` after a restart, so nothing is kept but these messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from schemas.alerting import AlertDelivery, PageMember, Severity
from schemas.diagnosis import Incident
from schemas.ids import content_id
from schemas.instants import SECOND_US
from skeletonhunter.alert_settings import AlertTarget, Silence
from skeletonhunter.alerting.routing import Tenants, is_wanted, place_of, silence_of
from skeletonhunter.alerting.severity import is_at_least, urgency_of, worst

AGAIN_US = 60 * SECOND_US
"""A page that could not be delivered is tried again so much later."""

GIVE_UP_US = 86_400 * SECOND_US
"""Of an incident that was over so long ago nobody is told any more."""

ALERTMANAGER_AGAIN_S = 60.0
"""Alertmanager forgets an alert that it is not sent again."""

Outcome = Literal["delivered", "failed", "withheld"]
State = Literal["open", "updated", "resolved"]


@dataclass(slots=True)
class Page:
    """What one alert speaks of, and what the receiver knows of it. ``lead`` opened it and gives it its name.

    ``opened_us`` is event time; from ``settled_us`` on, by the clock of the sender, it may be told.
    """

    lead: Incident
    opened_us: int
    settled_us: int = 0
    members: dict[str, PageMember] = field(default_factory=dict)
    latest: dict[str, Incident] = field(default_factory=dict)
    severity: Severity = "info"
    told: bool = False
    outcome: Outcome = "withheld"
    said: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    reminders: int = 0
    sent_us: int = 0

    @property
    def is_over(self) -> bool:
        """Whether all its incidents are."""
        return all(member.over for member in self.members.values())

    def take(self, incident: Incident) -> None:
        """Another state of one of its incidents, or a new one."""
        name = incident.incident
        over = incident.state == "resolved"
        self.members[name] = PageMember(incident=name, seq=incident.producer.seq, over=over)
        self.latest[name] = incident
        if name == self.lead.incident:
            self.lead = incident
        open_ones = [each for each in self.latest.values() if not self.members[each.incident].over]
        self.severity = worst([urgency_of(each).severity for each in open_ones or [self.lead]])

    def gist(self) -> str:
        """A digest of what an alert would say; another state with the same one is not worth a word."""
        lead = self.lead
        verdict = (lead.kind, lead.issue, lead.component, lead.symptom, lead.action.kind, lead.action.target)
        return content_id("said", verdict, self.severity, self.is_over, len(self.members))


@dataclass(frozen=True, slots=True)
class Telling:
    """Something to be told: a page in a state. ``delivery`` is the same whenever this is told again.

    ``withheld``: why nothing is sent; None = it is sent.
    """

    page: Page
    state: State
    delivery: str
    reminder: bool = False
    withheld: str | None = None


def _is_alive(delivery: AlertDelivery) -> bool:
    """Whether there may be more to tell of its page."""
    return delivery.state != "resolved" or delivery.outcome == "failed"


class Book:
    """The pages of one target."""

    def __init__(self, target: AlertTarget, silences: Sequence[Silence] = (), tenants: Tenants | None = None) -> None:
        self.target = target
        self.silences = silences
        self.tenants = tenants or Tenants()
        self.pages: dict[str, Page] = {}
        self.seen: dict[str, int] = {}
        self._opened: list[tuple[str, int]] = []

    @property
    def remind_s(self) -> float | None:
        """Seconds after which an open page is told again; None = never."""
        return self.target.remind_s or (ALERTMANAGER_AGAIN_S if self.is_refreshed else None)

    @property
    def is_refreshed(self) -> bool:
        """Whether the receiver has to be told again and again that a page is open; that is no news, and is not kept."""
        return self.target.format == "alertmanager"

    def restore(self, deliveries: Iterable[AlertDelivery], incidents: Iterable[Incident]) -> None:
        """Goes on where the newest delivery of each page left off; ``incidents`` in order of their being sent."""
        newest = {each.page: each for each in deliveries if each.target == self.target.name}
        pages = {member.incident: each for each in newest.values() for member in each.members if _is_alive(each)}
        for each in newest.values():
            self._opened.append((each.fabric, each.opened_us))
            for member in each.members:
                self.seen[member.incident] = max(member.seq, self.seen.get(member.incident, -1))
        self._opened.sort(key=lambda opened: opened[1])
        for incident in incidents:
            delivery = pages.get(incident.incident)
            if delivery is not None:
                self._bring_back(delivery, incident)

    def _bring_back(self, delivery: AlertDelivery, incident: Incident) -> None:
        page = self.pages.get(delivery.incident)
        if page is None:
            page = self.pages[delivery.incident] = Page(incident, delivery.opened_us)
            page.members = {member.incident: member for member in delivery.members}
            page.told, page.outcome, page.severity = delivery.told, delivery.outcome, delivery.severity
            page.said, page.labels = delivery.said, dict(delivery.labels)
            page.reminders, page.sent_us = delivery.reminders, delivery.sent_us
        if incident.incident == delivery.incident:
            page.lead = incident
        page.latest[incident.incident] = incident

    def take(self, incident: Incident, now_us: int) -> Telling | None:
        """What this state of an incident leads to; None = nothing has changed for this target."""
        if incident.producer.seq <= self.seen.get(incident.incident, -1):
            return None
        page = self._page_of(incident)
        if page is None and (not self._concerns(incident) or not self._is_worth_a_page(incident)):
            return None
        self.seen[incident.incident] = incident.producer.seq
        if page is not None:
            return self._go_on(page, incident, now_us)
        page = self._to_join(incident)
        if page is not None:
            page.take(incident)
            count = len(page.members)
            doubled = count & (count - 1) == 0
            held = self._settling(page, now_us) or (None if doubled else f"storm: one of {count} incidents")
            return self._telling(page, incident, "updated", held)
        return self._open(incident, now_us)

    def _concerns(self, incident: Incident) -> bool:
        return is_wanted(self.target, incident, self.tenants.of(incident.jobs))

    def _is_worth_a_page(self, incident: Incident) -> bool:
        """What is over before anybody was told wakes nobody; a target of plain JSON is told nevertheless."""
        return incident.state != "resolved" or self.target.format == "json"

    def _page_of(self, incident: Incident) -> Page | None:
        return next((page for page in self.pages.values() if incident.incident in page.members), None)

    def _to_join(self, incident: Incident) -> Page | None:
        if self.target.storm_pages is None:
            return None
        since_us = incident.t_us - round(self.target.storm_s * SECOND_US)
        near = [p for p in self.pages.values() if p.lead.fabric == incident.fabric and p.opened_us >= since_us]
        place = place_of(incident.component)
        same = [page for page in near if place is not None and place == place_of(page.lead.component)]
        recent = sum(fabric == incident.fabric and at_us >= since_us for fabric, at_us in self._opened)
        fitting = same or (near if recent >= self.target.storm_pages else [])
        return max(fitting, key=lambda page: page.opened_us, default=None)

    def _open(self, incident: Incident, now_us: int) -> Telling:
        page = Page(incident, incident.t_us, now_us + round(self.target.settle_s * SECOND_US))
        page.take(incident)
        self.pages[incident.incident] = page
        self._opened = [each for each in self._opened if each[1] >= incident.t_us - 3600 * SECOND_US]
        self._opened.append((incident.fabric, incident.t_us))
        return self._telling(page, incident, incident.state, self._settling(page, now_us))

    def _settling(self, page: Page, now_us: int) -> str | None:
        return "the verdict may still change" if not page.told and now_us < page.settled_us else None

    def _go_on(self, page: Page, incident: Incident, now_us: int) -> Telling | None:
        before = page.severity
        page.take(incident)
        if page.is_over:
            return self._telling(page, incident, "resolved", None if page.told else "nobody was told of it")
        if held := self._settling(page, now_us):
            return self._telling(page, incident, "updated", held)
        if self.target.format == "json" and self.target.updates:
            return self._telling(page, incident, incident.state if len(page.members) == 1 else "updated")
        if page.gist() == page.said:
            return None
        rose = before != page.severity and is_at_least(page.severity, before)
        quiet = None if self.target.updates or rose else "updates are off"
        return self._telling(page, incident, "updated", quiet)

    def _telling(self, page: Page, incident: Incident, state: State, withheld: str | None = None) -> Telling:
        if state == "updated" and not page.told and self.target.format != "json":
            state = "open"
        delivery = f"{incident.incident}/{incident.producer.seq}/{state}"
        if state != "resolved" and withheld is None:
            withheld = self._silenced(page, incident.t_us)
        return Telling(page, state, delivery, withheld=withheld)

    def _silenced(self, page: Page, now_us: int) -> str | None:
        silence = silence_of(self.silences, self.target.name, page.lead, self.tenants.of(page.lead.jobs), now_us)
        return f"silence: {silence.why}" if silence else None

    def due(self, now_us: int) -> list[Telling]:
        """What is to be told because time has passed: after a silence, after a failure, and reminders."""
        return [telling for page in list(self.pages.values()) if (telling := self._due(page, now_us)) is not None]

    def _due(self, page: Page, now_us: int) -> Telling | None:
        is_silent = self._silenced(page, now_us) and not (self.is_refreshed and page.told)
        if not page.is_over and (self._settling(page, now_us) or is_silent):
            return None
        if page.outcome == "failed":
            return self._again(page, now_us)
        if not page.told:
            return Telling(page, "open", f"{page.lead.incident}/{page.lead.producer.seq}/open")
        if self.remind_s is None or now_us - page.sent_us < self.remind_s * SECOND_US:
            return None
        return Telling(page, "updated", f"{page.lead.incident}/reminder-{page.reminders + 1}", reminder=True)

    def _again(self, page: Page, now_us: int) -> Telling | None:
        """What could not be delivered, as it is now."""
        if page.is_over and now_us - page.lead.t_us > GIVE_UP_US:
            self.pages.pop(page.lead.incident, None)
            return None
        if now_us - page.sent_us < AGAIN_US:
            return None
        state: State = "resolved" if page.is_over else "updated" if page.said else "open"
        return Telling(page, state, f"{page.lead.incident}/{page.lead.producer.seq}/{state}")

    def settle(self, telling: Telling, outcome: Outcome, labels: dict[str, str] | None, now_us: int) -> None:
        """Notes what became of a telling; ``labels`` by which the receiver now knows the page (None = as before)."""
        page = telling.page
        page.outcome = outcome if telling.withheld is None or not page.told else page.outcome
        if telling.withheld is None:
            page.told, page.sent_us = True, now_us
            page.said = page.gist() if outcome == "delivered" else page.said
            page.labels = labels if labels is not None and outcome == "delivered" else page.labels
            page.reminders += telling.reminder and not self.is_refreshed
        if page.is_over and page.outcome != "failed":
            self.pages.pop(page.lead.incident, None)
