"""When was a line written that only says how long after the one before? ``dmesg -H`` and ``dmesg -e``.

They print ``[Dec 1 11:55]`` where a minute begins that has a line, and ``[  +0.032073]`` else. So an instant is that of
the last line with a time of its own, and all that was added since; the seconds within the minute are not known: it may
be up to a minute later. Before the first minute nothing is known. Logs of several hosts in one file are told apart.
"""

from __future__ import annotations

from msgspec.structs import replace

from collectors.events.notices import Line

MOST_HOSTS = 1_000


class RelativeTimes:
    """Follows one log. Memory: an instant for each host in it, ``MOST_HOSTS`` at most."""

    def __init__(self) -> None:
        self._last_us: dict[str | None, int] = {}

    def step(self, line: Line) -> Line:
        """The line with its instant; lines have to come in order."""
        before_us = self._last_us.get(line.host)
        if line.after_us is not None and before_us is not None:
            line = replace(line, t_us=before_us + line.after_us)
        if line.t_us is not None and (before_us is not None or len(self._last_us) < MOST_HOSTS):
            self._last_us[line.host] = line.t_us
        return line
