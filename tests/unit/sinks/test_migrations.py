"""Migrations are numbered files of statements that may run twice."""

from __future__ import annotations

import re

import pytest

from skeletonhunter.migrations import Migration, migrations

REPEATABLE = (
    r"CREATE TABLE IF NOT EXISTS |CREATE OR REPLACE VIEW |CREATE MATERIALIZED VIEW IF NOT EXISTS |ALTER TABLE \w+\n"
)
REPEATABLE_CLAUSE = r"ADD (COLUMN|INDEX) IF NOT EXISTS |MODIFY COLUMN "


def test_numbers_run_without_a_hole() -> None:
    assert [migration.number for migration in migrations()] == list(range(1, len(migrations()) + 1))


@pytest.mark.parametrize("migration", migrations(), ids=lambda migration: migration.name)
def test_every_statement_may_run_twice(migration: Migration) -> None:
    assert migration.statements
    for statement in migration.statements:
        assert re.match(REPEATABLE, statement), statement[:60]
        if statement.startswith("ALTER"):
            clauses = re.findall(r"^ {4}(\S.*)", statement, re.M)
            assert all(re.match(REPEATABLE_CLAUSE, clause) for clause in clauses), clauses


def test_statements_end_with_a_semicolon_at_the_end_of_a_line() -> None:
    text = "-- about\nSELECT ';' AS a;\n\n-- more\nSELECT 2\n  , 3;  \nSELECT 4"
    assert Migration(1, "x", text).statements == ("SELECT ';' AS a", "SELECT 2\n  , 3", "SELECT 4")


def test_a_digest_tells_texts_apart() -> None:
    assert Migration(1, "x", "SELECT 1").digest != Migration(1, "x", "SELECT 2").digest


def test_retention_counts_from_insertion_and_feedback_does_not_outlive_incidents() -> None:
    days = {}
    for statement in (statement for migration in migrations() for statement in migration.statements):
        if match := re.match(r"CREATE TABLE IF NOT EXISTS (\w+)", statement):
            ttl = re.search(r"^TTL inserted_at \+ INTERVAL (\d+) DAY$", statement, re.M)
            assert ttl, match[1]
            days[match[1]] = int(ttl[1])
    assert days["operator_feedback"] < days["incidents"] == days["localization_steps"]
