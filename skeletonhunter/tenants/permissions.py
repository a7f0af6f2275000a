"""Who needs which permission of Kafka? The least that each part can work with, from the same topics that it uses. Pure.

One principal per part: ``User:<name>``. Names of tenants' parts end in the tenant. Nothing has a permission on the
cluster: topics and permissions are made by an administrator, with ``topics`` and ``acls``. An agent of a tenant may
write five topics and read four, all under ``tenant.<tenant>.``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from schemas.topics import topics
from skeletonhunter.sinks.rows import STORED_TOPICS
from skeletonhunter.tenants.ownership import DOWN, UP, prefix_of
from streams.stages import STAGES

Operation = Literal["read", "write", "create", "describe", "describe_configs"]
AGENT_READS = ("anomalies", "endpoint-map", "evidence-requests", "fabric-map", "probe-plan-deltas", "probe-plans")
ALERT_READS = ("alert-deliveries", "endpoint-map", "incidents")
AGENTS_GROUP = "skeletonhunter-agent"
"""Named by agents, which never join it: librdkafka asks who coordinates it."""
MAP_WRITES = ("endpoint-map", "fabric-map")
PERSON_WRITES = ("operator-feedback", "skeleton-overrides")


@dataclass(frozen=True, slots=True, order=True)
class Permission:
    """One principal may do one thing to one resource; ``prefixed``: to all whose names begin so."""

    principal: str
    resource: Literal["topic", "group"]
    name: str
    prefixed: bool
    operation: Operation


def permissions(prefix: str, tenants: Iterable[str] = ()) -> list[Permission]:
    """All permissions of an installation, with those of its tenants, in order and without repetition.

    Raises:
        TenantError: a name can't be a tenant's.
    """
    found = [*_worker(prefix), *_sink(prefix), *_alert(prefix), *_operators(prefix)]
    for tenant in tenants:
        found += [*_relay(prefix, tenant), *_tenant(prefix, tenant)]
    return sorted(set(found))


def _worker(prefix: str) -> Iterator[Permission]:
    read = {"ticks", *(name for stage in STAGES.values() for name in (*stage.inputs, *stage.outputs))}
    write = {"ticks", *(name for stage in STAGES.values() for name in stage.outputs)}
    letters = {topics()[name].dead_letters for stage in STAGES.values() for name in stage.inputs}
    yield from _on("work", prefix, "read", read)
    yield from _on("work", prefix, "write", write | letters)
    yield from _on("work", prefix, "describe", topics())
    yield from _on("work", prefix, "describe", (each.dead_letters for each in topics().values()))
    for operation in ("read", "write", "create", "describe", "describe_configs"):
        yield Permission("work", "topic", f"{prefix}skeletonhunter", True, operation)  # changelogs, the leader's topic
    yield Permission("work", "group", f"{prefix}skeletonhunter", True, "read")


def _sink(prefix: str) -> Iterator[Permission]:
    yield from _on("sink", prefix, "read", STORED_TOPICS)
    yield from _on("sink", prefix, "write", (topics()[name].dead_letters for name in STORED_TOPICS))
    yield Permission("sink", "group", f"{prefix}sink", False, "read")


def _alert(prefix: str) -> Iterator[Permission]:
    yield from _on("alert", prefix, "read", ALERT_READS)
    yield from _on("alert", prefix, "write", ("alert-deliveries", "incidents-dlq"))
    yield Permission("alert", "group", f"{prefix}alert", True, "read")


def _operators(prefix: str) -> Iterator[Permission]:
    raw = {name for stage in STAGES.values() for name in stage.raw_inputs} | {"job-progress"}
    agent = raw - {*MAP_WRITES, *PERSON_WRITES}
    yield from _on("agent", prefix, "write", agent)
    yield from _on("agent", prefix, "read", AGENT_READS)
    yield Permission("agent", "group", AGENTS_GROUP, False, "describe")
    yield from _on("maps", prefix, "write", MAP_WRITES)
    yield from _on("person", prefix, "write", PERSON_WRITES)
    yield from _on("reader", prefix, "read", topics())
    yield from _on("reader", prefix, "read", (each.dead_letters for each in topics().values()))
    yield Permission("reader", "group", f"{prefix}reader-", True, "read")


def _relay(prefix: str, tenant: str) -> Iterator[Permission]:
    who, own = f"relay-{tenant}", prefix + prefix_of(tenant)
    yield from _on(who, prefix, "read", DOWN)
    yield from _on(who, prefix, "write", (*UP, *(topics()[name].dead_letters for name in UP)))
    yield from _on(who, own, "read", UP)
    yield from _on(who, own, "write", DOWN)
    yield Permission(who, "group", f"{prefix}relay-{tenant}", False, "read")
    yield Permission(who, "group", f"{own}relay", False, "read")


def _tenant(prefix: str, tenant: str) -> Iterator[Permission]:
    who, own = f"agent-{tenant}", prefix + prefix_of(tenant)
    yield from _on(who, own, "write", UP)
    yield from _on(who, own, "read", DOWN)
    yield Permission(who, "group", AGENTS_GROUP, False, "describe")


def _on(who: str, prefix: str, operation: Operation, names: Iterable[str]) -> Iterator[Permission]:
    return (Permission(who, "topic", prefix + name, False, operation) for name in names)
