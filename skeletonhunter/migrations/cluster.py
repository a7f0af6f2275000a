"""What do the migrations look like on a ClickHouse cluster? The same statements, rendered: pure, from text to text.

A table ``t`` becomes ``t_local``, replicated within its shard, and ``t`` itself, distributed over the shards; all
statements run ``ON CLUSTER``. Rows that replace each other must meet on one shard, so the shard key is a column of the
sorting key: the job where there is one, else what the table is about. Views ask the distributed tables; a roll-up is
made shard by shard from local rows, which works because probe results and their roll-ups are sharded by job. Needs the
macros ``{shard}`` and ``{replica}`` on every server, as ClickHouse's own documentation sets them up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from skeletonhunter.migrations import Migration, MigrationError
from skeletonhunter.migrations.catalogue import rollups, tables

LOCAL = "_local"
PATH = "/clickhouse/tables/{shard}/{database}/{table}"
LEDGER_PATH = "/clickhouse/tables/{database}/schema_migrations"
PREFERRED = ("job", "incident", "host", "switch", "agent", "device")
"""Columns to shard by, the first that the sorting key has."""
COARSE = frozenset(("fabric", "version", "minute"))
"""Columns that would put too much on one shard, or rows that belong together on several."""

_TABLE = re.compile(
    r"^CREATE TABLE IF NOT EXISTS (?P<name>\w+)\n(?P<columns>\(.*?\n\))\n"
    r"ENGINE = ReplacingMergeTree(?:\((?P<version>\w+)\))?\n(?P<rest>.*)$",
    re.DOTALL,
)
_ALTER = re.compile(r"^ALTER TABLE (?P<name>\w+)\n(?P<clauses>.*)$", re.DOTALL)
_ADDED = re.compile(r"^ {4}ADD COLUMN IF NOT EXISTS .*?(?=,?\n {4}\S|\Z)", re.DOTALL | re.MULTILINE)
_VIEW = re.compile(r"^CREATE OR REPLACE VIEW (?P<name>\w+) AS\n(?P<rest>.*)$", re.DOTALL)
_ROLLUP = re.compile(
    r"^CREATE MATERIALIZED VIEW IF NOT EXISTS (?P<name>\w+) (?P<when>REFRESH .*? APPEND) TO (?P<table>\w+) AS\n"
    r"(?P<rest>.*)$",
    re.DOTALL,
)
_CODEC = re.compile(r" CODEC\((?:[^()]|\([^()]*\))*\)")


def quoted(name: str) -> str:
    """A name as a string of SQL, of a database or cluster.

    Raises:
        MigrationError: it has characters that no such name should have.
    """
    if not re.fullmatch(r"[A-Za-z0-9_.{}-]+", name):
        raise MigrationError(f"{name!r} is no name of a cluster, expected letters, digits, '_', '.' and '-'")
    return f"'{name}'"


def preparation(database: str, cluster: str, ledger: str) -> tuple[str, str]:
    """Statements that make the database and its ledger (``ledger``: its statement for one server)."""
    on = f"ON CLUSTER {quoted(cluster)}"
    head, engine = f"{database}.schema_migrations", "ENGINE = ReplacingMergeTree"
    if head not in ledger or engine not in ledger:
        raise MigrationError("the ledger of migrations is not in the form that can be rendered for a cluster")
    replicated = f"ENGINE = ReplicatedReplacingMergeTree('{LEDGER_PATH}', '{{shard}}-{{replica}}')"
    return (
        f"CREATE DATABASE IF NOT EXISTS {database} {on}",
        ledger.replace(head, f"{head} {on}").replace(engine, replicated),
    )


def rendered(migration: Migration, database: str, cluster: str) -> tuple[str, ...]:
    """The statements of a migration for a cluster.

    Raises:
        MigrationError: a statement is not in the form of this folder.
    """
    return tuple(made for statement in migration.statements for made in _rendered(statement, database, cluster))


def shard_key(order_by: str) -> str:
    """The column of a sorting key by which rows are spread."""
    columns = [column.strip(" `") for column in order_by.split(",")]
    preferred = [column for column in PREFERRED if column in columns]
    fine = [column for column in columns if column not in COARSE]
    return (preferred or fine or columns)[0]


def _rendered(statement: str, database: str, cluster: str) -> Sequence[str]:
    on = f"ON CLUSTER {quoted(cluster)}"
    if match := _TABLE.match(statement):
        return _table(match, database, cluster)
    if match := _ALTER.match(statement):
        name, clauses = f"{database}.{match['name']}", match["clauses"]
        added = ",\n".join(_CODEC.sub("", found).rstrip(",") for found in _ADDED.findall(clauses))
        local = f"ALTER TABLE {name}{LOCAL} {on}\n{clauses}"
        return (local, f"ALTER TABLE {name} {on}\n{added}") if added else (local,)
    if match := _VIEW.match(statement):
        return (f"CREATE OR REPLACE VIEW {database}.{match['name']} {on} AS\n{match['rest']}",)
    if match := _ROLLUP.match(statement):
        head = f"CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.{match['name']} {on} {match['when']}"
        return (f"{head} TO {database}.{match['table']}{LOCAL} AS\n{_locally(match['rest'])}",)
    raise MigrationError(f"can't be rendered for a cluster: {statement[:60]}")


def _table(match: re.Match[str], database: str, cluster: str) -> tuple[str, str]:
    name, on = match["name"], f"ON CLUSTER {quoted(cluster)}"
    order_by = next(table.order_by for table in tables() if table.name == name)
    version = f", {match['version']}" if match["version"] else ""
    return (
        f"CREATE TABLE IF NOT EXISTS {database}.{name}{LOCAL} {on}\n{match['columns']}\n"
        f"ENGINE = ReplicatedReplacingMergeTree('{PATH}', '{{replica}}'{version})\n{match['rest']}",
        f"CREATE TABLE IF NOT EXISTS {database}.{name} {on} AS {database}.{name}{LOCAL}\n"
        f"ENGINE = Distributed({quoted(cluster)}, '{database}', '{name}{LOCAL}', cityHash64({shard_key(order_by)}))",
    )


def _locally(query: str) -> str:
    """The query of a roll-up, asking the rows of its own shard."""
    names = {table.name for table in tables()} & {"probe_results", *(rollup.table for rollup in rollups())}
    return re.sub(rf"\bFROM ({'|'.join(sorted(names))})\b", rf"FROM \1{LOCAL}", query)
