"""``skeletonhunter demo``: the production incident of the paper through the whole pipeline, on embedded services."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from skeletonhunter.replaying.listener import AlertListener
    from skeletonhunter.replaying.outcome import ReplayOutcome

INCIDENT, HEALTHY = "stale-flow-offload", "healthy-job"
DATABASES = ("clickhouse", "clickhouse-healthy")
QUERY = """SELECT incident, state, kind, issue, component, round(confidence, 2) AS confidence,
       action_kind, action_target
FROM incidents_current"""


def demo(
    incidents: Annotated[
        Path, typer.Option(help="Folder of the bundled incidents.", exists=True, file_okay=False)
    ] = Path("examples/incidents"),
    data: Annotated[Path, typer.Option(help="Folder for the demo's ClickHouse database, made anew.")] = Path(".demo"),
) -> None:
    """Replay the bundled incident over Kafka, ClickHouse and a webhook, then a healthy job, and show what came out."""
    import shutil

    from rich.console import Console

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.printing import need_folder
    from skeletonhunter.replaying.listener import AlertListener

    console = Console()
    need_folder(data)
    _refuse_others(data)
    database = data / DATABASES[0]
    shutil.rmtree(database, ignore_errors=True)
    with AlertListener().listening() as listener, _faults():
        outcome = _replay(console, incidents / INCIDENT, database, listener.url)
        _show_rows(console, database)
        _show_alert(console, listener)
        healthy = _replay(console, incidents / HEALTHY, data / DATABASES[1], listener.url)
    if not outcome.updates or healthy.updates:
        raise InputError("the demo went wrong: expected an incident in the first recording and none in the second")


def _refuse_others(data: Path) -> None:
    """What a demo did not make it does not take away: a server's data are often in a folder of the same name.

    Raises:
        InputError: something else is in the folder.
    """
    from skeletonhunter.cli import InputError

    others = sorted({each.name for each in data.iterdir()} - set(DATABASES)) if data.exists() else []
    if others:
        raise InputError(f"{data}: holds {others[0]!r}, which no demo made, expected a folder for the demo alone")


@contextmanager
def _faults() -> Iterator[None]:
    """Turns what can be wrong with recordings, settings and services into one sentence."""
    from skeletonhunter.cli import InputError
    from skeletonhunter.recordings.manifest import RecordingError
    from skeletonhunter.replaying.request import ReplayError
    from skeletonhunter.settings import SettingsError

    try:
        yield
    except (RecordingError, ReplayError, SettingsError) as error:
        raise InputError(str(error)) from error


def _replay(console: Console, path: Path, database: Path, webhook: str) -> ReplayOutcome:
    import os
    import time

    from skeletonhunter.cli.printing import progress_bar
    from skeletonhunter.recordings.reader import Recording
    from skeletonhunter.replaying.kafka import replay_over_kafka
    from skeletonhunter.replaying.request import ReplayRequest
    from skeletonhunter.replaying.summary import render_outcome
    from skeletonhunter.settings import load_settings

    dsn = f"chdb://{database}"
    alerts = {"alerts.webhooks": [webhook], "alerts.allow_networks": ["127.0.0.0/8"]}
    settings = load_settings(None, os.environ, {"clickhouse.dsn": dsn, **alerts})
    began_s = time.monotonic()
    with Recording(path) as recording:
        console.rule(f"[bold]{recording.manifest.name}[/]: Kafka → Faust → Kafka → ClickHouse and webhook")
        with progress_bar(f"replaying {recording.manifest.name}", recording.count) as progress:
            outcome = replay_over_kafka(ReplayRequest(recording, settings, None, None, dsn, progress))
        console.print(render_outcome(recording.manifest.name, outcome, time.monotonic() - began_s))
    return outcome


def _show_rows(console: Console, database: Path) -> None:
    from rich.syntax import Syntax
    from rich.table import Table
    from rich.text import Text

    from skeletonhunter.settings import ClickHouseSettings
    from skeletonhunter.sinks.connection import connect

    console.rule("[bold]The same in SQL")
    console.print(Syntax(QUERY, "sql", background_color="default"))
    settings = ClickHouseSettings(dsn=f"chdb://{database}")
    client = connect(settings)
    try:
        client.command(f"USE {settings.database}")
        result = client.query(QUERY)
    finally:
        client.close()
    for row in result.result_rows:
        table = Table.grid(padding=(0, 2))
        for name, cell in zip(result.column_names, row, strict=True):
            table.add_row(f"[dim]{name}[/]", Text(str(cell)))
        console.print(table)


def _show_alert(console: Console, listener: AlertListener) -> None:
    from rich.json import JSON

    console.rule(f"[bold]The last of {len(listener.bodies)} alerts that the webhook received")
    if listener.bodies:
        console.print(JSON.from_data(listener.bodies[-1]))
