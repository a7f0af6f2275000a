"""What does a command print that goes on printing? Its lines, without waiting, and whether it has ended.

The command is started when somebody waits for it, and again after it has ended; half a line waits for its end. A line
longer than ``LONGEST`` is dropped. Standard error is not read.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

CHUNK = 65_536
LONGEST = 1_000_000


class CommandLines:
    """One command."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""

    def fileno(self) -> int:
        """What to wait for; the command is started if it does not run.

        Raises:
            OSError: there is no such command.
        """
        if self._process is None:
            self._rest = b""
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            os.set_blocking(_out(self._process), False)
        return _out(self._process)

    def take(self) -> tuple[list[str], str]:
        """Lines that are there, and why no more will come (empty: some may)."""
        data, ended = self._read()
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest if len(self._rest) <= LONGEST else b""
        why = f"{self._command[0]} ended with status {self.stop()}" if ended else ""
        return [line.decode(errors="replace") for line in lines], why

    def stop(self) -> int | None:
        """Ends the command; its status, None: it did not run."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.kill()
        if process.stdout is not None:
            process.stdout.close()
        return process.wait()

    def _read(self) -> tuple[bytes, bool]:
        descriptor = self.fileno()
        found: list[bytes] = []
        while sum(map(len, found)) < LONGEST:
            try:
                data = os.read(descriptor, CHUNK)
            except BlockingIOError:
                return b"".join(found), False
            if not data:
                return b"".join(found), True
            found.append(data)
        return b"".join(found), False


def _out(process: subprocess.Popen[bytes]) -> int:
    assert process.stdout is not None
    return process.stdout.fileno()
