"""The command asks the embedded engine, which no other client can open, and says in one sentence what it can't."""

from __future__ import annotations

import json

import pytest

from skeletonhunter.queries import queries
from tests.integration.clickhouse.test_migrate import run

pytestmark = pytest.mark.clickhouse


@pytest.fixture(scope="module")
def dsn(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database without a row."""
    place = f"chdb://{tmp_path_factory.mktemp('query')}/db"
    assert run("migrate", "--clickhouse", place).returncode == 0
    return place


def test_it_lists_its_questions_without_any_database() -> None:
    listed = json.loads(run("query", "--json").stdout)
    assert list(listed) == list(queries())
    assert listed["worst_pairs"] == ["job", "since", "until"]
    assert "worst_pairs job=... since=... until=...\n    Which pairs of a job are worst?" in run("query").stdout


def test_it_answers_a_question_and_any_other(dsn: str) -> None:
    empty = run("query", "worst_pairs", "job=j", "--clickhouse", dsn)
    assert (empty.returncode, empty.stdout) == (0, "No rows.\n")
    sql = "SELECT number AS n, NULL AS nothing, [1, 2] AS list, toDateTime(0, 'UTC') AS time FROM numbers(1)"
    answer = run("query", "--sql", sql, "--clickhouse", dsn, "--json")
    assert json.loads(answer.stdout) == [{"n": 0, "nothing": None, "list": [1, 2], "time": "1970-01-01 00:00:00"}]
    assert "1, 2" in run("query", "--sql", sql, "--clickhouse", dsn).stdout


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["pairs"], 1, "there is no query 'pairs', expected one of open_incidents, "),
        (["worst_pairs"], 1, "query worst_pairs needs job=... (the job)"),
        (["worst_pairs", "job=j", "--sql", "SELECT 1"], 2, "expected the name of a query or --sql, not both"),
    ],
)
def test_what_is_wrong_is_said(dsn: str, words: list[str], code: int, sentence: str) -> None:
    answer = run("query", *words, "--clickhouse", dsn)
    assert answer.returncode == code
    assert sentence in " ".join(answer.stderr.split())


def test_wrong_sql_is_said_without_a_trace(dsn: str) -> None:
    answer = run("query", "--sql", "SELECT nothing_there", "--clickhouse", dsn)
    assert answer.returncode == 1
    assert "nothing_there" in answer.stderr and "Traceback" not in answer.stderr
