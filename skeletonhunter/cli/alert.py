"""``skeletonhunter alert``: tells webhooks of incidents until it is told to stop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from skeletonhunter.alerting.targets import Target
    from skeletonhunter.settings import Settings
    from skeletonhunter.sinks.alerts import AlertCounts


def alert(
    kafka: Annotated[str | None, typer.Option(help="Broker address.")] = None,
    webhook: Annotated[list[str] | None, typer.Option(help="URL to POST alerts to; may be repeated.")] = None,
    allow_network: Annotated[
        list[str] | None, typer.Option(help="Network (CIDR) that webhooks may be in although it is not public.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    test: Annotated[
        bool, typer.Option("--test", help="Send a made-up incident and its end to every target, and end.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="At the end print what was done as JSON.")] = False,
) -> None:
    """Tell webhooks, Alertmanager, PagerDuty and Slack of incidents, as the settings say, until SIGTERM."""
    import os
    from dataclasses import asdict

    from collectors.exposing import AddressError
    from skeletonhunter.alerting.targets import TargetError
    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.printing import print_json
    from skeletonhunter.settings import SettingsError, load_settings
    from skeletonhunter.sinks.alert_memory import MissingTopicError
    from skeletonhunter.sinks.running import log_to_stderr
    from streams.dead_letters import TooManyDeadLettersError

    log_to_stderr()
    flags = {"kafka.url": kafka, "alerts.webhooks": webhook or None, "alerts.allow_networks": allow_network or None}
    try:
        settings = load_settings(config, os.environ, flags)
        targets = _targets(settings)
        if test:
            _rehearse(targets, settings)
            return
        told = _run(targets, settings)
    except (SettingsError, AddressError, TargetError, MissingTopicError, TooManyDeadLettersError) as error:
        raise InputError(str(error)) from error
    if as_json:
        print_json([{"target": each.name, "webhook": each.place, **asdict(counts)} for each, counts in told])


def _targets(settings: Settings) -> list[Target]:
    """Whom to tell, with addresses that may be reached."""
    import os

    from skeletonhunter.alerting.targets import targets_of
    from skeletonhunter.cli import InputError
    from skeletonhunter.sinks.webhook import check_target

    targets = targets_of(settings.alerts, os.environ)
    if not targets:
        raise InputError("nobody to tell, expected --webhook URL, or alerts.webhooks or alerts.targets in the settings")
    for target in targets:
        check_target(target, settings.alerts)
    return targets


def _rehearse(targets: list[Target], settings: Settings) -> None:
    """Tells of a test, and who took it."""
    import time

    from skeletonhunter.alerting.rehearsal import rehearse
    from skeletonhunter.cli import InputError

    failures = []
    for target in targets:
        failure = rehearse(target, settings.alerts, time.time_ns() // 1000)
        failures += [f"target {target.name!r}: {failure}"] if failure else []
        typer.echo(f"{target.name}  {target.place}  {'failed' if failure else 'took a test incident and its end'}")
    if failures:
        raise InputError("; ".join(failures))


def _run(targets: list[Target], settings: Settings) -> list[tuple[Target, AlertCounts]]:
    """One loop per target; when one ends by an error, so do the others."""
    import threading
    from concurrent.futures import ThreadPoolExecutor

    from collectors.exposing import exposed
    from skeletonhunter.metrics.alerting import alert_readings
    from skeletonhunter.metrics.readings import Start
    from skeletonhunter.sinks.alerts import AlertLoop
    from skeletonhunter.sinks.running import stopped_by_signals

    stop = threading.Event()
    loops = [AlertLoop(target, settings, stop) for target in targets]
    start = Start("alert")
    with (
        stopped_by_signals(stop),
        exposed(settings.metrics.address, lambda: alert_readings(start, loops)),
        ThreadPoolExecutor(len(loops)) as threads,
    ):
        running = [(loop.target, threads.submit(loop.run)) for loop in loops]
        for _, future in running:
            future.add_done_callback(lambda done: stop.set() if done.exception() else None)
        return [(target, future.result()) for target, future in running]
