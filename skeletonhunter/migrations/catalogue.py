"""What do the migrations make? Their tables and views, read off the SQL, for the reference page and for checks.

It understands the SQL of this folder, not SQL: a column is a line of four spaces that starts with its name, what goes
on is indented deeper, every column has a COMMENT; a column that is added later says AFTER which one. Tests compare what
it says with a migrated database.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from skeletonhunter.migrations import Migration, MigrationError, migrations

_TABLE = re.compile(
    r"^CREATE TABLE IF NOT EXISTS (?P<name>\w+)\n\((?P<columns>.*?)\n\)\nENGINE = (?P<engine>.*?)\n"
    r"(?:PARTITION BY (?P<partition>.*?)\n)?PRIMARY KEY \((?P<primary>.*?)\)\nORDER BY \((?P<order>.*?)\)\n"
    r"TTL inserted_at \+ INTERVAL (?P<days>\d+) DAY\nCOMMENT '(?P<comment>.*)'$",
    re.DOTALL,
)
_VIEW = re.compile(
    r"^CREATE OR REPLACE VIEW (?P<name>\w+) AS\n(?P<query>.*)\nCOMMENT '(?P<comment>.*)'$",
    re.DOTALL,
)
_ROLLUP = re.compile(
    r"^CREATE MATERIALIZED VIEW IF NOT EXISTS (?P<name>\w+) REFRESH EVERY 1 MINUTE APPEND TO (?P<table>\w+) AS\n"
    r"(?P<query>.*)\nCOMMENT '(?P<comment>.*)'$",
    re.DOTALL,
)
_ALTER = re.compile(r"^ALTER TABLE (?P<name>\w+)\n(?P<clauses>.*)$", re.DOTALL)
_ADDED = re.compile(r"^ADD COLUMN IF NOT EXISTS (?P<column>.*) AFTER (?P<after>\w+),?$")
_COLUMN = re.compile(
    r"^`?(?P<name>\w+)`? (?P<type>.*?)(?: (?P<kind>DEFAULT|ALIAS) (?P<expression>.*?))?"
    r" COMMENT '(?P<comment>[^']*)'(?: CODEC\((?P<codec>.*)\))?,?$"
)


@dataclass(frozen=True, slots=True)
class Column:
    """``kind`` is DEFAULT or ALIAS for columns that ClickHouse computes, else None."""

    name: str
    type: str
    kind: str | None
    comment: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table; rows with equal ``order_by`` replace each other."""

    name: str
    comment: str
    columns: tuple[Column, ...]
    order_by: str
    days: int


@dataclass(frozen=True, slots=True)
class View:
    """A view and its query."""

    name: str
    comment: str
    query: str


@dataclass(frozen=True, slots=True)
class Rollup:
    """A refreshable materialized view: every minute ``query`` appends to ``table``."""

    name: str
    table: str
    query: str


def tables(of: Sequence[Migration] | None = None) -> tuple[Table, ...]:
    """All tables, in the order in which they are made, with the columns that later migrations add."""
    found = {match["name"]: _table(match) for match in _matches(_TABLE, "CREATE TABLE", of)}
    for match in _matches(_ALTER, "ALTER TABLE", of):
        found[match["name"]] = _altered(found[match["name"]], match["clauses"])
    return tuple(found.values())


def views(of: Sequence[Migration] | None = None) -> tuple[View, ...]:
    """All views, as the last migration that makes them says."""
    found = {match["name"]: match for match in _matches(_VIEW, "CREATE OR REPLACE VIEW", of)}
    return tuple(View(name, _one_line(match["comment"]), match["query"]) for name, match in found.items())


def rollups(of: Sequence[Migration] | None = None) -> tuple[Rollup, ...]:
    """What fills the tables that are made of others."""
    matches = _matches(_ROLLUP, "CREATE MATERIALIZED VIEW", of)
    return tuple(Rollup(match["name"], match["table"], match["query"]) for match in matches)


def _matches(pattern: re.Pattern[str], start: str, of: Sequence[Migration] | None) -> list[re.Match[str]]:
    found = []
    for migration in migrations() if of is None else of:
        for statement in migration.statements:
            if statement.startswith(start):
                match = pattern.match(statement)
                if not match:
                    raise MigrationError(
                        f"migration {migration.number}: not in the form of this folder: {statement[:60]}"
                    )
                found.append(match)
    return found


def _table(match: re.Match[str]) -> Table:
    columns = tuple(_column(line, match["name"]) for line in _lines(match["columns"]))
    return Table(match["name"], _one_line(match["comment"]), columns, match["order"], int(match["days"]))


def _lines(text: str) -> list[str]:
    """What stands at four spaces, each with what goes on deeper."""
    logical = re.sub(r"\n {5,}", " ", text)
    return [line.strip() for line in logical.splitlines() if line.strip()]


def _altered(table: Table, clauses: str) -> Table:
    columns = list(table.columns)
    for line in _lines(clauses):
        if match := _ADDED.match(line):
            names = [column.name for column in columns]
            if match["after"] not in names:
                raise MigrationError(f"table {table.name}: no column {match['after']} to stand after: {line[:60]}")
            columns.insert(names.index(match["after"]) + 1, _column(match["column"], table.name))
        elif not line.startswith(("MODIFY COLUMN ", "ADD INDEX IF NOT EXISTS ")):
            raise MigrationError(f"table {table.name}: not in the form of this folder: {line[:60]}")
    return replace(table, columns=tuple(columns))


def _column(line: str, table: str) -> Column:
    match = _COLUMN.match(line)
    if not match:
        raise MigrationError(f"table {table}: a column without type and COMMENT: {line[:60]}")
    return Column(match["name"], match["type"], match["kind"], match["comment"])


def _one_line(text: str) -> str:
    return " ".join(text.split())
