"""Migrations can be applied twice, at once, and after an interruption; what does not belong together is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from skeletonhunter import migrations
from skeletonhunter.migrations import MigrationError
from skeletonhunter.settings import ClickHouseSettings
from skeletonhunter.sinks.connection import ClickHouseBusyError, connect
from tests.integration.clickhouse.asking import one, rows

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

pytestmark = pytest.mark.clickhouse

PROGRAM = [sys.executable, "-c", "from skeletonhunter.cli import main; main()"]
_numbers = count()


def empty(client: Client) -> str:
    name = f"empty_{os.getpid()}_{next(_numbers)}"
    client.command(f"DROP DATABASE IF EXISTS {name}")
    return name


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=60, check=False)


def test_applying_twice_applies_once(client: Client) -> None:
    name = empty(client)
    assert migrations.pending(client, name) == migrations.migrations()
    assert migrations.apply(client, name) == migrations.migrations()
    assert migrations.apply(client, name) == ()
    applied = rows(client, f"SELECT number, name, digest FROM {name}.schema_migrations FINAL ORDER BY number")
    assert [tuple(row.values()) for row in applied] == [(m.number, m.name, m.digest) for m in migrations.migrations()]


def test_two_programs_may_apply_at_once(client: Client) -> None:
    name = empty(client)
    clients = [connect(ClickHouseSettings(dsn=os.environ.get("SKELETONHUNTER_TEST_CLICKHOUSE") or dsn_of(client)))]
    clients.append(client)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda each: migrations.apply(each, name), clients))
    clients[0].close()
    assert migrations.pending(client, name) == ()
    assert one(client, f"SELECT count() FROM {name}.schema_migrations FINAL") == len(migrations.migrations())


def test_a_migration_that_was_cut_off_is_taken_up_again(client: Client) -> None:
    name = empty(client)
    client.command(f"CREATE DATABASE {name}")
    client.database = name
    for statement in migrations.migrations()[0].statements[:2]:
        client.command(statement)
    assert len(migrations.apply(client, name)) == len(migrations.migrations())


def test_a_database_of_another_text_or_of_the_future_is_refused(client: Client) -> None:
    name = empty(client)
    migrations.apply(client, name)
    columns = ("number", "name", "digest")
    client.insert("schema_migrations", [(1, "measurements", "another")], column_names=columns, database=name)
    with pytest.raises(MigrationError, match=f"migration 1 of database {name} was applied from another text than ours"):
        migrations.apply(client, name)
    client.command(f"TRUNCATE TABLE {name}.schema_migrations")
    client.insert("schema_migrations", [(9999, "later", "x")], column_names=columns, database=name)
    with pytest.raises(MigrationError, match=f"database {name} has migration 9999"):
        migrations.pending(client, name)


def test_a_second_process_is_told_that_the_folder_is_in_use(client: Client) -> None:
    if os.environ.get("SKELETONHUNTER_TEST_CLICKHOUSE"):
        pytest.skip("a server has no such limit")
    answer = run("migrate", "--clickhouse", dsn_of(client))
    assert answer.returncode == 1
    assert answer.stderr.strip().splitlines()[-1].endswith("another process has it open, or it is no such database")
    with pytest.raises(ClickHouseBusyError, match="this process has another one open, expected one at a time"):
        connect(ClickHouseSettings(dsn=f"{dsn_of(client)}-other"))


def test_the_command_prints_applies_and_finds_nothing_left(tmp_path: Path) -> None:
    dsn = f"chdb://{tmp_path}/a folder/db"
    dry = run("migrate", "--clickhouse", dsn, "--dry-run")
    assert dry.returncode == 0
    assert not (tmp_path / "a folder").exists()
    for statement in (statement for migration in migrations.migrations() for statement in migration.statements):
        assert f"{statement};" in dry.stdout
    first = json.loads(run("migrate", "--clickhouse", dsn, "--json").stdout)
    assert [each["number"] for each in first["migrations"]] == [each.number for each in migrations.migrations()]
    assert run("migrate", "--clickhouse", dsn).stdout == "database skeletonhunter has all migrations\n"
    assert run("migrate", "--clickhouse", dsn, "--dry-run").stdout == "-- nothing is missing\n"


@pytest.mark.parametrize(
    ("dsn", "sentence"),
    [
        ("clickhouse://u:hidden@127.0.0.1:1/x", "clickhouse://u:***@127.0.0.1:1/x: no ClickHouse answers there"),
        ("sqlite:///x", "unknown kind of DSN 'sqlite', expected one of chdb://, clickhouse://"),
    ],
)
def test_what_is_no_database_is_said_in_one_sentence(dsn: str, sentence: str) -> None:
    answer = run("migrate", "--clickhouse", dsn)
    assert answer.returncode == 1
    assert sentence in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1
    assert "hidden" not in answer.stderr


def dsn_of(client: Client) -> str:
    return f"chdb://{client.path}"
