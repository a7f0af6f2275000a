"""The whole pipeline in one process, without Kafka: the same folds, driven by arrivals and ticks. Pure."""

from __future__ import annotations

from collections.abc import Callable

from schemas.control import Tick
from schemas.envelope import Message
from schemas.folding import Emission
from streams.fold import StageFold
from streams.parameters import Parameters
from streams.stages import STAGES


class LocalPipeline:
    """All stages, one partition each. ``emit`` receives every message that a stage sends, in order."""

    def __init__(
        self, parameters: Parameters, emit: Callable[[Emission], None], stages: tuple[str, ...] = tuple(STAGES)
    ) -> None:
        self.emit = emit
        self.folds = [StageFold(STAGES[name], parameters) for name in STAGES if name in stages]
        self.readers: dict[str, list[StageFold]] = {}
        for fold in self.folds:
            for topic in fold.stage.inputs:
                self.readers.setdefault(topic, []).append(fold)

    def admit(self, topic: str, key: str, value: Message) -> None:
        """Delivers one message to the stages that read its topic.

        Raises:
            BadRecord: the message contradicts an earlier one of its producer.
        """
        for fold in self.readers.get(topic, ()):
            fold.admit(topic, key, value)

    def advance(self, tick: Tick) -> None:
        """Lets time pass in every stage, upstream ones first."""
        for fold in self.folds:
            for emission in fold.advance(tick):
                self.emit(emission)
                if isinstance(emission.value, Message):
                    self.admit(emission.topic, emission.key, emission.value)
