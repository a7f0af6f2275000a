"""How do commands print? JSON to stdout, progress to stderr (and only where a person looks), pages to files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def print_json(value: object) -> None:
    """Indented JSON on stdout."""
    import orjson

    sys.stdout.buffer.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()


@contextmanager
def progress_bar(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on stderr (``total`` None: unknown), told how much is done; silent where stderr is no terminal."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(escape(label), total=total)
        yield lambda done: progress.update(task, completed=done)


def need_matplotlib() -> None:
    """Refuses ``--plots`` where nothing could be drawn.

    Raises:
        InputError: matplotlib is missing.
    """
    need_plots("--plots")


def need_plots(what: str) -> None:
    """Refuses what draws where nothing could be drawn.

    Raises:
        InputError: a package of the extra is missing.
    """
    from importlib.util import find_spec

    from skeletonhunter.cli import InputError

    missing = [name for name in ("matplotlib", "jinja2") if find_spec(name) is None]
    if missing:
        raise InputError(f"{what} needs {missing[0]}, which is in an extra: pip install 'skeletonhunter[plots]'")


def need_folder(path: Path) -> None:
    """Refuses a folder that can't be made or written to, before the work whose results it is to hold.

    Raises:
        InputError: something that is no folder stands there or above it, or it may not be written.
    """
    from skeletonhunter.cli import InputError

    there = next(place for place in (path.absolute(), *path.absolute().parents) if os.path.lexists(place))
    if not there.is_dir():
        raise InputError(f"{path}: expected a folder, but {there} is none")
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(f"{path}: can't be written, expected leave to write in {there}")


def need_file(path: Path) -> None:
    """Refuses a file that can't be written, before the work whose results it is to hold.

    Raises:
        InputError: it is a folder, or there is none that it could be written into.
    """
    from skeletonhunter.cli import InputError

    if path.is_dir():
        raise InputError(f"{path}: can't be written: it is a folder, expected the name of a file")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path}: can't be written: there is no folder {path.parent}")
    need_folder(path.parent)


def write_page(path: Path, text: str) -> None:
    """Writes a text that was asked for.

    Raises:
        InputError: it can't be written.
    """
    from skeletonhunter.cli import InputError

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: can't be written: {error.strerror}") from error
