"""Which offsets may be committed? Of a topic that several stages of one worker read, what none of them needs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Spot = tuple[str, int]
"""(topic without prefix, partition)"""


class SharedOffsets:
    """Offsets that the stages of one worker have let go of; the lowest one counts."""

    def __init__(self) -> None:
        self._safe: dict[Spot, dict[str, int]] = {}
        self._changed: set[Spot] = set()

    def let_go(self, stage: str, partition: int, safe: Mapping[str, int]) -> None:
        """Records of ``safe``'s topics below these offsets will not be needed again by this stage."""
        for topic, offset in safe.items():
            self._safe.setdefault((topic, partition), {})[stage] = offset
            self._changed.add((topic, partition))

    def put_back(self, spots: Iterable[Spot]) -> None:
        """What was taken could not be committed; it is to be taken again, as far as it is still known."""
        self._changed.update(spot for spot in spots if spot in self._safe)

    def forget(self) -> None:
        """The partitions were taken away."""
        self._safe.clear()
        self._changed.clear()

    def take(self) -> dict[Spot, int]:
        """The offsets to commit: those that changed since the last call."""
        changed = {spot: min(self._safe[spot].values()) for spot in self._changed}
        self._changed.clear()
        return changed
