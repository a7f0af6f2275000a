"""A database of before keeps every row when it gets the columns and roll-ups of now."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from skeletonhunter import migrations
from skeletonhunter.migrations.catalogue import tables
from skeletonhunter.sinks.clickhouse import ClickHouseWriter
from skeletonhunter.sinks.rollups import refresh
from skeletonhunter.sinks.rows import STORED_TOPICS, frames
from tests.integration.clickhouse.asking import one, rows
from tests.unit.sinks.messages import received_examples

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

pytestmark = pytest.mark.clickhouse

RELEASED = 5
"""Migrations up to here were released before there were roll-ups."""


@pytest.fixture(scope="module")
def old(client: Client) -> Iterator[str]:
    """A database with the first migrations and rows in every table that they make."""
    name = f"old_{os.getpid()}"
    first = migrations.migrations()[:RELEASED]
    client.command(f"CREATE DATABASE {name}")
    client.database = name
    for migration in first:
        for statement in migration.statements:
            client.command(statement)
    known = {table.name: {column.name for column in table.columns} for table in tables(first)}
    for topic in STORED_TOPICS:
        for table, frame in frames(topic, received_examples(topic)).items():
            if table in known:
                names = [column for column in frame.columns if column.partition(".")[0] in known[table]]
                client.insert_arrow(table, frame.select(names).to_arrow(), database=name)
    yield name
    client.command(f"DROP DATABASE {name}")


def test_rows_of_before_are_read_as_they_were_with_null_in_what_is_new(client: Client, old: str) -> None:
    first = tables(migrations.migrations()[:RELEASED])
    now = {table.name: table for table in tables()}
    columns = {table.name: ", ".join(f"`{c.name}`" for c in table.columns if "Nested" not in c.type) for table in first}
    before = {name: rows(client, f"SELECT {columns[name]} FROM {old}.{name} ORDER BY ALL") for name in columns}
    assert all(before.values())
    client.command(f"CREATE TABLE {old}.schema_migrations {LEDGER}")
    done = [(m.number, m.name, m.digest) for m in migrations.migrations()[:RELEASED]]
    client.insert("schema_migrations", done, column_names=("number", "name", "digest"), database=old)
    assert [m.number for m in migrations.apply(client, old)] == [
        m.number for m in migrations.migrations() if m.number > RELEASED
    ]
    assert {name: rows(client, f"SELECT {columns[name]} FROM {old}.{name} ORDER BY ALL") for name in columns} == before
    for table in first:
        added = {c.name for c in now[table.name].columns} - {c.name for c in table.columns}
        for column in added:
            filled = f"SELECT countIf(isNotNull({column}) AND toString({column}) != '[]') FROM {old}.{table.name}"
            assert one(client, filled) == 0
    refresh(client, old)
    assert one(client, f"SELECT sum(trains) FROM {old}.pair_minutes FINAL") == len(before["probe_results"])


def test_rows_of_now_go_beside_them(client: Client, old: str) -> None:
    before = one(client, f"SELECT count() FROM {old}.probe_results FINAL")
    ClickHouseWriter(client, old).write("probe-results", received_examples("probe-results"))
    assert one(client, f"SELECT count() FROM {old}.probe_results FINAL") == before


LEDGER = (
    "(number UInt32, name String, digest String, applied_at DateTime('UTC') DEFAULT now()) "
    "ENGINE = ReplacingMergeTree ORDER BY number"
)
