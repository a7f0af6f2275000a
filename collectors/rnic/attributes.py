"""How is a small file of the kernel read again and again at little cost? Kept open, and read from its start.

A sysfs attribute is made anew at each ``pread`` at offset 0. Opening it costs five times as much as reading it, so what
is read every second or faster stays open. Files of a device that went away give ENODEV, also once it is back: whoever
holds them opens them again (``devices`` notices). Cost: 1.5 us per reading beside what the driver does for it.
"""

from __future__ import annotations

import os
from pathlib import Path

from collectors.rnic.counter_text import Unread, parse_counter, reason_of

LENGTH, COUNTER_LENGTH = 4096, 128
KEPT_OPEN = 600
"""Most file descriptors that attributes hold together (but urgent ones): the usual limit of a process is 1,024."""


class Attribute:
    """One file, opened at the first reading. ``urgent``: stays open however many others are."""

    __slots__ = ("_fd", "_urgent", "path")

    held = 0

    def __init__(self, path: str, urgent: bool = False) -> None:
        self.path = path
        self._urgent = urgent
        self._fd = -1

    def read(self) -> bytes:
        """The content.

        Raises:
            OSError: it can't be opened or read.
        """
        if self._fd >= 0:
            return os.pread(self._fd, LENGTH, 0)
        fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            content = os.pread(fd, LENGTH, 0)
        except OSError:
            os.close(fd)
            raise
        if self._urgent or Attribute.held < KEPT_OPEN:
            Attribute.held += 1
            self._fd = fd
        else:
            os.close(fd)
        return content

    def counter(self) -> int | Unread:
        """The content as a counter, or why there is none."""
        try:
            if self._fd >= 0:
                return parse_counter(os.pread(self._fd, COUNTER_LENGTH, 0))
            return parse_counter(self.read())
        except OSError as error:
            return reason_of(error)

    def close(self) -> None:
        """Lets go of the file; the next reading opens it again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            Attribute.held -= 1

    def __del__(self) -> None:
        self.close()


def read_text(path: Path | str) -> str | None:
    """A small file once; None when it is not there or can't be read."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return os.pread(fd, 65536, 0).decode("utf-8", "replace")
    except OSError:
        return None
    finally:
        os.close(fd)


def names_in(folder: Path | str) -> list[str]:
    """Entries of a folder in order; none when it is not there."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names are wanted, and many folders are listed
    except OSError:
        return []
