"""The topics: one YAML each under ``schemas/topics/``, read once, checked strictly (a misspelt key is an error)."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Literal

import msgspec
import yaml

from schemas import control, diagnosis, maps, probing, skeletons, telemetry
from schemas.envelope import Value


class Topic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One topic: its key (a field of the value), who writes and reads it, what Kafka keeps, and its versions."""

    topic: str
    description: str
    value: str
    key: Literal["job", "fabric", "incident", "source"]
    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    cleanup: Literal["delete", "compact"]
    retention_hours: int | None
    versions: dict[int, str]

    @property
    def newest(self) -> int:
        """The version that we write."""
        return max(self.versions)

    @property
    def dead_letters(self) -> str:
        """Name of the topic that takes the records that can't be used."""
        return f"{self.topic}-dlq"

    @property
    def value_type(self) -> type[Value]:
        """The type of the newest version's value."""
        return VALUE_TYPES[self.value]


VALUE_TYPES: dict[str, type[Value]] = {
    value.__name__: value
    for value in (
        maps.EndpointMap,
        maps.FabricMap,
        maps.FabricEndpoints,
        telemetry.RnicCounters,
        telemetry.RnicBursts,
        telemetry.SwitchQueues,
        telemetry.FlowTables,
        telemetry.DeviceEvent,
        telemetry.AgentHealth,
        telemetry.JobProgress,
        probing.ProbeResults,
        probing.ProbePlan,
        skeletons.SkeletonUpdate,
        diagnosis.Anomaly,
        diagnosis.PairWindows,
        diagnosis.Incident,
        diagnosis.OperatorFeedback,
        control.Tick,
    )
}


@cache
def topics() -> dict[str, Topic]:
    """All topics by name, in alphabetical order."""
    folder = resources.files("schemas") / "topics"
    found = {}
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".yaml"):
            topic = msgspec.convert(yaml.safe_load(entry.read_text()), Topic)
            found[topic.topic] = topic
    return found


def topic(name: str) -> Topic:
    """The topic of that name.

    Raises:
        KeyError: there is none.
    """
    return topics()[name]
