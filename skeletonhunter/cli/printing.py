"""How do commands print? JSON to stdout, progress to stderr (and only where a person looks)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def print_json(value: object) -> None:
    """Indented JSON on stdout."""
    import orjson

    sys.stdout.buffer.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    sys.stdout.buffer.flush()


@contextmanager
def progress_bar(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on stderr (``total`` None: unknown), told how much is done; silent where stderr is no terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(label, total=total)
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
