"""How long until a program has handled all that waited for it? Measured from when nothing hinders it any more."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaException, TopicPartition

from skeletonhunter.replaying.kafka_sinks import Sink
from skeletonhunter.settings import KafkaSettings
from streams.offsets import Spot

LOOK_EVERY_S = 0.25
TIMEOUT_S = 2.0


def _nothing() -> None:
    """There is nothing to close."""


@dataclass
class Watch:
    """Looks now and then whether something ``holds``; ``seconds`` is how long that took from when this was made."""

    name: str
    holds: Callable[[], bool]
    close: Callable[[], None] = _nothing
    seconds: float | None = None
    _begun_s: float = field(default_factory=time.monotonic)
    _look_s: float = 0.0

    def is_over(self) -> bool:
        """Whether it holds, or did before."""
        if self.seconds is None and time.monotonic() >= self._look_s:
            if self.holds():
                self.seconds = time.monotonic() - self._begun_s
                self.close()
            self._look_s = time.monotonic() + LOOK_EVERY_S
        return self.seconds is not None


def watch_sink(settings: KafkaSettings, sink: Sink, ends: Mapping[Spot, int]) -> Watch:
    """Watches the consumer groups of a sink until they have committed ``ends``."""
    awaited = {spot: end for spot, end in ends.items() if end and spot[0] in sink.topics}
    spots = [TopicPartition(settings.prefix + topic, number) for topic, number in awaited]
    consumers = [
        Consumer({"bootstrap.servers": settings.url, "group.id": settings.prefix + group, "log_level": 0})
        for group in sink.groups
    ]

    def is_committed() -> bool:
        if not spots:
            return True
        with suppress(KafkaException):  # a broker that has just come back
            found = [spot for each in consumers for spot in each.committed(spots, timeout=TIMEOUT_S)]
            return all(
                spot.offset >= awaited[spot.topic.removeprefix(settings.prefix), spot.partition] for spot in found
            )
        return False

    def close() -> None:
        for consumer in consumers:
            consumer.close()

    return Watch(sink.program.name, is_committed, close)
