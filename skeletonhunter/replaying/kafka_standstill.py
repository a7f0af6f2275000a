"""Does a replay over Kafka still move? If not: who is waited for, and what did the programs say last?

A replay has no limit of time: machines differ, and a broker that is away comes back. But whoever waits for it is to
know what it waits for.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from skeletonhunter.replaying.kafka_progress import PipelineProgress
from skeletonhunter.replaying.kafka_services import Services

log = logging.getLogger(__name__)

STANDSTILL_S = 60.0


@dataclass(slots=True)
class Standstill:
    """Warns after each ``STANDSTILL_S`` in which nothing was handled. ``now_s`` is a clock."""

    progress: PipelineProgress
    running: Services
    now_s: Callable[[], float] = time.monotonic
    _state: object = None
    _since_s: float = field(init=False)
    _warned: int = 0

    def __post_init__(self) -> None:
        self._since_s = self.now_s()

    def look(self) -> None:
        """To be called again and again."""
        state = self.progress.state()
        if state != self._state:
            self._state, self._since_s, self._warned = state, self.now_s(), 0
            return
        still_s = self.now_s() - self._since_s
        if still_s < (self._warned + 1) * STANDSTILL_S:
            return
        self._warned += 1
        said = "".join(f"\n{name} said last:\n{self.running.tail(name)}" for name in self.running.children)
        late = ", ".join(self.progress.furthest_behind())
        log.warning("nothing was handled for %d s; the replay waits for %s%s", still_s, late, said)
