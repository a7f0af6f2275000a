"""``skeletonhunter replay REC``: runs a recording through the whole pipeline and prints its incidents."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from schemas.diagnosis import Incident
    from skeletonhunter.recordings.reader import Recording
    from skeletonhunter.replaying.outcome import ReplayOutcome
    from skeletonhunter.settings import Settings


class ReplayEngine(StrEnum):
    """Where the pipeline runs."""

    local = "local"
    kafka = "kafka"


def speed_of(text: str) -> float | None:
    """``max`` (None) or how many times as fast as real time."""
    if text == "max":
        return None
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0.0 < speed < float("inf"):
        raise typer.BadParameter(f"{text!r} is no speed, expected max or a number above 0")
    return speed


def replay(
    recording: Annotated[Path, typer.Argument(help="A recording: a directory or a .tar.zst file.")],
    *,
    engine: Annotated[ReplayEngine, typer.Option(help="In this process, or over Kafka.")] = ReplayEngine.local,
    speed: Annotated[str, typer.Option(help="max, or how many times as fast as real time.")] = "max",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write the incidents, one JSON a line.")] = None,
    all_updates: Annotated[
        bool, typer.Option(help="With -o: every incident message in order, not the last ones.")
    ] = False,
    stages: Annotated[str | None, typer.Option(help="Stages to run, separated by commas (default: all).")] = None,
    kafka: Annotated[str | None, typer.Option(help="Broker address (default: the embedded broker).")] = None,
    clickhouse: Annotated[str | None, typer.Option(help="Also write rows to this ClickHouse DSN.")] = None,
    webhook: Annotated[list[str] | None, typer.Option(help="Also tell this URL of incidents; may be repeated.")] = None,
    allow_network: Annotated[
        list[str] | None, typer.Option(help="Network (CIDR) that webhooks may be in although it is not public.")
    ] = None,
    settings_tried: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PART.PARAMETER=VALUE", help="Try another value of a parameter; may be repeated."
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            help="Print only what differs from these incidents (a file of replay -o, or a recording, which is replayed "
            "without --set), and exit 1 when anything does."
        ),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Run a recording through the whole pipeline and print what broke, how sure it is, why, and what to do."""
    import time

    from rich.console import Console

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.incident_lists import incidents_of, tell_difference
    from skeletonhunter.cli.printing import print_json
    from skeletonhunter.recordings.manifest import RecordingError
    from skeletonhunter.recordings.reader import Recording
    from skeletonhunter.replaying.parameter_changes import ParameterError, changes
    from skeletonhunter.replaying.request import ReplayError
    from skeletonhunter.replaying.summary import outcome_as_json, render_outcome
    from skeletonhunter.settings import SettingsError

    _check(engine, kafka, all_updates, output)
    flags = {
        "kafka.url": kafka,
        "clickhouse.dsn": clickhouse,
        "alerts.webhooks": webhook or None,
        "alerts.allow_networks": allow_network or None,
        "worker.stages": stages.split(",") if stages else None,
    }
    try:
        settings = _settings(config, flags | changes(settings_tried or ()))
        before = incidents_of(against, _settings(config, flags)) if against else None  # -o may write over it
        with Recording(recording, settings.recordings) as opened:
            began_s = time.monotonic()
            outcome = _run(engine, opened, settings, speed_of(speed), (kafka, clickhouse))
            name = opened.manifest.name
    except (ParameterError, RecordingError, ReplayError, SettingsError) as error:
        raise InputError(str(error)) from error
    _write(output, outcome.updates if all_updates else outcome.incidents())
    if before is not None:
        if tell_difference(before, outcome.incidents(), as_json):
            raise typer.Exit(1)
    elif as_json:
        print_json(outcome_as_json(name, outcome))
    else:
        Console().print(render_outcome(name, outcome, time.monotonic() - began_s))


def _check(engine: ReplayEngine, kafka: str | None, all_updates: bool, output: Path | None) -> None:
    """Refuses what would do nothing, or could not be written after a replay of hours."""
    from skeletonhunter.cli.printing import need_file

    if kafka is not None and engine is ReplayEngine.local:
        raise typer.BadParameter("--kafka needs --engine kafka")
    if all_updates and output is None:
        raise typer.BadParameter("--all-updates needs -o")
    if output:
        need_file(output)


def _settings(config: Path | None, flags: dict[str, Any]) -> Settings:
    import os

    from skeletonhunter.settings import load_settings

    return load_settings(config, os.environ, flags)


def _run(
    engine: ReplayEngine, recording: Recording, settings: Settings, speed: float | None, asked: tuple[str | None, ...]
) -> ReplayOutcome:
    from skeletonhunter.cli.printing import progress_bar
    from skeletonhunter.replaying.coverage import out_of_coverage
    from skeletonhunter.replaying.request import ReplayRequest

    if engine is ReplayEngine.kafka:
        from skeletonhunter.replaying.kafka import replay_over_kafka as run
    else:
        from skeletonhunter.replaying.local import replay_in_process as run
    with progress_bar(f"replaying {recording.manifest.name}", recording.count) as progress:
        outcome = run(ReplayRequest(recording, settings, speed, asked[0], asked[1], progress))
    outcome.out_of_coverage = out_of_coverage(recording, outcome.incidents())
    return outcome


def _write(path: Path | None, incidents: list[Incident]) -> None:
    from skeletonhunter.cli import InputError
    from skeletonhunter.replaying.outcome import incident_lines

    if path is None:
        return
    try:
        path.write_bytes(incident_lines(incidents))
    except OSError as error:
        raise InputError(f"{path}: can't be written: {error.strerror}") from error
