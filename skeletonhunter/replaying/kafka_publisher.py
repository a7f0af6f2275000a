"""How does a recording get into Kafka? Line by line in its order, with ticks that say what had arrived by each second.

A record's Kafka time stamp and its header ``arrival_us`` are the recording's; its partition is that of its key by
murmur2, as everywhere in Kafka (a record without a key goes to partition 0). Before a tick everything is flushed, so
the tick's offsets are those that the broker has given. Values that can't be used are published as they are, and do not
move time, exactly as in the local engine.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterable
from functools import partial

from confluent_kafka import KafkaError, Message, Producer

from skeletonhunter.recordings.reader import Line
from skeletonhunter.settings import KafkaSettings
from streams.offsets import Spot
from streams.records import arrival_headers
from streams.ticker import clock_tick

log = logging.getLogger(__name__)

FLUSH_S = 60.0
POLL_EVERY = 500


class PublishingError(RuntimeError):
    """The broker did not take what was published."""


class Publisher:
    """Writes the lines of one recording. ``ends`` are the offsets after what the broker has taken.

    ``ticked`` are the topics whose offsets ticks name: what stages read. ``topics`` are those of the recording.
    """

    def __init__(self, settings: KafkaSettings, ticked: Iterable[str], topics: Iterable[str]) -> None:
        self.settings = settings
        self.ticked = frozenset(ticked)
        spots = [(topic, number) for topic in self.ticked.union(topics) for number in range(settings.partitions)]
        self.ends: dict[Spot, int] = dict.fromkeys(spots, 0)
        self._lines = {spot: array("Q") for spot in spots}
        self._failed: list[KafkaError] = []
        self._produced = 0
        self._producer = Producer(_config(settings), logger=log)

    def send(self, line: Line) -> None:
        """Publishes a line."""
        self._producer.produce(
            self.settings.prefix + line.topic,
            line.raw,
            key=line.key,
            partition=0 if line.key is None else -1,
            timestamp=line.arrival_us // 1000,
            headers=arrival_headers(line.arrival_us),
            on_delivery=partial(self._delivered, line.topic, line.number),
        )
        self._produced += 1
        if self._produced % POLL_EVERY == 0:
            self._producer.poll(0)

    def tick(self, t_us: int, final: bool = False) -> None:
        """Publishes a tick into each partition, after all lines so far.

        Raises:
            PublishingError: the broker did not take everything.
        """
        self._flush()
        ends = {spot: end for spot, end in self.ends.items() if spot[0] in self.ticked}
        for partition in range(self.settings.partitions):
            tick = clock_tick(t_us, ends, partition, final)
            self._producer.produce(
                self.settings.prefix + tick.topic,
                tick.value,
                key=tick.key,
                partition=partition,
                timestamp=t_us // 1000,
                headers=arrival_headers(t_us),
                on_delivery=self._tick_delivered,
            )
        self._flush()

    def line_at(self, topic: str, partition: int, offset: int) -> int | None:
        """Number of the line that was given this offset; None = it was not published here."""
        found = self._lines.get((topic, partition))
        return found[offset] if found is not None and offset < len(found) else None

    def _flush(self) -> None:
        left = self._producer.flush(FLUSH_S)
        if self._failed:
            raise PublishingError(f"Kafka at {self.settings.url} refused a record: {self._failed[0].str()}")
        if left:
            raise PublishingError(f"Kafka at {self.settings.url} did not take {left} records within {FLUSH_S:.0f} s")

    def _delivered(self, topic: str, number: int, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed.append(error)
            return
        spot = topic, message.partition() or 0
        offset = message.offset()
        self.ends[spot] = max(self.ends[spot], (offset or 0) + 1)
        self._lines[spot].append(number)

    def _tick_delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self._failed.append(error)


def _config(settings: KafkaSettings) -> dict[str, str | int | float | bool]:
    return {
        "bootstrap.servers": settings.url,
        "enable.idempotence": True,
        "partitioner": "murmur2_random",
        "linger.ms": 5,
        "message.max.bytes": settings.max_message_bytes,
        "queue.buffering.max.messages": 500_000,
        **settings.librdkafka,
    }
