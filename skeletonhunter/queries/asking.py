"""How is a query of the cookbook asked? Words of a person become parameters of ClickHouse, each checked by its type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from skeletonhunter.queries import Parameter, Query, queries

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

WEEK = timedelta(days=7)


class QuestionError(ValueError):
    """A question that can't be asked: one sentence with what was expected."""


class Answer(NamedTuple):
    """Names of the columns, and the rows."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]


def find(name: str) -> Query:
    """The query of that name.

    Raises:
        QuestionError: there is none.
    """
    if name not in queries():
        raise QuestionError(f"there is no query {name!r}, expected one of {', '.join(queries())}")
    return queries()[name]


def parameters_of(query: Query, words: Sequence[str], now: datetime) -> dict[str, Any]:
    """Parameters from words ``name=value``; without ``since`` and ``until`` it is the week that ends ``now``.

    Raises:
        QuestionError: a word that is none, an unknown or missing parameter, or a value of another type.
    """
    given: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not separator or name not in {each.name for each in query.parameters} or name in given:
            expected = ", ".join(f"{each.name}=..." for each in query.parameters) or "nothing"
            raise QuestionError(f"query {query.name}: {word!r} is no parameter, expected {expected}, each once")
        given[name] = value
    week: Mapping[str, datetime] = {"since": now - WEEK, "until": now}
    missing = [each for each in query.parameters if each.name not in given and each.name not in week]
    if missing:
        raise QuestionError(f"query {query.name} needs {missing[0].name}=... ({missing[0].meaning})")
    return {
        each.name: _value(query, each, given[each.name]) if each.name in given else week[each.name]
        for each in query.parameters
    }


def _value(query: Query, parameter: Parameter, text: str) -> Any:
    try:
        if parameter.type.startswith("DateTime"):
            moment = datetime.fromisoformat(text)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        if parameter.type.startswith("UInt"):
            number = int(text)
            if number < 0:
                raise ValueError
            return number
        return float(text) if parameter.type.startswith("Float") else text
    except ValueError:
        kind = "an instant like 2025-05-23T08:00 (UTC)" if parameter.type.startswith("DateTime") else parameter.type
        raise QuestionError(f"query {query.name}: {parameter.name} is {text!r}, expected {kind}") from None


def ask(client: Client, sql: str, parameters: Mapping[str, Any]) -> Answer:
    """The answer to a query.

    Raises:
        clickhouse_connect.driver.exceptions.DatabaseError: ClickHouse refuses it.
    """
    answer = client.query(sql, parameters=dict(parameters))
    return Answer(tuple(answer.column_names), answer.result_rows)
