"""``skeletonhunter migrate``: makes a ClickHouse database what this program needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from skeletonhunter.migrations import Migration
    from skeletonhunter.settings import ClickHouseSettings


def migrate(
    clickhouse: Annotated[str | None, typer.Option(help="ClickHouse DSN, a server's or chdb:///path.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the SQL that is missing, change nothing.")] = False,
    cluster: Annotated[
        str | None,
        typer.Option(help="Name of a ClickHouse cluster: replicated tables on every shard, and distributed ones."),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the migrations as JSON.")] = False,
) -> None:
    """Apply the migrations that a ClickHouse database lacks."""
    import os

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.printing import print_json
    from skeletonhunter.settings import SettingsError, load_settings
    from skeletonhunter.sinks.connection import database_of, faults_of_clickhouse, is_embedded

    try:
        settings = load_settings(config, os.environ, {"clickhouse.dsn": clickhouse}).clickhouse
    except SettingsError as error:
        raise InputError(str(error)) from error
    if cluster and is_embedded(settings.dsn) and not dry_run:
        raise InputError(f"{settings.dsn}: the embedded engine has no cluster, expected a server (or --dry-run)")
    with faults_of_clickhouse(settings.dsn, InputError):
        done = _missing(settings) if dry_run else _apply(settings, cluster)
        sql = _sql(done, database_of(settings), cluster) if dry_run else ""
    if as_json:
        listing = [{"number": each.number, "name": each.name, "digest": each.digest} for each in done]
        print_json({"database": database_of(settings), "applied": not dry_run, "migrations": listing})
    else:
        typer.echo(sql if dry_run else _told(done, database_of(settings)))


def _missing(settings: ClickHouseSettings) -> tuple[Migration, ...]:
    """What the database lacks; an embedded one that does not exist is not made for that."""
    from skeletonhunter import migrations
    from skeletonhunter.sinks.connection import connect, database_of, is_embedded, is_made

    if is_embedded(settings.dsn) and not is_made(settings.dsn):
        return migrations.migrations()
    client = connect(settings)
    try:
        return migrations.pending(client, database_of(settings))
    finally:
        client.close()


def _apply(settings: ClickHouseSettings, cluster: str | None) -> tuple[Migration, ...]:
    from skeletonhunter import migrations
    from skeletonhunter.sinks.connection import connect, database_of

    client = connect(settings)
    try:
        return migrations.apply(client, database_of(settings), cluster)
    finally:
        client.close()


def _sql(missing: tuple[Migration, ...], database: str, cluster: str | None) -> str:
    from skeletonhunter.migrations import preparation, statements_of

    if not missing:
        return "-- nothing is missing"
    created, *_ = preparation(database, cluster)
    parts = [f"{created.replace('`', '')};\n\nUSE {database};\n"]
    for each in missing:
        statements = statements_of(each, database, cluster)
        parts.append(f"-- migration {each.number}: {each.name}\n\n" + ";\n\n".join(statements) + ";\n")
    return "\n".join(parts)


def _told(done: tuple[Migration, ...], database: str) -> str:
    if not done:
        return f"database {database} has all migrations"
    return "\n".join(f"applied {each.number} {each.name} to database {database}" for each in done)
