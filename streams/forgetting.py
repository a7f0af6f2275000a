"""When is a job over, and what is known of it afterwards? Bounded memory for a stage that sees jobs come and go. Pure.

A job ends when its endpoint map says so; ``jobs.ended_s`` of event time after the last word of it, it is forgotten: its
state, its sequencer, and who spoke for it. That its map says it again is no word. A job of which nobody said that it
ended is forgotten after ``jobs.silent_s``, but only by the stages that hear of a living one all the time
(``Stage.steady``): they keep its map, and the next message of it makes it a job again.

What remains is a ``Remnant``, some 100 bytes, for ``jobs.remembered_s``. Until then

- a job that returns (a newer map that does not say ``ended``) goes on with higher versions and sequence numbers;
- what else comes of an ended job is left out and counted as late: stragglers and agents that were cut off must not
  make up a job. A user's wish is kept.

After that nothing is known of the name. A stage that has been at work for longer than ``remembered_s`` therefore lets
the versions of any job that it does not know begin at the time of day, which no version that it forgot can have
reached. So does one whose state could not be read, after an upgrade.

All this depends on event time and the time of the first tick alone, so it is the same in every replay.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field

from msgspec import structs

from schemas.envelope import Message
from schemas.folding import Event, Observation, Remains, time_out_of_mind
from schemas.instants import SECOND_US, micros
from schemas.maps import EndpointMap
from schemas.skeletons import SkeletonOverride
from streams.parameters import JobParameters
from streams.sequencer import Counts

LOOK_EVERY_US = 60 * SECOND_US
"""How often it is asked whether a job is over."""


LONG_AGO = 0
"""When a stage began whose state is lost: it may have forgotten anybody."""


@dataclass(slots=True)
class Life:
    """How a job lives: its newest endpoint map, whether that says that it ended, and when it was last heard of."""

    heard_us: int = -1
    ended: bool = False
    map_version: int = -1
    newest: EndpointMap | None = None

    def hear(self, value: Message) -> None:
        """A message of the job had its turn."""
        if isinstance(value, EndpointMap) and value.version >= self.map_version:
            again = self.ended and value.state == "ended"
            self.map_version, self.ended, self.newest = value.version, value.state == "ended", value
            if again:
                return
        self.heard_us = max(self.heard_us, value.t_us)

    def is_over(self, t_us: int, steady: bool, parameters: JobParameters) -> bool:
        """Whether the job is to be forgotten in the second ``t_us``. ``steady``: a living one would have been heard."""
        if t_us % LOOK_EVERY_US:
            return False
        silent_us = t_us - self.heard_us
        if self.ended:
            return silent_us >= micros(parameters.ended_s)
        return steady and silent_us >= micros(parameters.silent_s)


@dataclass(frozen=True, slots=True)
class Remnant:
    """What is known of a forgotten job. ``until_us``: what is older is late; ``newest``: its map, if it did not end."""

    until_us: int
    ended: bool
    map_version: int
    remains: Remains
    newest: EndpointMap | None

    def wakes(self, event: Event) -> bool:
        """Whether an event makes it a job again."""
        if not isinstance(event, Observation):
            return False
        value = event.value
        if not self.ended or isinstance(value, SkeletonOverride):
            return True
        return isinstance(value, EndpointMap) and value.state != "ended" and value.version > self.map_version

    def begin_with(self, event: Event) -> tuple[Event, ...]:
        """The events with which a job comes back: its map as it was, if it did not end, and the one that woke it."""
        if self.newest is None:
            return (event,)
        return Observation("endpoint-map", structs.replace(self.newest, t_us=event_us(event))), event


def event_us(event: Event) -> int:
    """When an event is."""
    return event.value.t_us if isinstance(event, Observation) else event.t_us


@dataclass(slots=True)
class Memory:
    """Of one partition of a stage: when it began, which jobs it forgot, and what became of their messages."""

    began_us: int | None = None
    remnants: dict[str, Remnant] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    changed: bool = False

    def begin(self, t_us: int) -> None:
        """Takes note of the first tick."""
        if self.began_us is None:
            self.began_us, self.changed = t_us, True

    def keep(self, key: str, t_us: int, life: Life, remains: Remains) -> None:
        """A job is forgotten in the second ``t_us``."""
        newest = None if life.ended else life.newest
        self.remnants[key] = Remnant(t_us, life.ended, life.map_version, remains, newest)
        self.changed = True

    def close(self, key: str, until_us: int | None, counts: Counts) -> None:
        """All that came of a forgotten job has had its turn, up to ``until_us``."""
        known = self.remnants[key]
        until_us = max(known.until_us, until_us or 0)
        self.remnants[key] = Remnant(until_us, known.ended, known.map_version, known.remains, known.newest)
        self.counts.add(counts)
        self.changed = True

    def wake(self, key: str, event: Event, parameters: JobParameters) -> Remains | None:
        """What remains of a job that begins, or comes back, with an event; None: it was never here."""
        t_us, remembered_us = event_us(event), micros(parameters.remembered_s)
        remnant = self.remnants.pop(key, None)
        self.changed |= remnant is not None
        if remnant is not None and t_us - remnant.until_us <= remembered_us:
            return remnant.remains
        has_forgotten = self.began_us is not None and t_us - self.began_us > remembered_us
        return time_out_of_mind(t_us) if has_forgotten else None

    def is_newer(self, key: str, released_us: int | None) -> bool:
        """Whether a key was forgotten after that; if it was not, it has come back since."""
        remnant = self.remnants.get(key)
        if remnant is None or (released_us or 0) <= remnant.until_us:
            return remnant is not None
        del self.remnants[key]
        self.changed = True
        return False

    def forget(self, before_us: int) -> None:
        """Drops remnants of jobs that were last heard of before that."""
        over = [key for key, remnant in self.remnants.items() if remnant.until_us < before_us]
        for key in over:
            del self.remnants[key]
        self.changed |= bool(over)

    def snapshot(self) -> bytes:
        """Everything, in bytes."""
        return pickle.dumps((self.began_us, self.remnants, self.counts), protocol=5)

    def restore(self, blob: bytes) -> None:
        """Takes up a snapshot."""
        self.began_us, self.remnants, self.counts = pickle.loads(blob)
