"""Who hands what to whom? The stages of a pipeline spread over partitions: where ticks come from and go to. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streams.stages import STAGES, Stage


@dataclass(frozen=True, slots=True)
class Post:
    """One partition of one stage.

    ``raw`` inputs enter from outside, ``derived`` ones are written by stages of the pipeline. ``letters`` are the
    topics whose dead letters are written here. ``last``: nobody follows, so ticks are passed on for onlookers only.
    """

    stage: Stage
    partition: int
    partitions: int
    raw: tuple[str, ...]
    derived: tuple[str, ...]
    upstream: tuple[str, ...]
    letters: frozenset[str]
    last: bool

    @property
    def source(self) -> str:
        """The name under which ticks are passed on."""
        return tick_source(self.stage.name, self.partition)

    @property
    def topics(self) -> tuple[str, ...]:
        """All topics that are read, but for the ticks."""
        return self.stage.inputs

    def targets(self, final: bool) -> range:
        """The partitions to pass a tick on to; the final one goes everywhere, with the ends of all that was written."""
        if self.last and not final:
            return range(self.partition, self.partition + 1)
        return range(self.partitions)


def tick_source(stage: str, partition: int) -> str:
    """The source of the ticks that a partition of a stage passes on."""
    return f"{stage}/{partition}"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The stages that run somewhere, in topological order, each over ``partitions``."""

    stages: Mapping[str, Stage]
    partitions: int

    @property
    def written(self) -> frozenset[str]:
        """Topics that stages write."""
        return frozenset(topic for stage in self.stages.values() for topic in stage.outputs)

    @property
    def raw(self) -> tuple[str, ...]:
        """Topics that stages read and none writes, in alphabetical order."""
        return tuple(sorted({topic for stage in self.stages.values() for topic in stage.inputs} - self.written))

    @property
    def last(self) -> tuple[str, ...]:
        """Stages that no other follows."""
        followed = {name for stage in self.stages.values() for name in stage.upstream}
        return tuple(name for name in self.stages if name not in followed)

    def post(self, stage: str, partition: int) -> Post:
        """One partition of one stage."""
        spec = self.stages[stage]
        upstream = [name for name in spec.upstream if name in self.stages]
        return Post(
            stage=spec,
            partition=partition,
            partitions=self.partitions,
            raw=tuple(topic for topic in spec.inputs if topic not in self.written),
            derived=tuple(topic for topic in spec.inputs if topic in self.written),
            upstream=tuple(tick_source(name, number) for name in upstream for number in range(self.partitions)),
            letters=frozenset(topic for topic in spec.inputs if self._first_reader(topic) == stage),
            last=stage in self.last,
        )

    def _first_reader(self, topic: str) -> str:
        return next(stage.name for stage in self.stages.values() if topic in stage.inputs)


def pipeline(names: tuple[str, ...], partitions: int, stages: Mapping[str, Stage] = STAGES) -> Pipeline:
    """The pipeline of the stages of those names."""
    return Pipeline({name: stage for name, stage in stages.items() if name in names}, partitions)
