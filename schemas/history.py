"""Values as older versions had them: for their JSON Schemas only, since ``schemas.codec`` lifts old messages."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from schemas.envelope import Count, Message, Name, Value
from schemas.topics import Topic


class AgentHealthV1(Message, frozen=True, kw_only=True):
    """Topic ``agent-health``, key fabric: how an agent itself is doing."""

    agent: Name
    host: Name
    covers: tuple[str, ...]
    state: Literal["ok", "throttled", "starved", "stopping"]
    cpu_percent: Annotated[float, Meta(ge=0.0)] | None = None
    rss_bytes: Count | None = None
    send_lag_us: float | None = None
    dropped: Count | None = None
    gids: dict[str, str] | None = None


OLD_TYPES: dict[tuple[str, int], type[Value]] = {("agent-health", 1): AgentHealthV1}
"""Of each (topic, version) that is not the newest."""


def type_of(spec: Topic, version: int) -> type[Value]:
    """The type of a topic's value in one version.

    Raises:
        KeyError: the topic has no such version.
    """
    return spec.value_type if version == spec.newest else OLD_TYPES[spec.topic, version]
