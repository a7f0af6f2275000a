"""Shared by ``infer`` and ``plan``: runs single stages over a recording and reports wrong input as the CLI does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from schemas.envelope import Value
    from skeletonhunter.inspecting import Conclusions
    from skeletonhunter.replaying.local import Observer

Update = TypeVar("Update")


def look_at(
    path: Path,
    stages: tuple[str, ...],
    config: Path | None,
    flags: Mapping[str, object] | None = None,
    observers: tuple[Observer, ...] = (),
) -> Conclusions:
    """What ``stages`` conclude from the recording at ``path``, with a progress bar; ``observers`` see every message.

    Raises:
        InputError: the recording or the settings are wrong, or there is no job.
    """
    import os

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.printing import progress_bar
    from skeletonhunter.inspecting import NothingToInspectError, inspect
    from skeletonhunter.recordings.manifest import RecordingError
    from skeletonhunter.recordings.reader import Recording
    from skeletonhunter.settings import SettingsError, load_settings

    try:
        settings = load_settings(config, os.environ, flags)
        with (
            Recording(path, settings.recordings) as opened,
            progress_bar(f"looking at {opened.manifest.name}", opened.count) as progress,
        ):
            return inspect(opened, settings.parameters, stages, progress, observers)
    except (RecordingError, SettingsError, NothingToInspectError) as error:
        raise InputError(str(error)) from error


def chosen(versions: Mapping[str, Sequence[Update]], job: str | None, history: bool, path: Path) -> list[Update]:
    """The last version of each job, or all; of one job, or all.

    Raises:
        InputError: there is no such job.
    """
    from skeletonhunter.cli import InputError

    if job is not None and job not in versions:
        known = ", ".join(sorted(versions)) or "none"
        raise InputError(f"{path}: there is no job {job!r}, expected one of {known}")
    names = sorted(versions) if job is None else [job]
    return [version for name in names for version in (versions[name] if history else versions[name][-1:])]


def print_values(values: Sequence[Value]) -> None:
    """As JSON: an object if there is one, else a list."""
    import msgspec

    from skeletonhunter.cli.printing import print_json

    wire = [msgspec.to_builtins(value) for value in values]
    print_json(wire[0] if len(wire) == 1 else wire)
