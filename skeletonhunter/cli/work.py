"""``skeletonhunter work``: runs stages over Kafka until it is told to stop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def work(
    stages: Annotated[str | None, typer.Option(help="Stages to run here, separated by commas (default: all).")] = None,
    kafka: Annotated[str | None, typer.Option(help="Broker address.")] = None,
    prefix: Annotated[str | None, typer.Option(help="Prefix of topics and groups.")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
) -> None:
    """Run the stages as a Faust worker, until SIGTERM. Start more of them to share the partitions."""
    import os

    from skeletonhunter.cli import InputError
    from skeletonhunter.settings import SettingsError, load_settings
    from skeletonhunter.sinks.running import log_to_stderr
    from skeletonhunter.working import worker_setup
    from streams.app import StoreError
    from streams.dead_letters import TooManyDeadLettersError
    from streams.serving import serve
    from streams.topic_admin import TopicError

    log_to_stderr()
    flags = {
        "kafka.url": kafka,
        "kafka.prefix": prefix,
        "worker.stages": stages.split(",") if stages else None,
    }
    try:
        serve(worker_setup(load_settings(config, os.environ, flags)))
    except (SettingsError, StoreError, TopicError, TooManyDeadLettersError) as error:
        raise InputError(str(error)) from error
