"""``skeletonhunter acls``: who may do what in Kafka, printed or granted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def acls(
    tenant: Annotated[list[str] | None, typer.Option(help="A tenant with topics of its own; may be repeated.")] = None,
    kafka: Annotated[str | None, typer.Option(help="Broker address.")] = None,
    prefix: Annotated[str | None, typer.Option(help="Prefix of topics and groups.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="Settings file (TOML), of a user who may alter the cluster.")
    ] = None,
    grant: Annotated[bool, typer.Option("--apply", help="Grant them, and create the tenants' topics.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print them as JSON.")] = False,
) -> None:
    """Print the least permissions that each part and tenant needs, as arguments of kafka-acls.sh, or grant them."""
    import os
    from dataclasses import asdict

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.printing import print_json
    from skeletonhunter.settings import SettingsError, load_settings
    from skeletonhunter.tenants.acls import apply, as_command
    from skeletonhunter.tenants.ownership import TenantError
    from skeletonhunter.tenants.permissions import permissions
    from skeletonhunter.tenants.relay import tenant_plans, tenant_settings
    from streams.topic_admin import TopicAdmin, TopicError

    try:
        settings = load_settings(config, os.environ, {"kafka.url": kafka, "kafka.prefix": prefix}).kafka
        found = permissions(settings.prefix, tenant or ())
        if grant:
            for name in tenant or ():
                own = tenant_settings(settings, name)
                admin = TopicAdmin(own.url, own.prefix, own.librdkafka)
                admin.ensure(tenant_plans(own.max_message_bytes), own.partitions, own.replication)
            apply(settings, found)
    except (SettingsError, TenantError, TopicError) as error:
        raise InputError(str(error)) from error
    if as_json:
        print_json([asdict(each) for each in found])
    else:
        typer.echo("\n".join(as_command(each) for each in found))
