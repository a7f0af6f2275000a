"""What came of a run, in the three places where people look: Kafka, ClickHouse, and the webhook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import orjson

from schemas.diagnosis import Incident
from skeletonhunter.replaying.kafka_outcome import read_all, read_dead_letters, read_updates
from skeletonhunter.replaying.listener import AlertListener
from skeletonhunter.replaying.outcome import incident_lines
from skeletonhunter.settings import Settings
from skeletonhunter.sinks.connection import connect
from skeletonhunter.sinks.rows import STORED_TOPICS
from streams.records import arrival_of

COUNTED = ("agent_health", "anomalies", "flow_entries", "incidents", "probe_results", "rnic_counters", "switch_queues")
"""Tables whose rows are counted, each row once."""


@dataclass(frozen=True)
class Outcome:
    """``updates``: all states of all incidents; ``current``: what SQL shows; ``told``: alerts by ``delivery``.

    ``rows``: of each table. ``repeated``: incidents that stand in Kafka again, and alerts that were sent again, under
    the same key and with the same content. ``letters``: records that became dead letters, by reason.
    """

    updates: list[Incident]
    current: list[tuple[Any, ...]]
    rows: dict[str, int]
    told: dict[str, dict[str, Any]]
    repeated: dict[str, int]
    letters: dict[str, int]


def outcome_of(settings: Settings, listener: AlertListener) -> Outcome:
    """Reads everything back."""
    again, told = _by_key([(body["delivery"], orjson.dumps(body)) for body in listener.bodies])
    incidents, _ = _by_key(_incidents(settings))
    current, rows = _in_clickhouse(settings)
    return Outcome(
        updates=read_updates(settings.kafka),
        current=current,
        rows=rows,
        told={key: orjson.loads(raw) for key, raw in told.items()},
        repeated={"incidents": incidents.total(), "alerts": again.total()},
        letters=dict(Counter(letter.reason for letter in read_dead_letters(settings.kafka, list(STORED_TOPICS)))),
    )


def _by_key(said: list[tuple[str, bytes]]) -> tuple[Counter[str], dict[str, bytes]]:
    """How often each key came again, and what was said under it.

    Raises:
        AssertionError: something else was said under the same key.
    """
    again: Counter[str] = Counter()
    first: dict[str, bytes] = {}
    for key, content in said:
        if key in first:
            assert first[key] == content, f"{key} was said twice, with other content: {first[key]!r}, {content!r}"
            again[key] += 1
        first.setdefault(key, content)
    return again, first


def _incidents(settings: Settings) -> list[tuple[str, bytes]]:
    said = []
    for message in read_all(settings.kafka, ["incidents"]):
        value = message.value() or b""
        producer = orjson.loads(value)["producer"]
        arrival_us = arrival_of(message.headers(), message.timestamp()[1])
        said.append((f"{arrival_us} {producer['id']} {producer['seq']}", value))
    return said


def _in_clickhouse(settings: Settings) -> tuple[list[tuple[Any, ...]], dict[str, int]]:
    client, database = connect(settings.clickhouse), settings.clickhouse.database
    try:
        query = (
            f"SELECT incident, state, kind, issue, component, onset_us, resolved_us FROM {database}.incidents_current"
        )
        current = [tuple(row) for row in client.query(f"{query} ORDER BY incident").result_rows]
        counts = {
            table: int(client.query(f"SELECT count() FROM {database}.{table} FINAL").result_rows[0][0])
            for table in COUNTED
        }
        return current, counts
    finally:
        client.close()


def verdicts(updates: list[Incident]) -> set[tuple[str, str | None, str | None]]:
    """The last word on each incident: kind, issue, component."""
    last = {update.incident: update for update in updates}.values()
    return {(incident.kind, incident.issue, incident.component) for incident in last}


def differences(found: list[Incident], expected: list[Incident]) -> Iterator[str]:
    """What differs, state by state, for people."""
    for number, (one, other) in enumerate(zip_longest(found, expected)):
        if one is None or other is None:
            yield f"{number}: {'lost' if one is None else 'new'}: {_named(one or other)}"
        elif one != other:
            names = [name for name in Incident.__struct_fields__ if getattr(one, name) != getattr(other, name)]
            yield f"{number}: {_named(one)} instead of {_named(other)}, differs in {', '.join(names)}"


def _named(incident: Incident) -> str:
    return f"{incident.incident} {incident.state} {incident.kind} {incident.component} at {incident.t_us}"


def assert_same(found: Outcome, expected: Outcome) -> None:
    """None lost, none twice, none new: bytes in Kafka, rows in ClickHouse, keys and bodies at the webhook."""
    assert list(differences(found.updates, expected.updates)) == []
    assert incident_lines(found.updates) == incident_lines(expected.updates)
    assert found.current == expected.current
    assert len({row[0] for row in found.current}) == len(found.current)
    other = {table: (rows, expected.rows[table]) for table, rows in found.rows.items() if rows != expected.rows[table]}
    assert other == {}, f"rows of tables, and those expected: {other}"
    assert found.told == expected.told
