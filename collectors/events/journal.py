"""A part of the agent: listens to systemd's journal, where a host has no text files of its log.

``journalctl`` prints what is new. Lines of the kernel are left out, as ``kernel_log`` reads them first hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from collectors.events.command_lines import CommandLines
from collectors.events.devices import Devices
from collectors.events.framing import parse_line
from collectors.events.log_files import notices_of
from collectors.events.telling import Teller
from collectors.observing import Now, Observed

COMMAND = ("journalctl", "--follow", "--lines=0", "--output=short-iso", "--no-pager", "--quiet")


class Journal:
    """Listens to the journal; ``links``: see ``Teller``."""

    name = "journal"

    def __init__(self, devices: Callable[[], Devices], command: Sequence[str] = COMMAND, links: bool = True) -> None:
        self._lines = CommandLines(command)
        self._teller = Teller("journal", devices, links)

    def fileno(self) -> int:
        """What to wait for.

        Raises:
            OSError: there is no journal here.
        """
        return self._lines.fileno()

    def receive(self, now: Now) -> Iterator[Observed]:
        """Takes what is new.

        Raises:
            OSError: the command has ended.
        """
        lines, why = self._lines.take()
        others = [line for line in lines if parse_line(line, now.t_us).program != "kernel"]
        yield from self._teller.tell(notices_of(others, now, "host", 0), now)
        if why:
            raise OSError(why)

    def close(self, now: Now) -> tuple[Observed, ...]:  # noqa: ARG002 - as the agent calls it
        """Ends the command."""
        self._lines.stop()
        return ()
