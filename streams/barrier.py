"""When may a tick be acted upon? When all that was sent before it has been read. Pure.

A partition of a stage has one queue of ticks per source: the clock, and each partition of each upstream stage. The
oldest tick of the clock is *due* when (1) every source has come at least that far, and (2) the partition has read its
topics up to the offsets that these ticks name. So it does not matter in which order Kafka hands over its topics.

Ticks come again after a crash, and several clocks may tick: what is not later than the last tick handled (of the clock)
or the last one noted (of a source) is ignored. A source that skips a second, because its clock ticks got lost, is
covered by its next one: having come to a later instant it has come to the earlier one as well.

An offset that a log will not come to, because its end was lost, is waived: nothing is waited for there any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from schemas.control import Tick

CLOCK = "clock"


class Moment(NamedTuple):
    """How far time has come; the final tick of a recording comes after all others of its instant."""

    t_us: int
    final: bool


BEGINNING = Moment(-1, False)


class Noted(NamedTuple):
    """A tick and the offset of the record that it came in."""

    tick: Tick
    offset: int


def moment_of(tick: Tick) -> Moment:
    """When a tick stands."""
    return Moment(tick.t_us, tick.final)


class Barrier:
    """Ticks of one partition of one stage; ``handled`` is the last one that was acted upon."""

    def __init__(self, upstream: Iterable[str], handled: Moment = BEGINNING) -> None:
        self.handled = handled
        self._queues: dict[str, deque[Noted]] = {source: deque() for source in (CLOCK, *upstream)}
        self._noted = dict.fromkeys(self._queues, handled)
        self._waived: dict[str, frozenset[int]] = {}

    def listens_to(self, source: str) -> bool:
        """Whether ticks of ``source`` matter here."""
        return source in self._queues

    def note(self, tick: Tick, offset: int) -> None:
        """Takes in a tick of a source that is listened to."""
        moment = moment_of(tick)
        if moment > self._noted[tick.source]:
            self._noted[tick.source] = moment
            self._queues[tick.source].append(Noted(tick, offset))

    def due(self, positions: Mapping[str, int]) -> Tick | None:
        """The clock's tick to act upon now; None = none, or something that was sent before it has not been read."""
        ticks = self._together()
        if ticks is None or any(self._missing(tick, positions) for tick in ticks):
            return None
        return ticks[0]

    def missing(self, positions: Mapping[str, int]) -> dict[str, int]:
        """Topics that the next tick waits for, with the offset that must be reached; empty = it waits for no topic."""
        missing: dict[str, int] = {}
        for tick in self._together() or ():
            for topic, offset in self._missing(tick, positions).items():
                missing[topic] = max(offset, missing.get(topic, 0))
        return missing

    def waive(self, topic: str, end: int) -> None:
        """The log of ``topic`` ends at ``end``: what the noted ticks name beyond that is not waited for."""
        named = {noted.tick.offsets.get(topic, 0) for queue in self._queues.values() for noted in queue}
        self._waived[topic] = frozenset(offset for offset in named if offset > end)

    def passed(self, tick: Tick) -> None:
        """The tick has been acted upon: it and what came before it is done."""
        self.handled = moment_of(tick)
        for queue in self._queues.values():
            while queue and moment_of(queue[0].tick) <= self.handled:
                queue.popleft()

    def oldest_offset(self) -> int | None:
        """The lowest offset of the ticks that are not done; None = all are."""
        return min((noted.offset for queue in self._queues.values() for noted in queue), default=None)

    def _missing(self, tick: Tick, positions: Mapping[str, int]) -> dict[str, int]:
        return {
            topic: offset
            for topic, offset in tick.offsets.items()
            if positions.get(topic, offset) < offset and offset not in self._waived.get(topic, ())
        }

    def _together(self) -> list[Tick] | None:
        """The next tick of the clock and each source's ticks up to the first not before it; None = one has not come."""
        clock, *sources = self._queues.values()
        if not clock:
            return None
        ticks = [clock[0].tick]
        moment = moment_of(ticks[0])
        for queue in sources:
            if not queue or moment_of(queue[-1].tick) < moment:
                return None
            for noted in queue:
                ticks.append(noted.tick)
                if moment_of(noted.tick) >= moment:
                    break
        return ticks
