"""``skeletonhunter collect``: the agent of a host, a switch or a cluster, until it is told to stop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def collect(
    config: Annotated[Path, typer.Option(help="Settings of the agent (TOML).")],
    kafka: Annotated[str | None, typer.Option(help="Broker address.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Only check the settings, and say who would run.")] = False,
) -> None:
    """Run an agent: read devices, publish what they say, carry out probe plans, until SIGTERM."""
    import os

    from collectors.running import replace_process
    from skeletonhunter.cli import InputError
    from skeletonhunter.collecting import load_agent_settings
    from skeletonhunter.settings_sources import SettingsError

    try:
        settings = load_agent_settings(config, os.environ, {"kafka.url": kafka})
    except SettingsError as error:
        raise InputError(str(error)) from error
    if check:
        typer.echo(f"an agent of fabric {settings.agent.fabric} with {', '.join(settings.agent.parts)}")
    else:
        replace_process(settings)
