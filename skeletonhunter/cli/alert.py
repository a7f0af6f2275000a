"""``skeletonhunter alert``: tells webhooks of incidents until it is told to stop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from skeletonhunter.settings import Settings
    from skeletonhunter.sinks.alerts import AlertCounts


def alert(
    kafka: Annotated[str | None, typer.Option(help="Broker address.")] = None,
    webhook: Annotated[list[str] | None, typer.Option(help="URL to POST alerts to; may be repeated.")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="At the end print what was done as JSON.")] = False,
) -> None:
    """Send every state of every incident to the webhooks, until SIGTERM."""
    import os
    from dataclasses import asdict

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.printing import print_json
    from skeletonhunter.settings import SettingsError, load_settings
    from skeletonhunter.sinks.running import log_to_stderr
    from skeletonhunter.sinks.webhook import place_of
    from streams.dead_letters import TooManyDeadLettersError

    log_to_stderr()
    try:
        settings = load_settings(config, os.environ, {"kafka.url": kafka, "alerts.webhooks": webhook or None})
        if not settings.alerts.webhooks:
            raise InputError("nobody to tell, expected --webhook URL or a list alerts.webhooks in the settings")
        counts = _run(settings)
    except (SettingsError, TooManyDeadLettersError) as error:
        raise InputError(str(error)) from error
    if as_json:
        print_json([{"webhook": place_of(webhook), **asdict(each)} for webhook, each in counts.items()])


def _run(settings: Settings) -> dict[str, AlertCounts]:
    """One loop per webhook; when one ends by an error, so do the others."""
    import threading
    from concurrent.futures import ThreadPoolExecutor

    from skeletonhunter.sinks.alerts import AlertLoop
    from skeletonhunter.sinks.running import stopped_by_signals

    stop = threading.Event()
    loops = {webhook: AlertLoop(webhook, settings, stop) for webhook in settings.alerts.webhooks}
    with stopped_by_signals(stop), ThreadPoolExecutor(len(loops)) as threads:
        running = {webhook: threads.submit(loop.run) for webhook, loop in loops.items()}
        for future in running.values():
            future.add_done_callback(lambda done: stop.set() if done.exception() else None)
        return {webhook: future.result() for webhook, future in running.items()}
