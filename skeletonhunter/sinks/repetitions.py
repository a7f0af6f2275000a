"""While Kafka is away its clients say each refused connection: librdkafka some twenty lines a second, aiokafka more
than a hundred. One in half a minute tells as much, with the number of those that were left out.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

EVERY_S = 30.0
MOST_KINDS = 1000
LIBRDKAFKA = "%s [%s] %s"
"""How confluent-kafka passes on what librdkafka says: facility, client, words."""
AIOKAFKA = "aiokafka"
_NUMBERS = re.compile(r"\d+")


@dataclass
class Repetitions(logging.Filter):
    """Lets a line of a Kafka client pass if none like it, but for its numbers, did in the last ``EVERY_S`` seconds."""

    now_s: Callable[[], float] = time.monotonic
    _told: dict[str, tuple[float, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is to be logged; says how many like it were not."""
        if record.msg != LIBRDKAFKA and record.name.partition(".")[0] != AIOKAFKA:
            return True
        now_s = self.now_s()
        kind = _NUMBERS.sub("", record.getMessage())
        since_s, left_out = self._told.get(kind, (-EVERY_S, 0))
        if now_s - since_s < EVERY_S:
            self._told[kind] = since_s, left_out + 1
            return False
        if len(self._told) >= MOST_KINDS:
            self._told.clear()
        self._told[kind] = now_s, 0
        if left_out:
            record.msg, record.args = f"{record.getMessage()} ({left_out} more like it in between)", None
        return True
