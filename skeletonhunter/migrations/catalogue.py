"""What do the migrations make? Their tables and views, read off the SQL, for the reference page and for checks.

It understands the SQL of this folder, not SQL: a column is a line of four spaces that starts with its name, what goes
on is indented deeper, every column has a COMMENT. Tests compare what it says with a migrated database.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

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


def tables(of: Sequence[Migration] | None = None) -> tuple[Table, ...]:
    """All tables, in the order in which they are made."""
    return tuple(_table(match) for match in _matches(_TABLE, "CREATE TABLE", of))


def views(of: Sequence[Migration] | None = None) -> tuple[View, ...]:
    """All views, as the last migration that makes them says."""
    found = {match["name"]: match for match in _matches(_VIEW, "CREATE OR REPLACE VIEW", of)}
    return tuple(View(name, _one_line(match["comment"]), match["query"]) for name, match in found.items())


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
    logical = re.sub(r"\n {5,}", " ", match["columns"])
    columns = tuple(_column(line.strip(), match["name"]) for line in logical.splitlines() if line.strip())
    return Table(match["name"], _one_line(match["comment"]), columns, match["order"], int(match["days"]))


def _column(line: str, table: str) -> Column:
    match = _COLUMN.match(line)
    if not match:
        raise MigrationError(f"table {table}: a column without type and COMMENT: {line[:60]}")
    return Column(match["name"], match["type"], match["kind"], match["comment"])


def _one_line(text: str) -> str:
    return " ".join(text.split())
