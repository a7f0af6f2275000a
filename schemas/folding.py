"""What an engine is: a fold over events in event time.

``step(state, event) -> (state, emissions)`` is deterministic and reads no clock, no network and no global. It *owns*
the state that it is given: it may change it in place and return it, and the caller must not use the old one again.
A state pickles, and folding may go on from the pickle on another machine with the same result.

Events of one key arrive in a total order that does not depend on the order of arrival: by ``t_us``, then topic,
producer, boot and sequence number. After all observations with ``t_us`` <= a whole second comes ``TimeReached`` of that
second, exactly once per second, also when nothing was observed: silence is noticed through it. Of a gap of more than a
month, which only a wrong clock makes, it comes for the last hour.

What comes too late is left out, except a map or the like (``Topic.lasting``): it counts from the next second on, its
``t_us`` moved to that second's beginning. So ``t_us`` never lies before the last ``TimeReached``, and an emission that
is stamped with it never comes late to the next stage. A late map may be older than one seen before: compare versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from msgspec import Struct

from schemas.envelope import Clock, Message, Producer, Value
from schemas.instants import SECOND_US
from schemas.skeletons import SkeletonOverride

State = TypeVar("State")


class Observation(NamedTuple):
    """A message, in its turn."""

    topic: str
    value: Message


class Stray(NamedTuple):
    """A producer whose message came outside its time. ``lead_us``: the message's ``t_us`` less the time that had come:
    positive if it came before its time, which only a clock that is ahead can do; negative if it was too late."""

    topic: str
    producer: str
    lead_us: int


class TimeReached(NamedTuple):
    """Event time has come to this whole second: everything up to it has been observed, or is late and left out.

    ``strays``: who was left out, or came before its time, since the last one; each producer once, the farthest off.
    """

    t_us: int
    strays: tuple[Stray, ...] = ()


Event = Observation | TimeReached


class Emission(NamedTuple):
    """A message to send."""

    topic: str
    key: str
    value: Value


class Engine(Protocol[State]):
    """A fold over the events of one key (a job or a fabric)."""

    def start(self, key: str) -> State:
        """The state before the first event of ``key``."""

    def step(self, state: State, event: Event) -> tuple[State, Sequence[Emission]]:
        """The state after ``event``, and what to send."""


class Remains(Struct, frozen=True):
    """What outlives a job's state once it is forgotten: the last version and sequence number, and its users' wish."""

    version: int = 0
    sent: int = 0
    wish: SkeletonOverride | None = None


def time_out_of_mind(t_us: int) -> Remains:
    """What remains of a job that may have been here so long ago that nothing is remembered: numbers that are higher
    than any that it had, since versions grow by less than one a second and messages by less than one a microsecond."""
    return Remains(version=t_us // SECOND_US, sent=t_us)


@runtime_checkable
class ForgettingEngine(Engine[State], Protocol):
    """An engine that goes on from what remains of a key (``streams.forgetting``)."""

    def remains(self, state: State) -> Remains:
        """What must be known should the key come back."""

    def resume(self, key: str, remains: Remains) -> State:
        """As ``start``, with versions and sequence numbers that go on from there."""


@runtime_checkable
class JoiningEngine(Engine[State], Protocol):
    """An engine that lets time reach many keys in one go, which costs less than one after another.

    Who strayed it is not told.
    """

    def reach(self, states: Sequence[State], t_us: int) -> Sequence[Sequence[Emission]]:
        """What to send, by key, when time has come to ``t_us``; the states are changed in place.

        As ``step`` with ``TimeReached`` for each: neither what is sent for a key nor its state depends on the others.
        """


@runtime_checkable
class ReadingEngine(Engine[State], Protocol):
    """An engine that has messages in a form of its own, and takes them in the usual one too."""

    def read(self, topic: str, raws: Sequence[bytes]) -> Sequence[Message | None]:
        """As ``schemas.quick.read`` of each."""


DERIVED_CLOCK = Clock(source="none", offset_us=0.0, error_us=0.0)
"""Conclusions are stamped in event time, not by a clock of their own."""


def derived_producer(stage: str, key: str, seq: int) -> Producer:
    """Provenance of a conclusion: the fold of ``key`` in ``stage``; the same on every replay, so boot is constant."""
    return Producer(id=f"{stage}:{key}", kind="stage", boot="fold", seq=seq)
