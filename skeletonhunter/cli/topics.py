"""``skeletonhunter topics``: creates the topics in Kafka, or lists what they should be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def topics(
    kafka: Annotated[str | None, typer.Option(help="Broker address.")] = None,
    prefix: Annotated[str | None, typer.Option(help="Prefix of topics and groups.")] = None,
    partitions: Annotated[int | None, typer.Option(help="Partitions of every topic.", min=1)] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the topics, without asking a broker.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the topics as JSON.")] = False,
) -> None:
    """Create the topics that are missing, with the retention or compaction that each is to have."""
    import os

    from rich.console import Console
    from rich.table import Table

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.printing import print_json
    from skeletonhunter.settings import SettingsError, load_settings
    from skeletonhunter.working import topic_admin
    from streams.topic_admin import TopicError, plan_topics

    flags = {"kafka.url": kafka, "kafka.prefix": prefix, "kafka.partitions": partitions}
    try:
        settings = load_settings(config, os.environ, flags)
        plans = plan_topics(settings.kafka.max_message_bytes)
        created: list[str] = []
        if not dry_run:
            created = topic_admin(settings).ensure(plans, settings.kafka.partitions, settings.kafka.replication)
    except (SettingsError, TopicError) as error:
        raise InputError(str(error)) from error
    rows = [
        {
            "topic": settings.kafka.prefix + plan.name,
            "partitions": settings.kafka.partitions,
            "config": dict(plan.config),
            "created": plan.name in created,
        }
        for plan in plans
    ]
    if as_json:
        print_json(rows)
        return
    table = Table("topic", "partitions", "config", "created")
    for row in rows:
        table.add_row(
            str(row["topic"]), str(row["partitions"]), _in_words(row["config"]), "yes" if row["created"] else ""
        )
    Console().print(table)


def _in_words(config: object) -> str:
    assert isinstance(config, dict)
    return ", ".join(f"{name}={value}" for name, value in config.items())
