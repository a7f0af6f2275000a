"""``skeletonhunter report``: an incident, or all of a recording, as one self-contained HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from schemas.diagnosis import Incident
    from skeletonhunter.reporting.backdrop import Backdrop

    Replayed = tuple[dict[str, list[Incident]], Backdrop, str, str]


def report(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="[RECORDING | FILE] [INCIDENT]",
            help="A recording (all its incidents, or the one named after it), or incidents as replay -o writes them "
            "and which one, or only the id of an incident that is in ClickHouse.",
        ),
    ],
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page to write.")],
    recording: Annotated[
        Path | None, typer.Option(help="With a file of incidents: the recording to draw the pictures from.")
    ] = None,
    clickhouse: Annotated[str | None, typer.Option(help="ClickHouse DSN (default: as configured).")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
) -> None:
    """Write what broke, how sure, since when, why and what to do, with pictures, as one HTML page."""
    import os

    from skeletonhunter.cli.printing import need_file, need_plots, write_page

    need_plots("report")
    places = [word for word in what if word == "-" or os.path.lexists(word)]
    names = [word for word in what if word not in places]
    if len(places) > 1 or len(names) > 1:
        raise typer.BadParameter("expected at most one recording or file and one incident id")
    need_file(output)
    name = names[0] if names else None
    if places and _is_recording(places[0]):
        page = _of_recording(Path(places[0]), name, config)
    elif places:
        page = _of_file(places[0], name, recording, config)
    else:
        page = _of_clickhouse(names[0], clickhouse, config)
    write_page(output, page)
    typer.echo(f"{output}: written, {len(page.encode()) / 1000:.0f} kB")


def _is_recording(place: str) -> bool:
    return place != "-" and (Path(place).is_dir() or place.endswith(".tar.zst"))


def _of_recording(path: Path, name: str | None, config: Path | None) -> str:
    from skeletonhunter.cli.incident_choice import choose
    from skeletonhunter.reporting.page import render_incident, render_recording

    histories, backdrop, title, lead = _replay(path, config)
    if name is not None:
        return render_incident(choose(histories, name, str(path)), backdrop)
    return render_recording(title, lead, list(histories.values()), backdrop)


def _of_file(place: str, name: str | None, recording: Path | None, config: Path | None) -> str:
    from skeletonhunter.cli.incident_choice import choose, from_file
    from skeletonhunter.reporting.page import render_incident

    history = choose(from_file(place), name, place)
    return render_incident(history, _replay(recording, config)[1] if recording else None)


def _of_clickhouse(name: str, clickhouse: str | None, config: Path | None) -> str:
    from skeletonhunter.cli.incident_choice import from_clickhouse, opened_clickhouse
    from skeletonhunter.reporting.page import render_incident
    from skeletonhunter.reporting.stored import history_of, stored_backdrop

    with opened_clickhouse(clickhouse, config, name) as (client, database, shown):
        incident = from_clickhouse(client, database, name, shown)
        return render_incident(history_of(client, database, incident), stored_backdrop(client, database, incident))


def _replay(path: Path, config: Path | None) -> Replayed:
    """Incidents by id, what surrounds them, the recording's name and a sentence about it."""
    import os

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.printing import progress_bar
    from skeletonhunter.recordings.manifest import RecordingError
    from skeletonhunter.recordings.reader import Recording
    from skeletonhunter.replaying.local import LocalReplay
    from skeletonhunter.reporting.backdrop import backdrop_from
    from skeletonhunter.settings import SettingsError, load_settings

    try:
        settings = load_settings(config, os.environ)
        with (
            Recording(path, settings.recordings) as opened,
            progress_bar(f"replaying {opened.manifest.name}", opened.count) as progress,
        ):
            backdrop = backdrop_from(opened.manifest.start_us)
            outcome = LocalReplay(settings.parameters, observers=(backdrop.observe,)).run(opened, progress)
            manifest = opened.manifest
    except (RecordingError, SettingsError) as error:
        raise InputError(str(error)) from error
    histories: dict[str, list[Incident]] = {}
    for update in outcome.updates:
        histories.setdefault(update.incident, []).append(update)
    return histories, backdrop, manifest.name, _lead(manifest.description, list(histories.values()))


def _lead(description: str, histories: Sequence[Sequence[Incident]]) -> str:
    count = f"{len(histories)} incident{'' if len(histories) == 1 else 's'}" if histories else "No incident"
    return f"{description.rstrip('.')}. {count}." if description else f"{count}."
