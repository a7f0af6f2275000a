"""Tables, rows and the reference page say the same; a row that comes again changes no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from schemas import telemetry
from skeletonhunter.migrations.catalogue import rollups, tables, views
from skeletonhunter.sinks.clickhouse import ClickHouseWriter
from skeletonhunter.sinks.received import Received
from skeletonhunter.sinks.rollups import refresh
from skeletonhunter.sinks.rows import STORED_TOPICS, frames
from tests.integration.clickhouse.asking import one, rows
from tests.unit.sinks.messages import envelope_of, received_examples

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

pytestmark = pytest.mark.clickhouse


def test_the_catalogue_says_what_a_migrated_database_has(client: Client, database: str) -> None:
    found = rows(
        client,
        f"SELECT table, name, default_kind, comment FROM system.columns WHERE database = '{database}' "
        f"AND table IN (SELECT name FROM system.tables WHERE database = '{database}' AND engine LIKE '%MergeTree') "
        "AND table != 'schema_migrations' ORDER BY table, position",
    )
    in_database: dict[str, list[tuple[str, str, str]]] = {}
    for row in found:
        name = row["name"].partition(".")[0]
        column = (name, row["default_kind"], row["comment"])
        columns = in_database.setdefault(row["table"], [])
        if not columns or columns[-1][0] != name:  # the parts of a Nested column are one column of ours
            columns.append(column)
    assert in_database == {
        table.name: [(column.name, column.kind or "", column.comment) for column in table.columns] for table in tables()
    }


def test_keys_and_retention_are_those_of_the_catalogue(client: Client, database: str) -> None:
    found = rows(
        client,
        "SELECT name, sorting_key, comment, "
        "extract(create_table_query, 'TTL inserted_at \\+ toIntervalDay\\((\\d+)\\)') AS days "
        f"FROM system.tables WHERE database = '{database}' AND engine LIKE '%MergeTree' "
        "AND name != 'schema_migrations'",
    )
    assert {row["name"]: (row["sorting_key"].replace("`", ""), int(row["days"]), row["comment"]) for row in found} == {
        table.name: (table.order_by.replace("`", ""), table.days, table.comment) for table in tables()
    }


def test_views_are_those_of_the_catalogue(client: Client, database: str) -> None:
    by_engine = {"View": views(), "MaterializedView": rollups()}
    for engine, expected in by_engine.items():
        found = rows(client, f"SELECT name FROM system.tables WHERE database = '{database}' AND engine = '{engine}'")
        assert {row["name"] for row in found} == {each.name for each in expected}


@pytest.mark.parametrize("topic", STORED_TOPICS)
def test_rows_have_the_columns_of_their_tables_and_come_back_as_they_were(
    client: Client, database: str, writer: ClickHouseWriter, topic: str
) -> None:
    received = received_examples(topic)
    writer.write(topic, received)
    for table, frame in frames(topic, received).items():
        columns = rows(
            client,
            "SELECT name FROM system.columns "
            f"WHERE database = '{database}' AND table = '{table}' AND default_kind = ''",
        )
        assert set(frame.columns) == {column["name"] for column in columns}
        names = ", ".join(f"`{name}`" for name in frame.columns)
        stored = client.query_arrow(f"SELECT {names} FROM {table}", use_strings=True)
        read = pl.from_arrow(stored)
        assert isinstance(read, pl.DataFrame)
        assert _sorted(read) == _sorted(frame)


def test_what_is_delivered_again_changes_no_answer(client: Client, database: str, writer: ClickHouseWriter) -> None:
    for topic in STORED_TOPICS:
        writer.write(topic, received_examples(topic))
    before = _everything(client)
    assert [table.name for table in tables() if not before[table.name]] == ["dead_letters"]  # which no topic holds
    for topic in STORED_TOPICS:
        received = received_examples(topic)
        again = [Received(each.value, each.arrival_us, 3, 10_000 + place) for place, each in enumerate(received)]
        for part in ([again[0]], again, received):
            writer.write(topic, part)
    assert _everything(client) == before
    for table in tables():
        client.command(f"OPTIMIZE TABLE {table.name} FINAL")
    assert _everything(client) == before


def test_an_instant_is_kept_exactly_to_the_end_of_the_calendar(client: Client, writer: ClickHouseWriter) -> None:
    instants = [0, 1, 2**53 - 1]
    writer.write("job-progress", [step("calendar", t_us) for t_us in instants])
    found = rows(client, "SELECT t_us FROM job_progress FINAL WHERE job = 'calendar' ORDER BY t_us")
    assert [row["t_us"] for row in found] == instants
    equal = "SELECT countIf(toUnixTimestamp64Micro(time) = t_us) FROM job_progress FINAL WHERE job = 'calendar'"
    assert one(client, equal) == len(instants)


def test_a_batch_may_span_more_months_than_clickhouse_takes_by_default(
    client: Client, writer: ClickHouseWriter
) -> None:
    month_us = 31 * 86_400 * 1_000_000
    assert writer.write("job-progress", [step("months", n * month_us) for n in range(150)]).rows == 150
    assert one(client, "SELECT uniqExact(toYYYYMM(time)) FROM job_progress WHERE job = 'months'") == 150


def step(job: str, t_us: int) -> Received:
    return Received(telemetry.JobProgress(**envelope_of("job-progress", t_us=t_us, job=job), step=1, step_s=2.0), t_us)


def _sorted(frame: pl.DataFrame) -> list[tuple[object, ...]]:
    columns = sorted(frame.columns)
    listing = [tuple(_plain(row[name]) for name in columns) for row in frame.to_dicts()]
    return sorted(listing, key=repr)


def _plain(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _everything(client: Client) -> dict[str, list[str]]:
    """All tables and views, without what tells one delivery from another; roll-ups as of now."""
    refresh(client, client.database)
    answers = {}
    told_apart = "EXCEPT (kafka_partition, kafka_offset, inserted_at, source_at)"
    for table in tables():
        rows_of = client.query(f"SELECT * {told_apart} FROM {table.name} FINAL").result_rows
        answers[table.name] = sorted(map(repr, rows_of))
    for view in views():
        answers[view.name] = sorted(map(repr, client.query(f"SELECT * FROM {view.name}").result_rows))
    return answers
