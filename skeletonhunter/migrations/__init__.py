"""Which tables and views does ClickHouse need? Numbered SQL files of this folder, applied in order, each once.

A file is never changed once released: a change is a new file. ``schema_migrations`` remembers number, name and digest
of what was applied. Every statement may run twice (``IF NOT EXISTS``, ``OR REPLACE``), so a migration that was cut off,
or that two programs apply at once, ends the same. A statement ends with a semicolon at the end of a line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

_FILE = re.compile(r"^(?P<number>\d{4})_(?P<name>\w+)\.sql$")
_LEDGER = """CREATE TABLE IF NOT EXISTS {database}.schema_migrations
(
    number UInt32 COMMENT 'number of the migration',
    name String COMMENT 'what it is about',
    digest String COMMENT 'digest of its text',
    applied_at DateTime('UTC') DEFAULT now() COMMENT 'when it was applied'
)
ENGINE = ReplacingMergeTree
ORDER BY number
COMMENT 'Migrations that this database has.'"""


class MigrationError(RuntimeError):
    """The database and the migrations of this program do not belong together."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file: its statements run in order."""

    number: int
    name: str
    text: str

    @property
    def digest(self) -> str:
        """Digest of the text, 16 hex digits."""
        return blake2b(self.text.encode(), digest_size=8).hexdigest()

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements, without comment lines and final semicolons."""
        lines = [line for line in self.text.splitlines() if not line.startswith("--")]
        parts = re.split(r";[ \t]*(?:\n|$)", "\n".join(lines))
        return tuple(part.strip() for part in parts if part.strip())


def migrations() -> tuple[Migration, ...]:
    """All migrations, in order.

    Raises:
        MigrationError: numbers that do not run 1, 2, 3 ...
    """
    entries = resources.files(__name__).iterdir()
    found = [(_FILE.match(entry.name), entry.read_text()) for entry in entries if entry.name.endswith(".sql")]
    read = [Migration(int(match["number"]), match["name"], text) for match, text in found if match]
    ordered = tuple(sorted(read, key=lambda migration: migration.number))
    if len(read) != len(found) or [each.number for each in ordered] != list(range(1, len(found) + 1)):
        raise MigrationError("the migrations are not numbered 0001_name.sql, 0002_name.sql and so on without a hole")
    return ordered


def pending(client: Client, database: str, may_be_newer: bool = False) -> tuple[Migration, ...]:
    """Migrations that the database lacks; all of them when there is no database.

    ``may_be_newer``: it may have some that we do not know. Migrations only add, so who inserts need not know them.

    Raises:
        MigrationError: it has one that differs from ours, or one that we do not know.
    """
    known = {migration.number: migration for migration in migrations()}
    applied = _applied(client, database)
    for number, digest in applied.items():
        if number not in known:
            if may_be_newer:
                continue
            raise MigrationError(
                f"database {database} has migration {number}, this program knows {len(known)}: too old"
            )
        if known[number].digest != digest:
            raise MigrationError(f"migration {number} of database {database} was applied from another text than ours")
    return tuple(migration for number, migration in known.items() if number not in applied)


def apply(client: Client, database: str, cluster: str | None = None) -> tuple[Migration, ...]:
    """Makes the database what this program needs, on one server or a cluster; the migrations that were applied now.

    Raises:
        MigrationError: as ``pending``.
        clickhouse_connect.driver.exceptions.DatabaseError: a statement failed.
    """
    for statement in preparation(database, cluster):
        client.command(statement)
    client.database = database
    missing = pending(client, database)
    for migration in missing:
        for statement in statements_of(migration, database, cluster):
            client.command(statement)
        _remember(client, database, [migration])
    return missing


def preparation(database: str, cluster: str | None = None) -> tuple[str, ...]:
    """Statements that make the database and the ledger of its migrations."""
    ledger = _LEDGER.format(database=_quoted(database))
    if cluster is None:
        return f"CREATE DATABASE IF NOT EXISTS {_quoted(database)}", ledger
    from skeletonhunter.migrations import cluster as on_cluster

    return on_cluster.preparation(_quoted(database), cluster, ledger)


def statements_of(migration: Migration, database: str, cluster: str | None = None) -> tuple[str, ...]:
    """The statements of a migration, for one server or rendered for a cluster.

    Raises:
        MigrationError: a statement can't be rendered.
    """
    if cluster is None:
        return migration.statements
    from skeletonhunter.migrations import cluster as on_cluster

    return on_cluster.rendered(migration, database, cluster)


def _applied(client: Client, database: str) -> dict[int, str]:
    tables = "SELECT count() FROM system.tables WHERE database = {database:String} AND name = 'schema_migrations'"
    if not client.query(tables, parameters={"database": database}).first_item["count()"]:
        return {}
    rows = client.query(f"SELECT number, digest FROM {_quoted(database)}.schema_migrations FINAL ORDER BY number")
    return {int(number): str(digest) for number, digest in rows.result_rows}


def _remember(client: Client, database: str, done: Sequence[Migration]) -> None:
    rows = [(migration.number, migration.name, migration.digest) for migration in done]
    client.insert("schema_migrations", rows, column_names=("number", "name", "digest"), database=database)


def _quoted(name: str) -> str:
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"
