"""Which incidents are to be compared? Those of a file as ``replay -o`` writes it, or of a recording, replayed here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schemas.diagnosis import Incident
    from skeletonhunter.settings import Settings


def incidents_of(place: Path, settings: Settings) -> list[Incident]:
    """The last state of each incident, in order of onset.

    Raises:
        InputError: there is no such place, or it can't be read.
    """
    from skeletonhunter.recordings.archive import is_archive

    if place.is_dir() or is_archive(place):
        return _replayed(place, settings)
    from skeletonhunter.cli.incident_choice import from_file

    return [messages[-1] for messages in from_file(str(place)).values()]


def tell_difference(before: list[Incident], after: list[Incident], printing_json: bool) -> bool:
    """Prints what differs, and says whether anything does."""
    import typer

    from skeletonhunter.cli.printing import print_json
    from skeletonhunter.replaying.difference import as_json, as_lines, difference

    found = difference(before, after)
    if printing_json:
        print_json(as_json(found))
    else:
        typer.echo("\n".join(as_lines(found)))
    return bool(found)


def _replayed(place: Path, settings: Settings) -> list[Incident]:
    import msgspec

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.printing import progress_bar
    from skeletonhunter.recordings.manifest import RecordingError
    from skeletonhunter.recordings.reader import Recording
    from skeletonhunter.replaying.local import replay_in_process
    from skeletonhunter.replaying.request import ReplayRequest

    alerts = msgspec.structs.replace(settings.alerts, webhooks=())  # nobody is told of what is only tried
    settings = msgspec.structs.replace(settings, alerts=alerts)
    try:
        with (
            Recording(place, settings.recordings) as opened,
            progress_bar(f"replaying {opened.manifest.name}", opened.count) as progress,
        ):
            return replay_in_process(ReplayRequest(opened, settings, progress=progress)).incidents()
    except RecordingError as error:
        raise InputError(str(error)) from error
