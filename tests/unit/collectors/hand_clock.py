"""A clock that tests move by hand, and a selector that waits on it: loops run without waiting."""

from __future__ import annotations

import selectors
from collections.abc import Callable, Mapping
from typing import Any

from collectors.loop import Loop
from collectors.observing import Now

EPOCH_US = 1_753_000_000_000_000


class HandClock:
    """Both clocks; ``mono_us`` begins at 1 s."""

    def __init__(self) -> None:
        self.mono_us = 1_000_000

    def __call__(self) -> Now:
        return Now(EPOCH_US + self.mono_us, self.mono_us)

    def move(self, seconds: float) -> Now:
        self.mono_us += round(seconds * 1e6)
        return self()


class HandSelector(selectors.BaseSelector):
    """Waiting moves the clock; ``ready`` lists descriptors that are readable at the next wait."""

    def __init__(self, clock: HandClock) -> None:
        self.clock = clock
        self.keys: dict[int, selectors.SelectorKey] = {}
        self.ready: list[int] = []
        self.stall_s = 0.0

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        if fileobj in self.keys:
            raise KeyError(f"{fileobj} is already registered")
        self.keys[fileobj] = selectors.SelectorKey(fileobj, fileobj, events, data)
        return self.keys[fileobj]

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self.keys.pop(fileobj)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready, self.ready = self.ready, []
        waited = 0.0 if ready else timeout or 0.0
        self.clock.move(waited + self.stall_s)
        self.stall_s = 0.0
        return [(self.keys[fd], selectors.EVENT_READ) for fd in ready if fd in self.keys]

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self.keys


def hand_loop() -> tuple[Loop, HandClock, HandSelector]:
    """A loop on a hand clock."""
    clock = HandClock()
    selector = HandSelector(clock)
    return Loop(clock, selector), clock, selector


def run_for(loop: Loop, clock: HandClock, seconds: float, each: Callable[[], None] = lambda: None) -> None:
    """Turns until the clock has moved that far."""
    end_us = clock.mono_us + round(seconds * 1e6)
    loop.at(end_us, lambda _now: None)  # no wait goes beyond
    while clock.mono_us < end_us:
        loop.turn()
        each()
