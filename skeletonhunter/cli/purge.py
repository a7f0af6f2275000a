"""``skeletonhunter purge``: forgets a tenant, in Kafka and in ClickHouse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def purge(
    tenant: Annotated[str, typer.Option(help="Whom to forget, as endpoint maps name the tenant.")],
    kafka: Annotated[str | None, typer.Option(help="Broker address.")] = None,
    clickhouse: Annotated[str | None, typer.Option(help="ClickHouse DSN, a server's or chdb:///path.")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would go.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")] = False,
) -> None:
    """Delete everything that is a tenant's alone, and say what is left. Its jobs should have ended."""
    import os
    from contextlib import closing
    from dataclasses import asdict

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.printing import print_json
    from skeletonhunter.settings import SettingsError, load_settings
    from skeletonhunter.sinks.connection import connect, faults_of_clickhouse, need_database
    from skeletonhunter.tenants import purging
    from skeletonhunter.tenants.ownership import TenantError
    from streams.topic_admin import TopicError

    try:
        settings = load_settings(config, os.environ, {"kafka.url": kafka, "clickhouse.dsn": clickhouse})
        with faults_of_clickhouse(settings.clickhouse.dsn, InputError):
            need_database(settings.clickhouse)
            with closing(connect(settings.clickhouse)) as client:
                done = purging.purge(settings, client, tenant, dry_run)
    except (SettingsError, TenantError, TopicError) as error:
        raise InputError(str(error)) from error
    if as_json:
        print_json(asdict(done))
        return
    typer.echo(f"{'would forget' if dry_run else 'forgot'} {tenant}: {done.jobs} jobs")
    for what, counts in (("rows of", done.rows), ("tombstones in", done.tombstones)):
        for name, count in sorted(counts.items()):
            typer.echo(f"  {count} {what} {name}")
    for name in done.topics:
        typer.echo(f"  topic {name}")
    typer.echo("left are:")
    for words in done.remains:
        typer.echo(f"  {words}")
