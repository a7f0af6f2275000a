"""Which values does each part have? Read from what it counts anyway, at the moment when Prometheus asks.

The functions run in another thread than the part. They only read; a dictionary that changes its size meanwhile raises
``RuntimeError``, and the page is read again (``collectors.exposing``).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version

from schemas.metrics import Part, Reading, instant
from skeletonhunter.sinks.kafka_source import Reading as Read


@dataclass(slots=True)
class Flow:
    """What a sink or an alert sender has read of each topic: messages, and when the newest had come (us)."""

    messages: Counter[str] = field(default_factory=Counter)
    newest_us: dict[str, int] = field(default_factory=dict)

    def note(self, read: Read) -> None:
        """Counts what was read."""
        for record in read.records:
            self.messages[record.topic] += 1
            self.newest_us[record.topic] = max(record.arrival_us, self.newest_us.get(record.topic, 0))

    def readings(self, part: Part) -> Iterator[Reading]:
        """Its values."""
        for topic, count in self.messages.items():
            yield Reading("messages_received_total", count, (part, topic))
        for topic, t_us in self.newest_us.items():
            yield instant("newest_arrival_timestamp_seconds", t_us, part, topic)


class Start:
    """Which part this is, and since when it runs."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.at_us = time.time_ns() // 1000

    def readings(self) -> Iterator[Reading]:
        """Its values."""
        yield Reading("info", 1, (self.part, version("skeletonhunter")))
        yield instant("start_timestamp_seconds", self.at_us, self.part)


def dead_letters(part: Part, counts: Mapping[tuple[str, str], int]) -> Iterable[Reading]:
    """Values of dead letters by topic and reason."""
    return [Reading("dead_letters_total", count, (part, *about)) for about, count in counts.items()]
