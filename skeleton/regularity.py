"""When is a regular stream of messages silent? Its usual gap, learned from its own sendings; microseconds.

A stream is regular once it has sent ``LEARNED`` times with gaps that are alike (the longest at most twice the mean);
messages less than ``BURST_US`` apart are one sending. It is silent when nothing came for ``GAPS`` of its longest gaps.
A gap over which its numbers show that a message was lost on the way says nothing of how it usually sends. What was
never seen, or never regular, proves nothing. Cost: O(1) a message. Memory: 100 bytes a stream.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.envelope import Producer
from schemas.instants import SECOND_US

LEARNED = 4
BURST_US = SECOND_US // 2
LEAST_SILENCE_US = 5 * SECOND_US
GAPS = 3


@dataclass(slots=True)
class Regularity:
    """When a stream sent, and how regularly; ``boot`` and ``seq`` of its newest message, ``step``: its least step."""

    last_us: int
    first_us: int
    boot: str = ""
    seq: int = -1
    step: int = 0
    sendings: int = 0
    longest_us: int = 0

    def hear(self, producer: Producer, t_us: int) -> None:
        """A message came."""
        gap_us = t_us - self.last_us
        step = producer.seq - self.seq if producer.boot == self.boot else 0
        self.step = min(step, self.step or step) if step > 0 else self.step
        whole = 0 < step <= self.step
        self.boot, self.seq = producer.boot, producer.seq
        self.last_us = max(self.last_us, t_us)
        if gap_us < BURST_US:
            return
        self.sendings += 1
        if whole and not self._is_too_long(gap_us):
            self.longest_us = max(self.longest_us, gap_us)

    def is_silent(self, t_us: int) -> bool:
        """Whether it is regular and has not been heard for too long."""
        return self._is_too_long(t_us - self.last_us)

    @property
    def silent_from_us(self) -> int:
        """From when on a regular stream is silent, unless it is heard before."""
        return self.last_us + self._bearable_us + 1

    @property
    def _bearable_us(self) -> int:
        """The longest gap that is no silence yet."""
        return max(GAPS * self.longest_us, LEAST_SILENCE_US)

    def is_regular(self) -> bool:
        """Whether its sendings came often enough, and at gaps that are alike."""
        mean_us = (self.last_us - self.first_us) / max(self.sendings, 1)
        return self.sendings >= LEARNED and 0 < self.longest_us <= 2.0 * mean_us

    def _is_too_long(self, gap_us: int) -> bool:
        return gap_us > self._bearable_us and self.is_regular()


def first_heard(producer: Producer, t_us: int) -> Regularity:
    """A stream of which one message came."""
    return Regularity(t_us, t_us, producer.boot, producer.seq)
