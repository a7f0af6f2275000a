"""Words of a person become parameters of a query, or one clear sentence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from skeletonhunter.queries.asking import QuestionError, find, parameters_of

NOW = datetime(2025, 5, 23, 12, tzinfo=UTC)


def test_values_have_the_types_that_the_query_names() -> None:
    query = find("agents_missing")
    words = ["silent_s=12", "since=2025-05-23T08:00", "until=2025-05-23T11:00+02:00"]
    assert parameters_of(query, words, NOW) == {
        "silent_s": 12.0,
        "since": datetime(2025, 5, 23, 8, tzinfo=UTC),
        "until": datetime(2025, 5, 23, 9, tzinfo=UTC),
    }


def test_without_a_time_it_is_the_last_week() -> None:
    found = parameters_of(find("worst_pairs"), ["job=a=b"], NOW)
    assert found == {"job": "a=b", "since": NOW - timedelta(days=7), "until": NOW}


@pytest.mark.parametrize(
    ("name", "words", "sentence"),
    [
        ("worst_pairs", [], r"query worst_pairs needs job=\.\.\. \(the job\)"),
        (
            "worst_pairs",
            ["jobs=1"],
            r"'jobs=1' is no parameter, expected job=\.\.\., since=\.\.\., until=\.\.\., each once",
        ),
        ("worst_pairs", ["job=1", "job=2"], "'job=2' is no parameter"),
        ("open_incidents", ["x=1"], "expected nothing"),
        ("worst_pairs", ["job=1", "since=noon"], r"since is 'noon', expected an instant like 2025-05-23T08:00 \(UTC\)"),
        ("congested_ports", ["fabric=f", "deep_bytes=-1"], "deep_bytes is '-1', expected UInt64"),
        ("agents_missing", ["silent_s=long"], "silent_s is 'long', expected Float64"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(name: str, words: list[str], sentence: str) -> None:
    with pytest.raises(QuestionError, match=sentence):
        parameters_of(find(name), words, NOW)


def test_an_unknown_query_names_those_there_are() -> None:
    with pytest.raises(QuestionError, match="there is no query 'pairs', expected one of open_incidents, "):
        find("pairs")
