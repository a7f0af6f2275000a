"""How does each message get to Kafka once and in order, also when Kafka is away for a while?

A message goes to the producer at once while nothing waits before it. The producer (librdkafka, idempotent, without a
time limit) keeps order and repeats by itself. When what it holds is not confirmed within ``STALL_S``, or is more than
``MOST_BYTES``, the following messages go to the spool instead, and from there to the producer, in order, as
confirmations make room; only when the spool is empty do messages go directly again. So memory is bounded, and a crash
of the agent
itself loses no more than the last seconds before an outage was noticed.

Unconfirmed messages are kept here too: if the producer breaks for good, or gets nothing confirmed for ``renew_s`` (a
broker that forgot it may refuse it for ever), it is replaced and they are sent again, in order; when the agent stops
while Kafka is away they go to the front of the spool. Then some may arrive twice, and readers recognise them by
producer, boot and seq.

What can't be sent is counted in ``dropped``: a message that is too large; one for a topic that is not there (the topic
is left alone for ``BARRED_S``, the others are not held up); what the spool had no room for. A disk that fails is said
once and tried again; it ends nobody.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Protocol

from collectors.observing import Now
from collectors.spool import Place, Spool
from collectors.stamping import Stamped
from schemas.instants import SECOND_US

log = logging.getLogger(__name__)

MOST_BYTES = 512 * 1024
STALL_S = 5.0
BARRED_S = 60.0
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 30.0
CALM_S, BUSY_S = 0.5, 0.05
RENEW_S = 300.0


class Fate(Enum):
    """What became of a message that was given to the producer."""

    CONFIRMED = "the broker has it"
    REFUSED = "it can never be sent"
    NO_TOPIC = "its topic is not there, or not for us"
    FAILED = "it may be sent again"


class ProducerPort(Protocol):
    """A producer of Kafka, as far as it is used here."""

    def send(self, stamped: Stamped, report: Callable[[Fate, str], None]) -> None:
        """Takes a message; ``report`` is called within a later ``serve`` or ``flush``.

        Raises:
            BufferError: there is no room now.
        """

    def serve(self) -> None:
        """Calls the reports that are there; replaces a producer that is broken."""

    def renew(self) -> None:
        """Begins anew: what is under way is reported as failed, though the broker may have it."""

    def flush(self, patience_s: float) -> None:
        """Waits until everything is confirmed, or for ``patience_s``."""


class _Unconfirmed:
    """A message in the producer's care; ``place``: where it ends in the spool, None when it never was there."""

    __slots__ = ("fate", "place", "sent_us", "stamped")

    def __init__(self, stamped: Stamped, place: Place | None = None) -> None:
        self.stamped = stamped
        self.place = place
        self.sent_us = 0
        self.fate: Fate | None = None


class Publisher:
    """Sends messages through ``producer``, keeps them in ``spool`` while that can't."""

    def __init__(self, producer: ProducerPort, spool: Spool, renew_s: float = RENEW_S) -> None:
        self.producer = producer
        self.spool = spool
        self.renew_s = renew_s
        self.published: dict[str, int] = {}
        """Messages by topic, since the agent began."""
        self._refused = 0
        self._held: deque[_Unconfirmed] = deque()
        self._bytes = 0
        self._now = Now(0, 0)
        self._again_us = 0
        self._failures = 0
        self._is_failing = False
        self._barred: dict[str, int] = {}
        self._away = False
        self._said: set[tuple[str, str]] = set()

    @property
    def dropped(self) -> int:
        """Messages of this run, or left by an earlier one, that were given up."""
        return self._refused + self.spool.dropped

    @property
    def is_away(self) -> bool:
        """Whether messages wait on disk."""
        return not self.spool.is_empty()

    def period_s(self) -> float:
        """How soon ``step`` should be called again."""
        return BUSY_S if self.is_away and self._has_room() else CALM_S

    def publish(self, stamped: Stamped, now: Now) -> None:
        """Takes a message."""
        self._now = now
        self.published[stamped.topic] = self.published.get(stamped.topic, 0) + 1
        if self.spool.is_empty() and self._has_room():
            self._send(_Unconfirmed(stamped))
            return
        try:
            self.spool.append(stamped)
        except OSError as error:
            self._give_up(stamped, f"it can't be spooled: {error}")

    def step(self, now: Now) -> None:
        """Takes in what the producer reports and sends on what waits."""
        self._now = now
        self.producer.serve()
        self._settle()
        if self._is_stuck():
            log.warning("nothing was confirmed for %.0f s: a new producer tries", self.renew_s)
            self.producer.renew()
        if self._is_failing:
            self._send_again()
        try:
            while self._has_room() and (found := self.spool.read()):
                self._send(_Unconfirmed(*found))
        except OSError as error:
            self._say_once("spool", f"{self.spool.folder} can't be read, what is in it waits: {error}")
        self._say_when_it_changes()

    def save(self) -> None:
        """Writes down how far the spool has been confirmed; where it can't, more comes twice after a restart."""
        try:
            self.spool.save()
        except OSError as error:
            self._say_once("spool", f"how far the spool was sent can't be written down: {error}")

    def close(self, patience_s: float) -> int:
        """Sends what it can within ``patience_s`` and leaves the rest in the spool; returns how many those are."""
        self.producer.flush(patience_s)
        self._settle()
        rest = [item.stamped for item in self._held if item.fate in (None, Fate.FAILED)]
        try:
            self.spool.put_first(rest)
        except OSError as error:
            if rest:
                log.error("%d messages are lost, they can't be spooled: %s", len(rest), error)
        try:
            self.spool.close()
        except OSError as error:
            log.warning("how far the spool was sent can't be written down: %s", error)
        return len(rest)

    def _has_room(self) -> bool:
        if self._is_failing or self._bytes >= MOST_BYTES:
            return False
        return not self._held or self._now.mono_us - self._held[0].sent_us < STALL_S * SECOND_US

    def _is_stuck(self) -> bool:
        oldest = self._held[0] if self._held else None
        return (
            oldest is not None and oldest.fate is None and self._now.mono_us - oldest.sent_us > self.renew_s * SECOND_US
        )

    def _send(self, item: _Unconfirmed) -> None:
        item.fate, item.sent_us = None, self._now.mono_us
        self._bytes += len(item.stamped.value)
        self._held.append(item)
        if self._barred.get(item.stamped.topic, 0) > self._now.mono_us:
            self._report(item, Fate.REFUSED, "its topic is left alone for a while")
            return
        try:
            self.producer.send(item.stamped, lambda fate, why: self._report(item, fate, why))
        except BufferError:
            self._report(item, Fate.FAILED, "the producer has no room")

    def _report(self, item: _Unconfirmed, fate: Fate, why: str) -> None:
        item.fate = fate
        if fate is Fate.REFUSED:
            self._give_up(item.stamped, why)
        elif fate is Fate.NO_TOPIC:
            self._barred[item.stamped.topic] = self._now.mono_us + round(BARRED_S * SECOND_US)
            self._give_up(item.stamped, why)
        elif fate is Fate.FAILED:
            self._is_failing = True
            self._say_once("again", f"messages are not taken, they are sent again: {why}")
        elif self._failures:
            self._failures = 0
            self._said = {said for said in self._said if said[0] != "again"}

    def _give_up(self, stamped: Stamped, why: str) -> None:
        self._refused += 1
        self._say_once(stamped.topic, f"a message for {stamped.topic} is dropped, and others like it: {why}")

    def _say_once(self, of: str, text: str) -> None:
        if (of, text) not in self._said:
            self._said.add((of, text))
            log.warning("%s", text)

    def _settle(self) -> None:
        """Lets go of everything up to the first message that is still under way."""
        while self._held and self._held[0].fate not in (None, Fate.FAILED):
            item = self._held.popleft()
            self._bytes -= len(item.stamped.value)
            if item.place is not None:
                self.spool.confirm(item.place)

    def _send_again(self) -> None:
        """When nothing is under way any more, and after a pause, sends all that failed once more, in order."""
        if any(item.fate is None for item in self._held):
            return
        if self._again_us == 0:
            wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(self._failures, 10))
            self._failures += 1
            self._again_us = self._now.mono_us + round(wait_s * SECOND_US)
        if self._now.mono_us < self._again_us:
            return
        self._again_us, self._is_failing = 0, False
        waiting = [item for item in self._held if item.fate is Fate.FAILED]
        self._held.clear()
        self._bytes = 0
        for item in waiting:
            self._send(item)

    def _say_when_it_changes(self) -> None:
        if self.is_away != self._away:
            self._away = self.is_away
            log.warning("Kafka is away: messages wait in %s", self.spool.folder) if self._away else log.info(
                "Kafka has everything that waited"
            )
