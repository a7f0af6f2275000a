"""When may the next tick follow? At once, or, after a gap in the ticks, when agents have sent what they kept in it.

A gap is time in which Kafka did not answer. A leader that has just begun does not know whether it did, and asks for the
newest tick of all. That a busy worker was late to ask, or to hear the answer, is no gap: agents could send. What the
wait is made of is in ``streams.settling``; here it is begun, fed with heartbeats, ended and told.

A turn: ``is_over``; if so the ends of logs are asked for; ``still_holds``; if so the tick is written; ``ticked``.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from confluent_kafka import KafkaException

from schemas.instants import SECOND_US
from streams.settling import SETTLE_S, Beat, Settling

log = logging.getLogger(__name__)

AWAY_S = 3.0
"""In a gap that is longer agents may hold back more than the lateness bound allows: they connect within 2 s."""
LOOK_BACK_S = 60.0
"""No agent's heartbeats are further apart."""
MOST_BACK_S = 300.0
STALE_S = 20.0
"""Who has not had a turn for so long was not the leader, and does not know whether Kafka was away."""
NEVER_S = float("-inf")


class Moment(NamedTuple):
    """Wall clock, microseconds since the epoch, and monotonic seconds."""

    t_us: int
    mono_s: float


def now() -> Moment:
    """The present one."""
    return Moment(time.time_ns() // 1000, time.monotonic())


class HeartbeatsPort(Protocol):
    """Heartbeats as they come (``streams.heartbeats``)."""

    has_all: bool

    def read(self) -> Iterator[Beat]:
        """What has come.

        Raises:
            KafkaException: it can't be read.
        """

    def close(self) -> None:
        """Reads no more."""


class Patience:
    """Says whether time may go on; blocks for as long as Kafka takes to answer.

    ``newest_us`` tells the newest tick of all (None: there is none; raises ``TopicError``), ``open_heartbeats`` those
    since an instant (raises ``KafkaException``).

    Where answers are slow, and never missing, time waits once and not before each tick: the machine is slow, not away.
    """

    def __init__(
        self,
        newest_us: Callable[[], int | None],
        open_heartbeats: Callable[[int], HeartbeatsPort],
        clocks: Callable[[], Moment] = now,
    ) -> None:
        self._waited_s = 0.0
        self._newest_us, self._open, self._clocks = newest_us, open_heartbeats, clocks
        self._since_s: float | None = NEVER_S  # the beginning of the first turn that has not ended well
        self._ended_s = NEVER_S
        self._settling: Settling | None = None
        self._heartbeats: HeartbeatsPort | None = None
        self._is_spent = False
        self._is_slow = self._is_refused = False

    @property
    def waited_s(self) -> float:
        """For how long time waited in all, seconds."""
        settling = self._settling
        return self._waited_s + (self._clocks().mono_s - settling.since_s if settling is not None else 0.0)

    def is_over(self) -> bool:
        """Whether agents have had time to send what waited, if anything did.

        Raises:
            TopicError: Kafka does not answer.
        """
        settling = self._settling
        if settling is None:
            gap_s = self._gap_s()
            if gap_s <= AWAY_S or self._is_spent:
                return True
            settling = self._settling = self._begin(gap_s)
        self._listen(settling)
        present = self._clocks()
        if not settling.may_go_on(present.mono_s, self._heartbeats is None or self._heartbeats.has_all):
            return False
        self._end(settling, present)
        return True

    def still_holds(self, asked_s: float) -> bool:
        """Whether a tick may follow though the question for the ends took ``asked_s``.

        An answer that was long in coming came after an outage; one that is slow again, from a machine that is slow.
        """
        self._is_slow = asked_s > AWAY_S
        self._is_refused = self._is_slow and not self._is_refused and not self._is_spent
        return not self._is_refused

    def ticked(self, wrote_s: float) -> None:
        """The tick is in Kafka, which took it within ``wrote_s``."""
        self._ended_s = self._clocks().mono_s
        if wrote_s <= AWAY_S and not self._is_slow:
            self._since_s, self._is_spent = None, False

    def failed(self) -> None:
        """Kafka did not answer."""
        self._is_spent = False

    def _gap_s(self) -> float:
        """For how long there was no tick because Kafka did not answer, as far as is known; 0 if there never was one."""
        present = self._clocks()
        if self._since_s is None:
            is_leading = present.mono_s - self._ended_s <= STALE_S
            self._since_s = present.mono_s if is_leading else self._ended_s
        own_s = present.mono_s - self._since_s
        if own_s <= AWAY_S:
            return own_s
        newest_us = self._newest_us()
        gap_s = 0.0 if newest_us is None else min(own_s, (self._clocks().t_us - newest_us) / SECOND_US)
        if gap_s < -AWAY_S:
            log.warning("the newest tick is %.0f s ahead of this machine's clock: time stands still until then", -gap_s)
        self._since_s = self._clocks().mono_s - gap_s
        return gap_s

    def _begin(self, gap_s: float) -> Settling:
        log.warning("no tick for %.0f s: before time goes on, agents send what they kept", gap_s)
        present = self._clocks()
        return Settling(gap_s, present.t_us, present.mono_s)

    def _listen(self, settling: Settling) -> None:
        """Hears what has come; what can't be read now, as just after a broker has begun, is tried again next time."""
        back_s = min(settling.gap_s, MOST_BACK_S) + LOOK_BACK_S
        try:
            if self._heartbeats is None:
                self._heartbeats = self._open(settling.since_us - round(back_s * SECOND_US))
            settling.hear(self._heartbeats.read())
            settling.blind = False
        except KafkaException as error:
            if not settling.blind:
                log.warning(
                    "heartbeats can't be read, time waits for at least %.0f s: %s", SETTLE_S, error.args[0].str()
                )
            settling.blind = True
            self._close()

    def _end(self, settling: Settling, present: Moment) -> None:
        self._since_s = present.mono_s
        waited_s = present.mono_s - settling.since_s
        behind, _ = settling.behind()
        log.warning("time goes on after %.1f s; %d of %d agents are still behind", waited_s, behind, settling.agents)
        self._is_spent = True
        self._settling, self._waited_s = None, self._waited_s + waited_s
        self._close()

    def _close(self) -> None:
        if self._heartbeats is not None:
            self._heartbeats.close()
            self._heartbeats = None
