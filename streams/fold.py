"""A stage at work on one partition: sequencers and engine states of its keys, advanced by ticks. Pure.

Both the Faust worker and the local pipeline drive this same class; they differ only in where arrivals come from.
``admit`` takes a message in, ``advance`` lets time pass and returns what the engines have to say. ``snapshot`` and
``restore`` move a key's state in and out; waiting messages are not part of it, because their offsets are not yet
committed and they will be delivered again.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

from schemas.codec import BadRecord
from schemas.control import Tick
from schemas.envelope import Message
from schemas.folding import Emission, Engine
from schemas.instants import SECOND_US, micros, window_end
from streams.claims import Claims
from streams.parameters import Parameters
from streams.sequencer import Admission, Counts, Sequencer
from streams.stages import Stage


class StageFold:
    """The keys of one partition of one stage. ``changed`` names the keys whose state moved since the last snapshot."""

    def __init__(self, stage: Stage, parameters: Parameters) -> None:
        self.stage = stage
        self.parameters = parameters
        self.engine: Engine[Any] = stage.build(parameters)
        self.hold_us = micros(parameters.time.lateness_s + parameters.time.slack_s)
        self._raw = frozenset(stage.raw_inputs)
        self.limits = parameters.limits
        self.claims: dict[str, Claims] = {}
        self.sequencers: dict[str, Sequencer] = {}
        self.states: dict[str, Any] = {}
        self.changed: set[str] = set()
        self._live = 0
        self._now_us = 0

    def admit(self, topic: str, key: str, value: Message) -> Admission:
        """Takes one message in.

        Raises:
            BadRecord: the message contradicts an earlier one of its producer, its producer is not the one that
                speaks for this, or there are too many keys or producers.
        """
        if key not in self.sequencers:
            self._begin(key)
        if topic in self._raw:
            self.claims[key].check(topic, value, self._now_us)
        return self.sequencers[key].admit(topic, value)

    def _begin(self, key: str) -> None:
        if self._live >= self.limits.keys:
            most = self.limits.keys
            raise BadRecord(
                "too_many", f"stage {self.stage.name}: more than {most} keys in a partition, {key!r} is new"
            )
        self._live += 1
        self.claims[key] = Claims(self.limits.producers)
        self.sequencers[key] = Sequencer()
        self.states[key] = self.engine.start(key)

    def advance(self, tick: Tick) -> list[Emission]:
        """Lets event time pass up to the tick less the lateness bound (a final tick: up to its own second)."""
        self._now_us = max(self._now_us, tick.t_us)
        until_us = self.until_us(tick)
        emissions: list[Emission] = []
        for key in sorted(self.sequencers):
            emissions.extend(self._fold(key, until_us, tick.t_us))
        self._live = sum(1 for sequencer in self.sequencers.values() if sequencer.seen)
        return emissions

    def until_us(self, tick: Tick) -> int:
        """Up to which second a tick lets event time pass."""
        if tick.final:
            return window_end(tick.t_us, SECOND_US)
        return (tick.t_us - self.hold_us) // SECOND_US * SECOND_US

    def _fold(self, key: str, until_us: int, now_us: int) -> Iterable[Emission]:
        state = self.states[key]
        for event in self.sequencers[key].release(until_us, now_us):
            state, emitted = self.engine.step(state, event)
            self.changed.add(key)
            yield from emitted
        self.states[key] = state

    def counts(self) -> Counts:
        """What became of all arrivals of this partition."""
        total = Counts()
        for sequencer in self.sequencers.values():
            total.new += sequencer.counts.new
            total.duplicate += sequencer.counts.duplicate
            total.late += sequencer.counts.late
        return total

    def snapshot(self, key: str) -> bytes:
        """The key's state, without waiting messages and without their entries among the seen ones."""
        return pickle.dumps((self.sequencers[key].settled(), self.states[key], self.claims[key]), protocol=5)

    def restore(self, key: str, blob: bytes) -> None:
        """Takes up a snapshot in place of whatever is known of the key."""
        self.sequencers[key], self.states[key], *known = pickle.loads(blob)
        self.claims[key] = known[0] if known else Claims(self.limits.producers)  # of an older version
