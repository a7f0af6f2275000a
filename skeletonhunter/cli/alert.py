"""``skeletonhunter alert``: tells webhooks of incidents until it is told to stop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from skeletonhunter.alerting.rounds import Told, Wanted
    from skeletonhunter.alerting.targets import Target
    from skeletonhunter.settings import Settings


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
    """Tell webhooks, Alertmanager, PagerDuty and Slack of incidents, as the settings say, until SIGTERM.

    SIGHUP reads targets, silences and the level of the log again; a file that can't be used changes nothing.
    """
    import os
    from dataclasses import asdict

    from confluent_kafka import KafkaException

    from collectors.exposing import AddressError
    from skeletonhunter.alerting.targets import TargetError
    from skeletonhunter.cli import InputError, kafka_refusal
    from skeletonhunter.cli.printing import print_json
    from skeletonhunter.settings import SettingsError, load_settings
    from skeletonhunter.sinks.alert_memory import MissingTopicError
    from skeletonhunter.sinks.running import listen_to, log_to_stderr
    from streams.dead_letters import TooManyDeadLettersError

    log_to_stderr()
    flags = {"kafka.url": kafka, "alerts.webhooks": webhook or None, "alerts.allow_networks": allow_network or None}

    def read() -> Wanted:
        settings = load_settings(config, os.environ, flags)
        return settings, _targets(settings)

    try:
        settings, targets = read()
        listen_to(settings)
        if test:
            _rehearse(targets, settings)
            return
        told = _run(read, (settings, targets))
    except (SettingsError, AddressError, TargetError, MissingTopicError, TooManyDeadLettersError) as error:
        raise InputError(str(error)) from error
    except KafkaException as error:
        raise kafka_refusal(settings.kafka.url, error) from error
    if as_json:
        print_json([{"target": each.name, "webhook": each.place, **asdict(counts)} for each, counts in told])


def _targets(settings: Settings) -> list[Target]:
    """Whom to tell, with addresses that may be reached."""
    import os

    from skeletonhunter.alerting.rounds import NobodyError
    from skeletonhunter.alerting.targets import targets_of
    from skeletonhunter.sinks.webhook import check_target

    targets = targets_of(settings.alerts, os.environ)
    if not targets:
        raise NobodyError(
            "nobody to tell, expected --webhook URL, or alerts.webhooks or alerts.targets in the settings"
        )
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


def _run(read: Callable[[], Wanted], first: Wanted) -> Told:
    """Tells them until SIGTERM."""
    import signal
    import threading

    from collectors.exposing import exposed
    from skeletonhunter.alerting.rounds import AlertRounds
    from skeletonhunter.metrics.alerting import alert_readings
    from skeletonhunter.metrics.readings import Start
    from skeletonhunter.sinks.running import stopped_by_signals

    stop = threading.Event()
    rounds, start = AlertRounds(read, stop), Start("alert")
    with stopped_by_signals(stop), exposed(first[0].metrics.address, lambda: alert_readings(start, rounds.loops)):
        before = signal.signal(signal.SIGHUP, rounds.ask)
        try:
            return rounds.run(first)
        finally:
            signal.signal(signal.SIGHUP, before)
