"""``skeletonhunter anonymise REC -o OUT``: a recording with other names, to share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def anonymise(
    recording: Annotated[Path, typer.Argument(help="A recording: a directory or a .tar.zst file.")],
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="The new one: a directory or a .tar.zst file.")],
    key_file: Annotated[
        Path | None,
        typer.Option(help="A secret of 16 bytes or more: with the same one a name is known again (default: random)."),
    ] = None,
    shift_times: Annotated[bool, typer.Option(help="Move all instants into the past by the same whole days.")] = False,
    keep_addresses: Annotated[bool, typer.Option(help="Leave IP and MAC addresses as they are.")] = False,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the manifest as JSON.")] = False,
) -> None:
    """Replace the names of tenants, jobs, hosts, containers, switches, links and agents, and addresses."""
    import os

    import msgspec

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.printing import print_json, progress_bar
    from skeletonhunter.recordings.anonymising import Anonymity, key_of
    from skeletonhunter.recordings.anonymising import anonymise as rewrite
    from skeletonhunter.recordings.manifest import RecordingError
    from skeletonhunter.recordings.reader import Recording
    from skeletonhunter.settings import SettingsError, load_settings

    try:
        settings = load_settings(config, os.environ)
        how = Anonymity(key_of(key_file), shift_times, keep_addresses)
        with (
            Recording(recording, settings.recordings) as opened,
            progress_bar(f"anonymising {opened.manifest.name}", 2 * opened.count) as progress,
        ):
            manifest = rewrite(opened, output, how, progress)
    except (RecordingError, SettingsError) as error:
        raise InputError(str(error)) from error
    if as_json:
        print_json(msgspec.to_builtins(manifest))
    else:
        typer.echo(f"{output}: {sum(manifest.topics.values()):,} messages with other names")
