"""The statements for a cluster are what the parser of ClickHouse understands, and make the same tables.

No cluster can be set up where the tests run: nothing here shows replication or what happens between shards. The
statements are parsed as they are; and run on one engine with tables of one shard in place of replicated ones and with
``Merge`` in place of ``Distributed``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from skeletonhunter import migrations
from skeletonhunter.cli import InputError, build_cli
from skeletonhunter.migrations import Migration, MigrationError
from skeletonhunter.migrations.catalogue import rollups, tables, views
from skeletonhunter.migrations.cluster import preparation, rendered, shard_key
from skeletonhunter.queries import queries
from skeletonhunter.sinks.clickhouse import INSERT_SETTINGS, ClickHouseWriter
from skeletonhunter.sinks.rollups import refresh
from skeletonhunter.sinks.rows import STORED_TOPICS, frames
from tests.integration.clickhouse.asking import one, rows
from tests.integration.clickhouse.test_cookbook import SAMPLES
from tests.unit.sinks.messages import received_examples

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

pytestmark = pytest.mark.clickhouse

CLUSTER = "main-1"
DATABASE = f"cluster_{os.getpid()}"


def statements() -> list[str]:
    made = [each for migration in migrations.migrations() for each in rendered(migration, DATABASE, CLUSTER)]
    return [*migrations.preparation(DATABASE, CLUSTER), *made]


def test_every_statement_is_understood_and_runs_on_the_cluster(client: Client) -> None:
    for statement in statements():
        formatted = one(client, f"SELECT formatQuery({_text(statement)})")
        assert f"ON CLUSTER `{CLUSTER}`" in formatted or f"ON CLUSTER '{CLUSTER}'" in formatted, formatted[:200]


def test_a_statement_that_is_none_turns_that_check_red(client: Client) -> None:
    with pytest.raises(Exception, match="Syntax error"):
        one(client, "SELECT formatQuery('CREATE TABLE x ON CLUSTR c (a UInt8) ENGINE = Memory')")


def test_every_table_is_replicated_and_distributed_by_a_column_of_its_key() -> None:
    text = "\n".join(statements())
    for table in tables():
        key = shard_key(table.order_by)
        assert re.search(rf"CREATE TABLE IF NOT EXISTS {DATABASE}\.{table.name}_local ON CLUSTER '{CLUSTER}'\n", text)
        distributed = f"Distributed('{CLUSTER}', '{DATABASE}', '{table.name}_local', cityHash64({key}))"
        assert (
            f"{DATABASE}.{table.name} ON CLUSTER '{CLUSTER}' AS {DATABASE}.{table.name}_local\nENGINE = {distributed}"
            in text
        )
        assert key in [column.strip(" `") for column in table.order_by.split(",")]
    assert text.count("ENGINE = ReplicatedReplacingMergeTree(") == len(tables()) + 1
    assert not re.search(r"ENGINE = ReplacingMergeTree", text)
    by_job = {rollup.table for rollup in rollups()} | {"probe_results"}
    assert {shard_key(table.order_by) for table in tables() if table.name in by_job} == {"job"}


@pytest.fixture(scope="module")
def alone(client: Client) -> Iterator[str]:
    """What the statements make on one engine, with stand-ins for what takes several."""
    for statement in statements():
        plain = statement.replace(f" ON CLUSTER '{CLUSTER}'", "")
        plain = re.sub(r"ReplicatedReplacingMergeTree\('[^']*', '[^']*'(?:, (\w+))?\)", _plain_engine, plain)
        plain = re.sub(r"Distributed\('[^']*', '([^']*)', '([^']*)', .*\)$", r"Merge('\1', '^\2$')", plain)
        if not (plain.startswith("ALTER TABLE") and "_local\n" not in plain):  # a Merge table learns columns by itself
            client.command(plain)
        client.database = DATABASE if "CREATE DATABASE" in statement else client.database
    yield DATABASE
    client.command(f"DROP DATABASE {DATABASE}")


def test_the_tables_take_rows_and_every_view_and_query_can_be_asked(client: Client, alone: str) -> None:
    client.database = alone
    for topic in STORED_TOPICS:
        for table, frame in frames(topic, received_examples(topic)).items():
            client.insert_arrow(f"{table}_local", frame.to_arrow(), database=alone)
    refresh(client, alone)
    for table in tables():
        found = one(client, f"SELECT count() FROM {alone}.{table.name} FINAL")
        assert found or table.name in ("dead_letters", "alert_deliveries"), table.name
    for view in views():
        client.query(f"SELECT * FROM {alone}.{view.name}")
    for query in queries().values():
        sql = query.sql
        for parameter in query.parameters:
            sql = sql.replace(f"{{{parameter.name}:{parameter.type}}}", SAMPLES[parameter.type])
        client.query(sql)


def test_an_alteration_of_columns_goes_to_both_and_codecs_to_the_local_one() -> None:
    text = (
        "ALTER TABLE probe_results\n    ADD COLUMN IF NOT EXISTS late Nullable(UInt64)\n"
        "        COMMENT 'x' CODEC(Delta, ZSTD(1)) AFTER path,\n    MODIFY COLUMN path CODEC(ZSTD(3)),\n"
        "    ADD INDEX IF NOT EXISTS i time TYPE minmax GRANULARITY 1"
    )
    local, distributed = rendered(Migration(1, "x", text), "db", "c")
    assert local.startswith("ALTER TABLE db.probe_results_local ON CLUSTER 'c'\n") and "ADD INDEX" in local
    assert distributed == (
        "ALTER TABLE db.probe_results ON CLUSTER 'c'\n    ADD COLUMN IF NOT EXISTS late Nullable(UInt64)\n"
        "        COMMENT 'x' AFTER path"
    )


def test_what_can_not_be_rendered_is_refused() -> None:
    with pytest.raises(MigrationError, match="can't be rendered for a cluster: DROP TABLE x"):
        rendered(Migration(1, "x", "DROP TABLE x"), "db", "c")
    with pytest.raises(MigrationError, match="is no name of a cluster"):
        preparation("db", "c'; DROP", "")


def test_the_command_prints_the_statements_and_needs_a_server_to_run_them() -> None:
    command = build_cli("migrate")
    words = ["migrate", "--clickhouse", "chdb:///nowhere/at/all", "--cluster", CLUSTER]
    printed = CliRunner().invoke(command, [*words, "--dry-run"])
    assert printed.exit_code == 0
    assert f"CREATE DATABASE IF NOT EXISTS skeletonhunter ON CLUSTER '{CLUSTER}';" in printed.stdout
    assert printed.stdout.count("ON CLUSTER") > 2 * len(tables())
    refused = CliRunner().invoke(command, words)
    assert isinstance(refused.exception, InputError)
    assert "the embedded engine has no cluster" in str(refused.exception)


def test_the_writer_waits_for_the_shards(client: Client, database: str, writer: ClickHouseWriter) -> None:
    assert INSERT_SETTINGS["distributed_foreground_insert"] == 1
    assert writer.write("job-progress", received_examples("job-progress")).rows > 0
    assert rows(client, "SELECT name FROM system.settings WHERE name = 'distributed_foreground_insert'")


def _plain_engine(match: re.Match[str]) -> str:
    return f"ReplacingMergeTree({match[1]})" if match[1] else "ReplacingMergeTree"


def _text(statement: str) -> str:
    return "'" + statement.replace("\\", "\\\\").replace("'", "\\'") + "'"
