"""A stage at work on one partition: sequencers and engine states of its keys, advanced by ticks. Pure.

Both the Faust worker and the local pipeline drive this same class; they differ only in where arrivals come from.
``admit`` takes a message in, ``advance`` lets time pass and returns what the engines have to say. ``snapshots`` and
``restore`` move states in and out; waiting messages are not part of them, because their offsets are not yet committed
and they will be delivered again. Jobs that are over are forgotten (``streams.forgetting``).
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from schemas import quick
from schemas.codec import BadRecord
from schemas.control import Tick
from schemas.envelope import Message, Value
from schemas.folding import (
    Emission,
    Engine,
    Event,
    ForgettingEngine,
    JoiningEngine,
    Observation,
    ReadingEngine,
    TimeReached,
)
from schemas.instants import SECOND_US, micros, window_end
from streams.claims import Claims
from streams.forgetting import Life, Memory
from streams.parameters import Parameters
from streams.sequencer import FAR_US, Admission, Counts, Sequencer
from streams.stages import Stage

MEMORY = ""
"""The key under which the memory of forgotten keys is written down; no job or fabric is called that."""


class StageFold:
    """The keys of one partition of one stage. ``changed`` names the keys whose state moved since the last snapshot.

    A key without a state sleeps: it was forgotten, or no event of it has had its turn yet. ``now_us``: the last tick's
    time, 0 = none came yet; ``raw``: topics that come from outside.
    """

    def __init__(self, stage: Stage, parameters: Parameters) -> None:
        self.stage = stage
        self.parameters = parameters
        self.engine: Engine[Any] = stage.build(parameters)
        self.hold_us = micros(parameters.time.lateness_s + parameters.time.slack_s)
        self.raw = frozenset(stage.raw_inputs)
        self.limits = parameters.limits
        self.claims: dict[str, Claims] = {}
        self.sequencers: dict[str, Sequencer] = {}
        self.states: dict[str, Any] = {}
        self.lives: dict[str, Life] = {}
        self.memory = Memory()
        self._forgets = self.engine if isinstance(self.engine, ForgettingEngine) else None
        self._joins = self.engine if isinstance(self.engine, JoiningEngine) else None
        self._reads = self.engine if isinstance(self.engine, ReadingEngine) else None
        self.changed: set[str] = set()
        self._live = 0
        self.now_us = 0

    def read(self, topic: str, raws: Sequence[bytes]) -> Sequence[Value | None]:
        """Messages for ``admit`` from bytes; None = one has to be read the plain way."""
        return [quick.read(topic, raw) for raw in raws] if self._reads is None else self._reads.read(topic, raws)

    def admit(self, topic: str, key: str, value: Message, come_us: int = 0) -> Admission:
        """Takes one message in. ``come_us``: the time that has come, where that is later than the last tick.

        Raises:
            BadRecord: the message contradicts an earlier one of its producer, its producer is not the one that
                speaks for this, or there are too many keys or producers.
        """
        if 0 < max(self.now_us, come_us) < value.t_us - FAR_US:
            return self._leave_out(topic, key, value)
        if key not in self.sequencers:
            self._begin(key)
        if topic in self.raw:
            self.claims[key].check(topic, value, self.now_us)
        return self.sequencers[key].admit(topic, value)

    def _leave_out(self, topic: str, key: str, value: Message) -> Admission:
        """Leaves a message from far ahead of its time out; a key of which there is nothing else does not begin."""
        if key in self.sequencers:
            self.sequencers[key].leave_out(topic, value.producer.id, value.t_us)
        else:
            self.memory.counts.late += 1
        return "late"

    def _begin(self, key: str) -> None:
        if self._live >= self.limits.keys:
            most = self.limits.keys
            raise BadRecord(
                "too_many", f"stage {self.stage.name}: more than {most} keys in a partition, {key!r} is new"
            )
        self._live += 1
        self.claims[key] = Claims(self.limits.producers)
        remnant = self.memory.remnants.get(key)
        self.sequencers[key] = Sequencer(remnant.until_us, resting=True) if remnant else Sequencer()

    def advance(self, tick: Tick) -> list[Emission]:
        """Lets event time pass up to the tick less the lateness bound (a final tick: up to its own second)."""
        self.now_us = max(self.now_us, tick.t_us)
        until_us = self.until_us(tick)
        if self._forgets is not None:
            self.memory.begin(tick.t_us)
            self.memory.forget(until_us - micros(self.parameters.jobs.remembered_s))
        turns = {key: self.sequencers[key].release(until_us, tick.t_us) for key in sorted(self.sequencers)}
        said: dict[str, list[Emission]] = {key: [] for key in turns}
        going = list(turns)
        while going:
            reached = {key: t_us for key in going if (t_us := self._fold(key, turns[key], said[key])) is not None}
            self._close(reached, said)
            going = list(reached)
        for key in turns:
            if key in self.memory.remnants:
                self._sleep(key)
        self._live = sum(1 for sequencer in self.sequencers.values() if sequencer.seen)
        return [emission for own in said.values() for emission in own]

    def until_us(self, tick: Tick) -> int:
        """Up to which second a tick lets event time pass."""
        if tick.final:
            return window_end(tick.t_us, SECOND_US)
        return (tick.t_us - self.hold_us) // SECOND_US * SECOND_US

    def _fold(self, key: str, events: Iterator[Event], said: list[Emission]) -> int | None:
        """Steps through the key's next events until one is a second that waits to be closed, which it returns."""
        states, step, joins, changed = self.states, self.engine.step, self._joins is not None, self.changed
        for event in events:
            changed.add(key)
            for due in (event,) if key in states else self._begin_with(key, event):
                if joins and isinstance(due, TimeReached):
                    return due.t_us
                states[key], emitted = step(states[key], due)
                if emitted:
                    said += emitted
                self._live_on(key, due)
        return None

    def _close(self, reached: Mapping[str, int], said: Mapping[str, list[Emission]]) -> None:
        """Lets time reach the keys; those whose seconds are the same in one go."""
        by_second: dict[int, list[str]] = {}
        for key, t_us in reached.items():
            by_second.setdefault(t_us, []).append(key)
        for t_us, keys in by_second.items():
            assert self._joins is not None  # or nothing would wait
            emitted = self._joins.reach([self.states[key] for key in keys], t_us)
            for key, own in zip(keys, emitted, strict=True):
                said[key] += own
                self._live_on(key, TimeReached(t_us))

    def _begin_with(self, key: str, event: Event) -> tuple[Event, ...]:
        """Gives a key a state from this event on; returns the events to step through: none if the key sleeps on."""
        if self._forgets is None:
            self.states[key] = self.engine.start(key)
            return (event,)
        remnant = self.memory.remnants.get(key)
        if remnant is not None and not remnant.wakes(event):
            if isinstance(event, Observation):
                self.sequencers[key].counts.leave_out()
            return ()
        known = self.memory.wake(key, event, self.parameters.jobs)
        self.states[key] = self.engine.start(key) if known is None else self._forgets.resume(key, known)
        self.lives[key] = Life() if remnant is None else Life(ended=remnant.ended, map_version=remnant.map_version)
        return (event,) if remnant is None else remnant.begin_with(event)

    def _live_on(self, key: str, event: Event) -> None:
        """Follows what is heard of a key, and forgets it when it is over."""
        if self._forgets is None:
            return
        if isinstance(event, Observation):
            self.lives[key].hear(event.value)
        elif self.lives[key].is_over(event.t_us, self.stage.steady, self.parameters.jobs):
            remains = self._forgets.remains(self.states.pop(key))
            self.memory.keep(key, event.t_us, self.lives.pop(key), remains)

    def _sleep(self, key: str) -> None:
        """Keeps of a forgotten key no more than the messages that wait for their turn."""
        sequencer = self.sequencers[key]
        until_us = sequencer.released_us
        if sequencer.waiting:
            sequencer.resting = True
            self.memory.close(key, until_us, Counts())
        else:
            self.memory.close(key, until_us, sequencer.counts)
            del self.sequencers[key], self.claims[key]

    def counts(self) -> Counts:
        """What became of all arrivals of this partition."""
        total = Counts()
        for counts in (self.memory.counts, *(sequencer.counts for sequencer in self.sequencers.values())):
            total.add(counts)
        return total

    def snapshots(self) -> Iterator[tuple[str, bytes | None]]:
        """What has changed since ``written``, to be written in this order; None: there is no such key any more.

        A key that comes back is written before the memory that does not have it any more, and one that is forgotten is
        deleted after the memory has it: whatever row is the last before a crash, no key is in neither.
        """
        changed = sorted(self.changed)
        yield from ((key, self.snapshot(key)) for key in changed if key in self.states)
        if self.memory.changed:
            yield MEMORY, self.memory.snapshot()
        yield from ((key, None) for key in changed if key not in self.states)

    def written(self) -> None:
        """All snapshots are safe."""
        self.changed.clear()
        self.memory.changed = False

    def snapshot(self, key: str) -> bytes:
        """The key's state, without waiting messages and without their entries among the seen ones."""
        known = (self.sequencers[key].settled(), self.states[key], self.claims[key], self.lives.get(key))
        return pickle.dumps(known, protocol=5)

    def restore(self, key: str, blob: bytes) -> None:
        """Takes up a snapshot in place of whatever is known of the key; the memory comes before all others."""
        if key == MEMORY:
            self.memory.restore(blob)
            return
        sequencer, state, claims, life = pickle.loads(blob)
        if not self.memory.is_newer(key, sequencer.released_us):
            self.sequencers[key], self.states[key], self.claims[key] = sequencer, state, claims
            if life is not None:
                self.lives[key] = life
        else:
            self.changed.add(key)
