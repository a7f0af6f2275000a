"""``skeletonhunter query``: asks ClickHouse a question of the cookbook, or any other in SQL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from skeletonhunter.queries.asking import Answer


def query(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME] [PARAMETER=VALUE]...",
            help="Which query of the cookbook (none: list them), and its parameters; "
            "since and until are the last seven days unless told.",
        ),
    ] = None,
    *,
    sql: Annotated[str | None, typer.Option(help="Ask this instead.")] = None,
    clickhouse: Annotated[str | None, typer.Option(help="ClickHouse DSN (default: as configured).")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON, one object per row.")] = False,
) -> None:
    """Answer a question in SQL from a ClickHouse server or the embedded engine."""
    from datetime import UTC, datetime

    from rich.console import Console

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.incident_choice import opened_clickhouse
    from skeletonhunter.cli.printing import print_json
    from skeletonhunter.queries.asking import QuestionError, ask, find, parameters_of

    words = what or []
    if sql is not None and words:
        raise typer.BadParameter("expected the name of a query or --sql, not both")
    if sql is None and not words:
        _list(as_json)
        return
    parameters: dict[str, Any] = {}
    try:
        if sql is None:
            wanted = find(words[0])
            sql, parameters = wanted.sql, parameters_of(wanted, words[1:], datetime.now(UTC))
    except QuestionError as error:
        raise InputError(str(error)) from error
    with opened_clickhouse(clickhouse, config) as (client, database, _):
        client.database = database
        answer = ask(client, sql, parameters)
    if as_json:
        print_json([{n: _plain(v) for n, v in zip(answer.columns, row, strict=True)} for row in answer.rows])
    else:
        Console().print(_table(answer))


def _list(as_json: bool) -> None:
    from skeletonhunter.cli.printing import print_json
    from skeletonhunter.queries import queries

    if as_json:
        print_json({name: [each.name for each in query.parameters] for name, query in queries().items()})
        return
    for name, each in queries().items():
        parameters = "".join(f" {parameter.name}=..." for parameter in each.parameters)
        typer.echo(f"{name}{parameters}\n    {each.question}")


def _table(answer: Answer) -> Any:
    from rich.table import Table
    from rich.text import Text

    if not answer.rows:
        return "No rows."
    table = Table(show_edge=False, header_style="bold")
    for name in answer.columns:
        table.add_column(Text(name), overflow="fold")
    for row in answer.rows:
        table.add_row(*(Text(_shown(value)) for value in row))
    return table


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    return str(value)


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | bool | list | tuple | dict | None) else str(value)
