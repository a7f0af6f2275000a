"""Which programs take part in a replay over Kafka? Worker, sink and alert sender, as processes, with one settings file.

Each runs the command that an operator would run. A program that ends before it is told to fails the replay, with the
last lines that it said.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import SIGTERM
from tempfile import TemporaryDirectory
from typing import TypeVar

import msgspec
import tomli_w

from skeletonhunter.embedded.processes import Child
from skeletonhunter.replaying.request import ReplayError
from skeletonhunter.settings import Settings

TAIL_LINES = 15


@dataclass(frozen=True, slots=True)
class Program:
    """A program that takes part: how it is called and started; ``{settings}`` stands for the settings file."""

    name: str
    command: tuple[str, ...]


def skeletonhunter(name: str, *options: str) -> Program:
    """One of our own commands, run by the Python that runs this."""
    return Program(name, (sys.executable, "-m", "skeletonhunter", name, "--config", "{settings}", *options))


class Services:
    """The programs of one replay, while they run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.children: dict[str, Child] = {}

    def start(self, program: Program) -> Child:
        """Starts a program, or starts it again."""
        command = [part.replace("{settings}", str(self.folder / "settings.toml")) for part in program.command]
        with (self.folder / f"{program.name}.log").open("ab") as output:
            child = self.children[program.name] = Child(command, output)
        return child

    def check(self) -> None:
        """All are running.

        Raises:
            ReplayError: one has ended.
        """
        for name, child in self.children.items():
            code = child.ended()
            if code is not None:
                raise ReplayError(f"{name} ended with code {code} before the replay was over:\n{self.tail(name)}")

    def stop(self, names: Sequence[str] = ()) -> None:
        """Stops programs (all, if none is named), all at once.

        Raises:
            ReplayError: one did not end well.
        """
        doomed = {name: self.children.pop(name) for name in list(self.children) if not names or name in names}
        for child in doomed.values():
            child.ask()
        for name, child in doomed.items():
            code = child.wait()
            if code not in (0, -SIGTERM):  # the latter if it had just begun to start
                raise ReplayError(f"{name} ended with code {code}:\n{self.tail(name)}")

    def tail(self, name: str) -> str:
        """The last lines that a program said."""
        lines = (self.folder / f"{name}.log").read_text(errors="replace").splitlines()
        return "\n".join(lines[-TAIL_LINES:])

    def kill(self) -> None:
        """Ends all at once."""
        for child in self.children.values():
            child.kill()
        self.children.clear()


Kept = TypeVar("Kept", bound=Services)


@contextmanager
def services(settings: Settings, programs: Sequence[Program]) -> Iterator[Services]:
    """Starts programs with these settings; whatever still runs at the end is killed."""
    with kept_by(Services, settings, programs) as running:
        yield running


@contextmanager
def kept_by(keeper: Callable[[Path], Kept], settings: Settings, programs: Sequence[Program]) -> Iterator[Kept]:
    """The same, with a keeper of programs that may do more about them."""
    with TemporaryDirectory(prefix="skeletonhunter-replay-") as name, ExitStack() as stack:
        folder = Path(name)
        (folder / "settings.toml").write_text(as_toml(settings))
        running = keeper(folder)
        stack.callback(running.kill)
        for program in programs:
            running.start(program)
        yield running


def as_toml(settings: Settings) -> str:
    """Settings as a file that says the same."""
    return tomli_w.dumps(_without_nulls(msgspec.to_builtins(settings)))


def _without_nulls(tree: dict[str, object]) -> dict[str, object]:
    return {name: _pruned(value) for name, value in tree.items() if value is not None}


def _pruned(value: object) -> object:
    if isinstance(value, dict):
        return _without_nulls(value)
    return [_pruned(item) for item in value] if isinstance(value, list | tuple) else value
