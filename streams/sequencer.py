"""In which order do messages count? Puts the arrivals of one key in event-time order, whatever order they came in.

Arrivals wait in buckets of one second of event time. When time has come far enough (a tick minus the lateness bound),
buckets are released, each sorted by (t_us, topic, producer, boot, seq). What arrives for a released second is late:
counted, left out, never reopening a window.

Re-delivery is recognised by (producer id, boot, seq), kept ``SEEN_US`` behind the released time. A repeated number
with *other* content is not a re-delivery but a broken producer, and refused.

Cost: O(1) per arrival and a sort of each second's messages at release. Memory: the messages of lateness + 1 s, and
one number per message of ``SEEN_US``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from schemas.codec import BadRecord
from schemas.envelope import Message
from schemas.folding import Event, Observation, TimeReached
from schemas.instants import SECOND_US, window_end

SEEN_US = 120 * SECOND_US
CATCH_UP_US = 3600 * SECOND_US
"""How far back the first release of a key may begin; what is older is late, not a reason to count seconds."""

Admission = Literal["new", "duplicate", "late"]


@dataclass(slots=True)
class Counts:
    """What became of the arrivals of one key."""

    new: int = 0
    duplicate: int = 0
    late: int = 0


@dataclass(slots=True)
class Sequencer:
    """Waiting messages of one key, and what has been seen. ``released_us`` is the last whole second handed out."""

    released_us: int | None = None
    waiting: dict[int, list[Observation]] = field(default_factory=dict)
    seen: dict[tuple[str, str], dict[int, int]] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)

    def admit(self, topic: str, value: Message) -> Admission:
        """Takes one arrival in.

        Raises:
            BadRecord: ``conflicting_seq``, the producer used the number before for something else.
        """
        admission = self._judge(topic, value)
        if admission == "new":
            producer = value.producer
            self.seen.setdefault((producer.id, producer.boot), {})[producer.seq] = value.t_us
            self.waiting.setdefault(window_end(value.t_us, SECOND_US), []).append(Observation(topic, value))
        setattr(self.counts, admission, getattr(self.counts, admission) + 1)
        return admission

    def _judge(self, topic: str, value: Message) -> Admission:
        producer = value.producer
        seen_us = self.seen.get((producer.id, producer.boot), {}).get(producer.seq)
        late = self.released_us is not None and value.t_us <= self.released_us
        if seen_us is None:
            return "late" if late else "new"
        if seen_us == value.t_us and (late or self._is_waiting(topic, value)):
            return "duplicate"
        raise BadRecord(
            "conflicting_seq",
            f"{topic}: producer {producer.id} (boot {producer.boot}) used seq {producer.seq} for other content",
        )

    def _is_waiting(self, topic: str, value: Message) -> bool:
        return Observation(topic, value) in self.waiting.get(window_end(value.t_us, SECOND_US), ())

    def release(self, until_us: int) -> Iterator[Event]:
        """Hands out the events up to the whole second ``until_us``, each second followed by its ``TimeReached``."""
        first = self.released_us if self.released_us is not None else self._before_first(until_us)
        if first is None:
            return
        for second in range(first + SECOND_US, until_us + 1, SECOND_US):
            self.released_us = second
            yield from sorted(self.waiting.pop(second, ()), key=_turn)
            yield TimeReached(second)
        self._forget(until_us - SEEN_US)

    def _before_first(self, until_us: int) -> int | None:
        for second in [second for second in self.waiting if second < until_us - CATCH_UP_US]:
            late = len(self.waiting.pop(second))
            self.counts.new -= late
            self.counts.late += late
        return min(self.waiting) - SECOND_US if self.waiting else None

    def _forget(self, before_us: int) -> None:
        for stream in [stream for stream, seqs in self.seen.items() if min(seqs.values()) < before_us]:
            kept = {seq: t_us for seq, t_us in self.seen[stream].items() if t_us >= before_us}
            if kept:
                self.seen[stream] = kept
            else:
                del self.seen[stream]


def _turn(observation: Observation) -> tuple[int, str, str, str, int]:
    value = observation.value
    producer = value.producer
    return value.t_us, observation.topic, producer.id, producer.boot, producer.seq
