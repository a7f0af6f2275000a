"""Which records count before a tick? Records wait here in bytes until the tick that they belong to is acted upon. Pure.

What entered from outside belongs to a tick by its offset: the clock's tick names the offsets below which it had come.
What a stage sent belongs to the tick that made it send, which it carries as its arrival. So the same records are taken
in before each tick, however far Kafka had already handed over this topic or that: a late message is late every time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from schemas.control import Tick
from streams.ledger import OffsetLedger
from streams.records import Record


class Inbox:
    """Waiting records of one partition of one stage: of ``raw`` topics and of ``derived`` ones, which stages write."""

    def __init__(self, raw: Iterable[str], derived: Iterable[str], positions: Mapping[str, int]) -> None:
        self._raw: dict[str, deque[Record]] = {topic: deque() for topic in raw}
        self._derived: dict[str, deque[Record]] = {topic: deque() for topic in derived}
        self._queues = self._raw | self._derived
        self.ledger = OffsetLedger(self._queues, positions)

    def receive(self, record: Record) -> None:
        """Takes a record in, unless it had been read before."""
        if self.ledger.read(record.topic, record.offset):
            self._queues[record.topic].append(record)

    def take(self, tick: Tick) -> Iterator[Record]:
        """Hands out the records that count before ``tick``; those of a topic in their order."""
        for topic, queue in self._raw.items():
            end = tick.offsets.get(topic, 0)
            while queue and (tick.final or queue[0].offset < end):
                yield queue.popleft()
        for topic, queue in self._derived.items():
            if queue:
                records = list(queue)
                self._derived[topic] = self._queues[topic] = deque(r for r in records if not _counts(r, tick))
                yield from (record for record in records if _counts(record, tick))

    def safe(self) -> dict[str, int]:
        """By topic, the lowest offset that is still needed."""
        return {
            topic: min(self.ledger.safe(topic), queue[0].offset if queue else self.ledger.positions[topic])
            for topic, queue in self._queues.items()
        }

    def waiting(self) -> int:
        """How many records wait."""
        return sum(len(queue) for queue in self._queues.values())


def _counts(record: Record, tick: Tick) -> bool:
    return tick.final or record.arrival_us <= tick.t_us
