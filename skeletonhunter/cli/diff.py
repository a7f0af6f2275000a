"""``skeletonhunter diff``: what differs between two runs, as incidents that are gone, new or changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def diff(
    before: Annotated[Path, typer.Argument(help="Incidents as replay -o writes them, or a recording to replay.")],
    after: Annotated[Path, typer.Argument(help="The same, to compare with it.")],
    *,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML), for replays.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the differences as JSON.")] = False,
) -> None:
    """Compare two lists of incidents: gone, new, and changed with the fields that differ. Exits 1 when they differ."""
    import os

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.incident_lists import incidents_of, tell_difference
    from skeletonhunter.settings import SettingsError, load_settings

    try:
        settings = load_settings(config, os.environ)
    except SettingsError as error:
        raise InputError(str(error)) from error
    if tell_difference(incidents_of(before, settings), incidents_of(after, settings), as_json):
        raise typer.Exit(1)
