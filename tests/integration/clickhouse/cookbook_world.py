"""Recorded data in a database, and what was recorded as values, so that answers in SQL can be worked out beside."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from schemas.diagnosis import Incident
from schemas.envelope import Message, Value
from schemas.probing import ProbeResult
from schemas.truth import Truth
from skeletonhunter import migrations
from skeletonhunter.queries import queries
from skeletonhunter.recordings.reader import Recording, read_truth
from skeletonhunter.replaying.local import LocalReplay
from skeletonhunter.sinks.clickhouse import ClickHouseWriter
from skeletonhunter.sinks.received import Received
from skeletonhunter.sinks.rollups import refresh
from skeletonhunter.sinks.rows import STORED_TOPICS
from streams.parameters import Parameters

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

BATCH = 5_000


class Train(NamedTuple):
    """A probe train as it was recorded."""

    job: str
    src: str
    of: ProbeResult


@dataclass
class World:
    """A database with a recording and the conclusions of the engines; ``told`` are all messages by topic."""

    client: Client
    database: str
    told: dict[str, list[Received]] = field(default_factory=dict)
    truth: Truth | None = None
    start: datetime = datetime(2025, 1, 1, tzinfo=UTC)
    end: datetime = datetime(2025, 1, 1, tzinfo=UTC)

    def observe(self, topic: str, _key: str, arrival_us: int, value: Value) -> None:
        """Takes a message of the replay."""
        if topic in STORED_TOPICS:
            self.told.setdefault(topic, []).append(Received(value, arrival_us))

    def values(self, topic: str) -> list[Any]:
        """What was said on a topic, each message once, in order of arrival."""
        unique: dict[Any, Message] = {}
        for each in self.told.get(topic, []):
            assert isinstance(each.value, Message)
            producer = each.value.producer
            unique.setdefault((producer.id, producer.boot, producer.seq), each.value)
        return list(unique.values())

    def trains(self) -> Iterator[Train]:
        """All probe trains, each once."""
        for message in self.values("probe-results"):
            for train in message.results:
                yield Train(message.job, message.src, train)

    def incident(self, component: str) -> Incident:
        """The newest state of the incident that blames a component."""
        found = {each.incident: each for each in self.values("incidents")}
        return next(each for each in found.values() if each.component == component)

    def ask(self, name: str, **parameters: Any) -> list[dict[str, Any]]:
        """The answer of a query of the cookbook, about the whole recording."""
        query = queries()[name]
        given = {"since": self.start, "until": self.end, "fabric": "fab-1", **parameters}
        asked = {parameter.name: given[parameter.name] for parameter in query.parameters}
        self.client.database = self.database
        answer = self.client.query(query.sql, parameters=asked)
        return [dict(zip(answer.column_names, row, strict=True)) for row in answer.result_rows]


def world_of(client: Client, database: str, path: Path) -> World:
    """Replays a recording into a database of its own."""
    migrations.apply(client, database)
    world = World(client, database)
    with Recording(path) as recording:
        manifest = recording.manifest
        LocalReplay(Parameters(), observers=(world.observe,)).run(recording)
        world.truth = read_truth(recording.folder)
    world.start = datetime.fromtimestamp(manifest.start_us // 60_000_000 * 60, UTC)
    world.end = datetime.fromtimestamp(manifest.end_us // 1_000_000, UTC) + timedelta(seconds=10)
    writer = ClickHouseWriter(client, database)
    for topic, received in world.told.items():
        for begin in range(0, len(received), BATCH):
            assert not writer.write(topic, received[begin : begin + BATCH]).refused
    refresh(client, database)
    return world
