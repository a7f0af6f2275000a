"""Who says it, and when does it arrive? Envelopes with provenance, and lines as a recording holds them.

A stream is one topic of one agent (and one container); its ``seq`` grows by one per message sent. A line's
``arrival_us`` is the true end of the message's interval plus a transport delay.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Json = dict[str, Any]


@dataclass(frozen=True)
class Line:
    """One line of a recording."""

    topic: str
    key: str
    arrival_us: int
    value: Json


@dataclass(frozen=True)
class ClockModel:
    """The clock of one machine: true offset to the reference, and what its owner believes of it, microseconds."""

    source: str = "ptp"
    offset_us: float = 0.0
    believed_us: float = 0.0
    error_us: float = 10.0


@dataclass
class Stream:
    """Stamps the messages of one topic of one agent."""

    topic: str
    agent: str
    kind: str
    boot: str
    clock: ClockModel
    scope: Json
    key: str
    part: str = ""
    version: int = 1
    seq: int = 0
    lines: list[Line] = field(default_factory=list)

    def send(self, t_us: int, delay_us: float, body: Json) -> None:
        """Adds a message that covers what came before true time ``t_us``."""
        stamped = t_us + round(self.clock.offset_us)
        name = f"{self.topic}.{self.part}" if self.part else self.topic
        envelope = {
            "v": self.version,
            "t_us": stamped,
            "producer": {"id": f"agent:{self.agent}/{name}", "kind": self.kind, "boot": self.boot, "seq": self.seq},
            "clock": {
                "source": self.clock.source,
                "offset_us": self.clock.believed_us,
                "error_us": self.clock.error_us,
            },
        }
        self.seq += 1
        arrival_us = t_us + round(delay_us)
        self.lines.append(Line(self.topic, self.key, arrival_us, {**envelope, **self.scope, **body}))


def transport_delay_us(rng: np.random.Generator, count: int) -> np.ndarray:
    """Delays of ``count`` messages on their way to the log: at least 3 ms, median about 15 ms, log-normal tail."""
    return 3_000.0 + np.exp(rng.normal(np.log(12_000.0), 0.6, count))


def boot_id(rng: np.random.Generator) -> str:
    """A fresh boot id: 8 hex digits."""
    return f"{int(rng.integers(1 << 32)):08x}"
