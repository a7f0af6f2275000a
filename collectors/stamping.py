"""Who saw it, under which boot, as which number of its stream, by which clock: the envelope, added here alone.

``seq`` grows by one per message of a stream (``agent:<agent>/<stream>``) from 0. A restarted agent has a new ``boot``,
so the numbers need not be written down: what an earlier run left in the spool keeps its own boot and numbers. A fact
that does not fit its topic's type gets no number and raises ``ValueError``: a bug or a bad reading of the part.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import msgspec

from collectors.observing import Now, Observed
from schemas.codec import encode
from schemas.envelope import Clock, Value
from schemas.topics import Topic, topic

KIND = "host-agent"


class Stamped(msgspec.Struct, frozen=True, array_like=True):
    """A message as it goes to Kafka."""

    topic: str
    key: str
    value: bytes


def new_boot(now: Now) -> str:
    """A name for this run of the agent: when it began, and four random bytes against a clock that was set back."""
    return f"{now.t_us:x}-{os.urandom(4).hex()}"


class Stamper:
    """Turns facts of one agent's run into messages; ``clock`` tells how far the host's clock may be off."""

    def __init__(self, agent: str, boot: str, fabric: str, clock: Callable[[], Clock]) -> None:
        self.agent = agent
        self.boot = boot
        self.fabric = fabric
        self.clock = clock
        self._next: dict[str, int] = {}

    def stamp(self, observed: Observed) -> Stamped:
        """The message.

        Raises:
            ValueError: the fact does not fit its topic's type; names topic, field and expectation.
            KeyError: there is no such topic.
        """
        spec = topic(observed.topic)
        seq = self._next.get(observed.stream, 0)
        value = self._value(spec, observed, seq)
        stamped = Stamped(observed.topic, str(getattr(value, spec.key)), encode(observed.topic, value))
        self._next[observed.stream] = seq + 1
        return stamped

    def _value(self, spec: Topic, observed: Observed, seq: int) -> Value:
        producer = {"id": f"agent:{self.agent}/{observed.stream}", "kind": KIND, "boot": self.boot, "seq": seq}
        fields: dict[str, Any] = {
            **observed.fields,
            "v": spec.newest,
            "t_us": observed.t_us,
            "producer": producer,
            "clock": self.clock(),
            "fabric": self.fabric,
        }
        try:
            value: Value = msgspec.convert(fields, spec.value_type)
        except msgspec.ValidationError as error:
            raise ValueError(f"{observed.topic}: {error}") from error
        return value
