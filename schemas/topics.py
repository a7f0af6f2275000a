"""The topics: one YAML each under ``schemas/topics/``, read once, checked strictly (a misspelt key is an error)."""

from __future__ import annotations

from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Literal

import msgspec
import yaml

from schemas import alerting, control, diagnosis, maps, probing, reporting, requests, skeletons, telemetry
from schemas.envelope import Value

DEAD_LETTERS = "-dlq"
"""What a topic's name ends in that holds the records of another topic that can't be used."""


class TopicError(ValueError):
    """A topic's YAML that can't be used; the text names file, field and expectation."""


class Topic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One topic: its key (a field of the value), who writes and reads it, what Kafka keeps, and its versions.

    ``lasting``: a message holds until a later one replaces it, so one that comes late still counts, from then on.
    """

    topic: str
    description: str
    value: str
    key: Literal["job", "fabric", "incident", "page", "source", "key"]
    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    cleanup: Literal["delete", "compact"]
    retention_hours: int | None
    lasting: bool = False
    versions: dict[int, str]

    @property
    def newest(self) -> int:
        """The version that we write."""
        return max(self.versions)

    @property
    def dead_letters(self) -> str:
        """Name of the topic that takes the records that can't be used."""
        return f"{self.topic}{DEAD_LETTERS}"

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
        maps.JobFabric,
        telemetry.RnicCounters,
        telemetry.RnicBursts,
        telemetry.SwitchQueues,
        telemetry.FlowTables,
        telemetry.DeviceEvent,
        telemetry.AgentHealth,
        telemetry.JobProgress,
        probing.ProbeResults,
        probing.ProbePlan,
        probing.ProbePlanDelta,
        skeletons.SkeletonUpdate,
        skeletons.SkeletonOverride,
        diagnosis.Anomaly,
        diagnosis.PairWindows,
        diagnosis.JobSuspects,
        diagnosis.Incident,
        diagnosis.OperatorFeedback,
        reporting.ReportingGaps,
        requests.EvidenceRequest,
        alerting.AlertDelivery,
        control.Tick,
        control.DeadLetter,
    )
}


@cache
def topics() -> dict[str, Topic]:
    """All topics by name, in alphabetical order."""
    folder = resources.files("schemas") / "topics"
    found = {}
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".yaml"):
            found[entry.name.removesuffix(".yaml")] = _read(entry)
    return found


def _read(entry: Traversable) -> Topic:
    return parse_topic(entry.name, entry.read_text())


def parse_topic(file_name: str, text: str) -> Topic:
    """The topic that a YAML text describes.

    Raises:
        TopicError: naming the file, the field and what was expected.
    """
    try:
        spec = msgspec.convert(yaml.safe_load(text), Topic)
    except (msgspec.ValidationError, yaml.YAMLError) as error:
        raise TopicError(f"{file_name}: {error}") from error
    if file_name != f"{spec.topic}.yaml":
        raise TopicError(f"{file_name}: topic is {spec.topic!r}, expected the name of the file")
    if sorted(spec.versions) != list(range(1, len(spec.versions) + 1)):
        raise TopicError(f"{file_name}: versions are {sorted(spec.versions)}, expected 1, 2, ... without a hole")
    if spec.value not in VALUE_TYPES:
        raise TopicError(f"{file_name}: value is {spec.value!r}, expected one of {', '.join(sorted(VALUE_TYPES))}")
    if spec.key not in spec.value_type.__struct_fields__:
        raise TopicError(f"{file_name}: key is {spec.key!r}, expected a field of {spec.value}")
    return spec


def topic(name: str) -> Topic:
    """The topic of that name, also one of dead letters.

    Raises:
        KeyError: there is none.
    """
    found = topics().get(name)
    return found if found else _dead_letters(name)


@cache
def _dead_letters(name: str) -> Topic:
    source = name.removesuffix(DEAD_LETTERS)
    if source == name or source not in topics():
        raise KeyError(f"there is no topic {name!r}")
    return msgspec.structs.replace(dead_letters(), topic=name)


@cache
def dead_letters() -> Topic:
    """What all topics of dead letters have in common; its name stands for ``<topic>-dlq``."""
    return _read(resources.files("schemas") / "dead-letters.yaml")
