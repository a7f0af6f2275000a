"""From which offset on must a partition be read again after a crash? Keeps what is read apart from what is done. Pure.

A message that waits for its second is not in any snapshot, so the offset of its topic must not move past it. The ledger
keeps, per topic, the next offset to read (``positions``) and the lowest offset of the messages of each second that were
admitted and not yet released. ``safe`` is the lowest offset that is still needed: everything below is in the snapshots
that are taken now. Offsets only move in contiguous prefixes that way, whatever order messages are done in.

Cost: O(1) per message, O(waiting seconds) per question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from schemas.instants import SECOND_US, window_end


class OffsetLedger:
    """Offsets of all topics of one partition of one stage. ``positions`` are the next offsets to read."""

    def __init__(self, topics: Iterable[str], positions: Mapping[str, int]) -> None:
        self.positions = {topic: positions.get(topic, 0) for topic in topics}
        self._held: dict[str, dict[int, int]] = {topic: {} for topic in self.positions}

    def read(self, topic: str, offset: int) -> bool:
        """Takes note that a record was read; False = it had been read before, and is to be ignored."""
        if offset < self.positions[topic]:
            return False
        self.positions[topic] = offset + 1
        return True

    def hold(self, topic: str, offset: int, t_us: int) -> None:
        """A message waits for its turn in the second of ``t_us``."""
        held = self._held[topic]
        second = window_end(t_us, SECOND_US)
        if offset < held.get(second, offset + 1):
            held[second] = offset

    def held(self, topic: str) -> dict[int, int]:
        """By second, the lowest offset of the messages of ``topic`` that wait: for ``hold``ing many, in their order."""
        return self._held[topic]

    def release(self, until_us: int) -> None:
        """All messages of seconds up to ``until_us`` have been folded."""
        for held in self._held.values():
            for second in [second for second in held if second <= until_us]:
                del held[second]

    def safe(self, topic: str) -> int:
        """The lowest offset of ``topic`` that is still needed."""
        return min(self._held[topic].values(), default=self.positions[topic])

    def begin_again(self, topic: str, position: int) -> None:
        """The topic has another log, which begins at ``position``."""
        self.positions[topic] = position
        self._held[topic].clear()

    def skip(self, topic: str, position: int) -> None:
        """What lies below ``position`` does not exist any more."""
        self.positions[topic] = max(self.positions[topic], position)
