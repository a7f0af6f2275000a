"""Migrations take nothing away: a sink of before inserts while they are applied, and starts when they are there."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from schemas.probing import ProbeResults
from skeletonhunter import migrations
from skeletonhunter.migrations import MigrationError
from skeletonhunter.migrations.catalogue import tables
from skeletonhunter.settings import ClickHouseSettings
from skeletonhunter.sinks.connection import connect
from skeletonhunter.sinks.received import Received
from skeletonhunter.sinks.rows import frames
from skeletonhunter.sinks.running import OutdatedDatabaseError, ready_database
from tests.integration.clickhouse.asking import one
from tests.integration.clickhouse.http_front import serving
from tests.unit.sinks.messages import T0_US, received_examples

pytestmark = pytest.mark.clickhouse

RELEASED = 5
DATABASE = "skeletonhunter"
ADDITIVE = (
    r"CREATE (TABLE|MATERIALIZED VIEW) IF NOT EXISTS ",
    r"CREATE OR REPLACE VIEW ",
    r"ALTER TABLE \w+ (ADD COLUMN IF NOT EXISTS|ADD INDEX IF NOT EXISTS|MODIFY COLUMN \w+ CODEC)",
)
TAKES_AWAY = re.compile(r"\b(DROP|RENAME|DELETE|TRUNCATE|CLEAR)\b|MODIFY COLUMN \w+ (?!CODEC)")


def destructive(statements: Sequence[str]) -> list[str]:
    """Statements that an insert of before may not survive."""
    plain = [" ".join(re.sub(r"--.*|'[^']*'", "", each).split()) for each in statements]
    return [each[:80] for each in plain if not re.match("|".join(ADDITIVE), each) or TAKES_AWAY.search(each)]


def test_migrations_only_add() -> None:
    assert destructive([each for migration in migrations.migrations() for each in migration.statements]) == []


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE probe_results",
        "ALTER TABLE probe_results DROP COLUMN path",
        "ALTER TABLE probe_results RENAME COLUMN path TO way",
        "ALTER TABLE probe_results MODIFY COLUMN sent UInt8",
        "ALTER TABLE probe_results ADD COLUMN IF NOT EXISTS a UInt8, DROP COLUMN path",
        "CREATE OR REPLACE TABLE probe_results (a UInt8)",
    ],
)
def test_what_takes_something_away_is_noticed(statement: str) -> None:
    assert destructive([statement])


@pytest.fixture
def dsn(tmp_path: Path) -> Iterator[str]:
    """A server with a database as it was released first."""
    with serving(str(tmp_path / "db")) as port:
        address = f"clickhouse://default@127.0.0.1:{port}/{DATABASE}"
        client = connect(ClickHouseSettings(dsn=address))
        for statement in migrations.preparation(DATABASE):
            client.command(statement)
        client.database = DATABASE
        for migration in migrations.migrations()[:RELEASED]:
            for statement in migration.statements:
                client.command(statement)
        migrations._remember(client, DATABASE, migrations.migrations()[:RELEASED])
        client.close()
        yield address


class OldSink(threading.Thread):
    """Inserts one message after another, with the columns that there were, until it is stopped."""

    def __init__(self, dsn: str) -> None:
        super().__init__()
        self.client = connect(ClickHouseSettings(dsn=dsn))
        self.known = {
            table.name: {column.name for column in table.columns}
            for table in tables(migrations.migrations()[:RELEASED])
        }
        self.is_over = threading.Event()
        self.inserted, self.errors = 0, list[Exception]()

    def run(self) -> None:
        example = received_examples("probe-results")[0]
        assert isinstance(example.value, ProbeResults)
        while not self.is_over.is_set() and not self.errors:
            value = msgspec.structs.replace(
                example.value,
                t_us=T0_US + self.inserted * 1_000_000,
                results=tuple(
                    msgspec.structs.replace(each, t_us=T0_US + self.inserted * 1_000_000 - 1)
                    for each in example.value.results[:1]
                ),
            )
            received = Received(value, example.arrival_us, example.partition, self.inserted)
            try:
                for table, frame in frames("probe-results", [received]).items():
                    names = [each for each in frame.columns if each.partition(".")[0] in self.known[table]]
                    self.client.insert_arrow(table, frame.select(names).to_arrow(), database=DATABASE)
                self.inserted += 1
            except Exception as error:
                self.errors.append(error)

    def wait_for(self, more: int) -> None:
        """Until so many more have been inserted."""
        wanted = self.inserted + more
        pause = threading.Event()
        while self.inserted < wanted and self.is_alive():
            pause.wait(0.01)


def test_a_sink_of_before_goes_on_while_migrations_are_applied_and_after(dsn: str) -> None:
    sink, client = OldSink(dsn), connect(ClickHouseSettings(dsn=dsn))
    sink.start()
    try:
        sink.wait_for(3)
        before = sink.inserted
        done = migrations.apply(client, DATABASE)
        during = sink.inserted - before
        sink.wait_for(3)
    finally:
        sink.is_over.set()
        sink.join(30)
    assert sink.errors == []
    assert [each.number for each in done] == [each.number for each in migrations.migrations()[RELEASED:]]
    assert during > 0
    assert one(client, f"SELECT count() FROM {DATABASE}.probe_results FINAL") == sink.inserted
    client.close()


def test_a_sink_starts_on_newer_tables_and_not_on_older_ones(dsn: str) -> None:
    settings, stop = ClickHouseSettings(dsn=dsn), threading.Event()
    with pytest.raises(OutdatedDatabaseError, match="lacks migrations 6, 7"), ready_database(settings, stop, False):
        raise AssertionError
    client = connect(settings)
    migrations.apply(client, DATABASE)
    client.insert("schema_migrations", [(99, "of_tomorrow", "x")], column_names=("number", "name", "digest"))
    with ready_database(settings, stop, False) as ready:
        assert one(ready, f"SELECT count() FROM {DATABASE}.probe_results") == 0
    with pytest.raises(MigrationError, match=r"this program knows .*: too old"), ready_database(settings, stop, True):
        raise AssertionError
    client.close()
