"""``skeletonhunter relay``: lets a tenant's agents take part without seeing, or speaking for, other tenants."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def relay(
    tenant: Annotated[str, typer.Option(help="Whose topics to relay, as endpoint maps name the tenant.")],
    kafka: Annotated[str | None, typer.Option(help="Broker address.")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="At the end print what was done as JSON.")] = False,
) -> None:
    """Copy what may pass between a tenant's topics and the pipeline's, until SIGTERM."""
    import os
    import threading
    from dataclasses import asdict

    from confluent_kafka import KafkaException

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.printing import print_json
    from skeletonhunter.settings import SettingsError, load_settings
    from skeletonhunter.sinks.running import log_to_stderr, stopped_by_signals
    from skeletonhunter.tenants.ownership import TenantError
    from skeletonhunter.tenants.relay import Relay
    from streams.dead_letters import TooManyDeadLettersError
    from streams.topic_admin import TopicError

    log_to_stderr()
    stop = threading.Event()
    try:
        settings = load_settings(config, os.environ, {"kafka.url": kafka})
        with stopped_by_signals(stop):
            counts = Relay(settings, tenant, stop).run()
    except (SettingsError, TenantError, TopicError, TooManyDeadLettersError) as error:
        raise InputError(str(error)) from error
    except KafkaException as error:
        raise InputError(f"the relay of tenant {tenant}: Kafka says: {error.args[0].str()}") from error
    if as_json:
        print_json(asdict(counts))
