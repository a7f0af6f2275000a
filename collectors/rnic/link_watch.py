"""Has a port gone down, come back, flapped, recovered? From its state and its count of downs. Pure.

A flap shorter than the time between two looks shows in a counter only: ``carrier_down_count`` of the network device or
``link_downed`` of the port, one of them (they count the same). A counter that decreases was reset: it begins anew.
A port that was down at the first looks is told after ``confirm`` of them. After it came back it counts as *stable* only
when it stayed up for ``hold_us``. What can't be read says nothing: a dead reader is no fault of the port.
Only ports of endpoints are watched: ports that are down by design and cards for management belong to no job.
"""

from __future__ import annotations

from collections import deque
from typing import Literal, NamedTuple

MOST_REMEMBERED = 512
MOST_TOLD = 4
"""Of flaps that nobody saw so many are told one by one; how many there were stands in each."""


class Change(NamedTuple):
    """``flaps``: times it went down within the window, this one among them; ``down_us``: for how long, if known."""

    kind: Literal["down", "up", "stable"]
    flaps: int
    down_us: int | None = None
    hidden: bool = False
    """It came back before it was looked at."""


class LinkWatch:
    """One port."""

    __slots__ = ("_confirm", "_count", "_down_since", "_downs", "_first", "_hold_us", "_up", "_up_since", "_window_us")

    def __init__(self, window_us: int, hold_us: int, confirm: int) -> None:
        self._window_us, self._hold_us, self._confirm = window_us, hold_us, confirm
        self._downs: deque[int] = deque(maxlen=MOST_REMEMBERED)
        self._up: bool | None = None
        self._count: int | None = None
        self._first = 0
        self._down_since: int | None = None
        self._up_since: int | None = None

    def look(self, mono_us: int, up: bool | None, count: int | None) -> list[Change]:
        """Takes one look: whether the port is up, and how often it went down so far; None = not known."""
        missed = 0
        if count is not None:
            missed = count - self._count if self._count is not None and count > self._count else 0
            self._count = count
        while self._downs and self._downs[0] <= mono_us - self._window_us:
            self._downs.popleft()
        if up is None:
            return []
        if self._up is None:
            return self._begin(mono_us, up)
        changes = self._compare(mono_us, up, missed)
        self._up = up
        return changes

    def _begin(self, mono_us: int, up: bool) -> list[Change]:
        """The first looks: up is taken as it is, down has to be seen several times."""
        self._first = 0 if up else self._first + 1
        if up:
            self._up = True
        elif self._first >= self._confirm:
            self._up, self._down_since = False, None
            self._downs.append(mono_us)
            return [Change("down", len(self._downs))]
        return []

    def _compare(self, mono_us: int, up: bool, missed: int) -> list[Change]:
        if self._up and not up:
            self._downs.extend([mono_us] * min(max(missed, 1), MOST_REMEMBERED))
            self._down_since, self._up_since = mono_us, None
            return [Change("down", len(self._downs))]
        if self._up and up and missed:
            self._downs.extend([mono_us] * min(missed, MOST_REMEMBERED))
            self._up_since = mono_us
            flaps = len(self._downs)
            pair = [Change("down", flaps, hidden=True), Change("up", flaps, hidden=True)]
            return pair * min(missed, MOST_TOLD)
        if not self._up and up:
            self._downs.extend([mono_us] * min(missed, MOST_REMEMBERED))
            self._up_since = mono_us
            since = self._down_since
            return [Change("up", len(self._downs), None if since is None else mono_us - since)]
        if up and self._up_since is not None and mono_us - self._up_since >= self._hold_us:
            self._up_since = None
            return [Change("stable", len(self._downs))]
        return []
