"""``skeletonhunter collect``: the agent of a host, a switch or a cluster, until it is told to stop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def collect(
    config: Annotated[Path, typer.Option(help="Settings of the agent (TOML).")],
    kafka: Annotated[str | None, typer.Option(help="Broker address.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Only check the settings, and say who would run.")] = False,
    hand_over: Annotated[int | None, typer.Option(hidden=True, help="Write the settings to a descriptor.")] = None,
) -> None:
    """Run an agent: read devices, publish what they say, carry out probe plans, until SIGTERM.

    SIGHUP reads limits and the level of the log again; a file that can't be used changes nothing.
    """
    import os
    import sys

    from collectors import rereading
    from collectors.running import replace_process
    from skeletonhunter.cli import InputError
    from skeletonhunter.collecting import load_agent_settings
    from skeletonhunter.settings_sources import SettingsError

    try:
        settings = load_agent_settings(config, os.environ, {"kafka.url": kafka})
    except SettingsError as error:
        raise InputError(str(error)) from error
    if hand_over is not None:
        rereading.hand_over(settings, hand_over)
    elif check:
        typer.echo(f"an agent of fabric {settings.agent.fabric} with {', '.join(settings.agent.parts)}")
    else:
        flags = ("--kafka", kafka) if kafka else ()
        replace_process(settings, [sys.executable, "-m", "skeletonhunter", "collect", "--config", str(config), *flags])
