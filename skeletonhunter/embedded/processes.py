"""How are processes started so that none is left over? Each dies with its parent, even when that is killed.

Linux only (``PR_SET_PDEATHSIG``); elsewhere a killed parent leaves its children running. Start children from a thread
that lives as long as they should: the kernel counts the starting thread as the parent.
"""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import IO

STOP_S = 10.0
PR_SET_PDEATHSIG = 1


class Child:
    """A running process; as a context manager it is stopped at the end."""

    def __init__(
        self, command: Sequence[str], output: IO[bytes] | int, environment: Mapping[str, str] | None = None
    ) -> None:
        self.command = tuple(command)
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=None if environment is None else dict(environment),
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509 - one system call
        )

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def ended(self) -> int | None:
        """The exit code, None = it is running."""
        return self.process.poll()

    def ask(self) -> None:
        """Asks it to end."""
        self.process.terminate()

    def wait(self, patience_s: float = STOP_S) -> int:
        """Waits until it has ended, and kills it if it does not; returns the exit code."""
        try:
            return self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            return self.kill()

    def stop(self) -> int:
        """Asks it to end and waits; returns the exit code."""
        self.ask()
        return self.wait()

    def kill(self) -> int:
        """Ends it at once."""
        self.process.kill()
        return self.process.wait()


_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _die_with_parent() -> None:
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
