"""``skeletonhunter work``: runs stages over Kafka until it is told to stop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from streams.worker import Worker


def work(
    stages: Annotated[str | None, typer.Option(help="Stages to run here, separated by commas (default: all).")] = None,
    kafka: Annotated[str | None, typer.Option(help="Broker address.")] = None,
    prefix: Annotated[str | None, typer.Option(help="Prefix of topics and groups.")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
) -> None:
    """Run the stages as a Faust worker, until SIGTERM. Start more of them to share the partitions."""
    import os

    from collectors.exposing import AddressError, exposed
    from skeletonhunter.cli import InputError
    from skeletonhunter.metrics.readings import Start
    from skeletonhunter.metrics.working import worker_readings
    from skeletonhunter.settings import SettingsError, load_settings
    from skeletonhunter.sinks.running import listen_to, log_to_stderr
    from skeletonhunter.working import worker_setup
    from streams.app import StoreError
    from streams.dead_letters import TooManyDeadLettersError
    from streams.healing import AnotherLogError
    from streams.serving import serve
    from streams.topic_admin import TopicError

    log_to_stderr()
    flags = {
        "kafka.url": kafka,
        "kafka.prefix": prefix,
        "worker.stages": stages.split(",") if stages else None,
    }
    try:
        settings = load_settings(config, os.environ, flags)
        listen_to(settings)
        workers: list[Worker] = []
        start = Start("work")
        with exposed(settings.metrics.address, lambda: worker_readings(start, workers)):
            serve(worker_setup(settings), watch=workers.append)
    except (SettingsError, AddressError, StoreError, TopicError, TooManyDeadLettersError, AnotherLogError) as error:
        raise InputError(str(error)) from error
