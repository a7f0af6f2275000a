"""How far has the pipeline come? Read from the ticks that its stages pass on, as anybody could.

``handled_us`` is the time up to which the last stages have handled everything, in all partitions. When the final tick
has come out of every partition of every stage the replay is over, and these ticks say where all that was written ends.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, TopicPartition

from schemas.codec import decode
from schemas.control import Tick
from skeletonhunter.settings import KafkaSettings
from streams.answers import passes
from streams.barrier import CLOCK
from streams.offsets import Spot
from streams.records import arrival_of
from streams.runner import TICKS
from streams.topology import Pipeline, tick_source

log = logging.getLogger(__name__)

BATCH = 1000


@dataclass(slots=True)
class PipelineProgress:
    """Follows the ticks of one pipeline. ``ends`` are the offsets after what the stages wrote, once it is over."""

    settings: KafkaSettings
    pipeline: Pipeline
    ends: dict[Spot, int] = field(default_factory=dict)
    _handled: dict[str, int] = field(default_factory=dict)
    _awaited: set[tuple[str, int]] = field(default_factory=set)
    _consumer: Consumer = field(init=False)

    def __post_init__(self) -> None:
        partitions = range(self.pipeline.partitions)
        self._handled = {tick_source(stage, number): -1 for stage in self.pipeline.last for number in partitions}
        sources = [tick_source(stage, number) for stage in self.pipeline.stages for number in partitions]
        self._awaited = {(source, number) for source in sources for number in partitions}
        config = {
            "bootstrap.servers": self.settings.url,
            "group.id": f"{self.settings.prefix}replay-progress",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": self.settings.fetch_wait_ms,
            **self.settings.librdkafka,
        }
        self._consumer = Consumer(config, logger=log)
        topic = self.settings.prefix + TICKS
        self._consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])

    @property
    def handled_us(self) -> int:
        """Up to when everything was handled; -1 = nothing yet."""
        return min(self._handled.values())

    @property
    def over(self) -> bool:
        """Whether the final tick has come out of every partition of every stage."""
        return not self._awaited

    def state(self) -> object:
        """Something that is another as soon as anything has been handled."""
        return tuple(self._handled.values()), len(self._awaited)

    def furthest_behind(self) -> list[str]:
        """The last stages' partitions that have handled least, by name."""
        behind_us = self.handled_us
        return [source for source, t_us in self._handled.items() if t_us == behind_us]

    def poll(self, timeout_s: float) -> None:
        """Reads the ticks that have come, waiting for the first up to ``timeout_s``."""
        messages = self._consumer.consume(BATCH, timeout_s)
        for message in messages:
            error = message.error()
            if error is None:
                self._note(message)
            elif not passes(error):
                raise KafkaException(error)

    def _note(self, message: Message) -> None:
        key, partition = message.key(), message.partition() or 0
        if key == CLOCK.encode():
            return
        arrival_us = arrival_of(message.headers(), message.timestamp()[1])
        tick = decode(TICKS, key, message.value() or b"", arrival_us)
        assert isinstance(tick, Tick)
        if tick.source in self._handled:
            self._handled[tick.source] = max(self._handled[tick.source], tick.t_us)
        if tick.final:
            self._awaited.discard((tick.source, partition))
            for topic, end in tick.offsets.items():
                self.ends[topic, partition] = max(end, self.ends.get((topic, partition), 0))

    def close(self) -> None:
        """Leaves the broker."""
        self._consumer.close()
