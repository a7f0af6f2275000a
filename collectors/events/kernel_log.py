"""A part of the agent: listens to the kernel log, ``/dev/kmsg``.

Each read gives one record; its stamp counts from boot on the clock that ``Now.mono_us`` is too (CLOCK_MONOTONIC), so
the instant is now less its age. Records that the kernel overwrote before they were read (EPIPE) are counted and told,
since silence would look like health. By default only what is written from now on is read: older lines say when a fault
began, but a restarted agent would tell them all again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from collectors.events.classifying import classify
from collectors.events.devices import Devices
from collectors.events.framing import LONGEST, parse_kmsg
from collectors.events.layers import Layers
from collectors.events.notices import Line, Notice, Subject
from collectors.events.telling import Teller
from collectors.observing import Now, Observed

MOST_RECORDS = 1_000
PATH = "/dev/kmsg"


class KernelLog:
    """Listens to a file of kmsg records. ``backlog``: what is there already counts as well; ``links``: see
    ``Teller``.
    """

    name = "kernel-log"

    def __init__(
        self, devices: Callable[[], Devices], path: str = PATH, backlog: bool = False, links: bool = True
    ) -> None:
        self._path, self._backlog = path, backlog
        self._descriptor: int | None = None
        self._teller, self._layers = Teller("kernel-log", devices, links), Layers()

    def fileno(self) -> int:
        """What to wait for; opened at the first call, and again after it was lost.

        Raises:
            OSError: there is no such log, or it may not be read.
        """
        if self._descriptor is None:
            self._descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            if not self._backlog:
                os.lseek(self._descriptor, 0, os.SEEK_END)
        return self._descriptor

    def receive(self, now: Now) -> Iterator[Observed]:
        """Takes up to ``MOST_RECORDS`` records.

        Raises:
            OSError: the log is gone.
        """
        yield from self._teller.tell(self._notices(now), now)

    def close(self, now: Now) -> tuple[Observed, ...]:  # noqa: ARG002 - as the agent calls it
        """Gives the descriptor back."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        return ()

    def _notices(self, now: Now) -> Iterator[tuple[Notice, int | None]]:
        descriptor = self.fileno()
        for _ in range(MOST_RECORDS):
            try:
                data = os.read(descriptor, LONGEST)
            except BlockingIOError:
                return
            except BrokenPipeError:
                text = "the kernel overwrote records of its log before they were read"
                yield Notice(code="unknown", severity="info", subject=Subject("host"), text=text), None
                continue
            if not data:
                return
            line = parse_kmsg(data.decode(errors="replace"))
            notice = classify(line) if line is not None else None
            if line is not None and notice is not None:
                t_us = instant(line, now)
                yield self._layers.step(notice, t_us), t_us


def instant(line: Line, now: Now) -> int:
    """When a line was written: as it says itself, else by its age since boot, never in the future; else now."""
    if line.t_us is not None:
        return line.t_us
    if line.since_boot_us is None:
        return now.t_us
    return max(0, now.t_us - max(0, now.mono_us - line.since_boot_us))
