"""Was a peer never reached, or lost? By how long a job had run when its library gave up (field case G04).

A job whose first exchange fails has a wrong rail, GID or route; one that fails after hours has lost something that
worked. A job begins with the library's own first words ("NCCL version", "Bootstrap"), or, if it does not say them, with
its log, if that was there from the first line on or tells times. Where the beginning is not known nothing is said.
After a log was exchanged only the library's own words count, as a rotation is no new job.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from collectors.events.framing import parse_line
from collectors.events.notices import Notice
from schemas.instants import SECOND_US

EARLY_S = 180.0
"""Connecting and seven retries of some seconds each are over by then."""

PATH = frozenset({"retries exceeded: peer or path", "no path to the peer: rail, GID or route"})
_BEGINS = re.compile(r"\bNCCL version \d|NCCL INFO Bootstrap ?: Using|RCCL version\b")


class JobTimes:
    """Follows one log."""

    def __init__(self) -> None:
        self._began_us: int | None = None
        self._is_known = True

    def begin_late(self, head: Iterable[str], now_us: int, zone_s: int) -> None:
        """The log had lines before it was followed: ``head`` are its first ones."""
        times = [parse_line(text, now_us, zone_s).t_us for text in head]
        self._began_us = next((t_us for t_us in times if t_us is not None), None)
        self._is_known = self._began_us is not None

    def exchanged(self) -> None:
        """Another file is read from now on."""
        self._began_us, self._is_known = None, False

    def take(self, lines: Iterable[str], now_us: int, zone_s: int) -> None:
        """New lines, before what they say is judged."""
        for text in lines:
            begins = _BEGINS.search(text) is not None
            if begins or (self._began_us is None and self._is_known):
                t_us = parse_line(text, now_us, zone_s).t_us
                self._began_us = now_us if t_us is None else min(t_us, now_us)

    def judge(self, notice: Notice, t_us: int) -> Notice:
        """The notice, with ``reached`` ``never`` or ``lost`` where it is about the way to a peer."""
        if notice.values.get("meaning") not in PATH or self._began_us is None:
            return notice
        after_s = max(0.0, (t_us - self._began_us) / SECOND_US)
        values = {**notice.values, "after_s": after_s, "reached": "never" if after_s < EARLY_S else "lost"}
        return replace(notice, values=values)
