"""A part that fails takes down only itself, is asked again at growing intervals, and is logged once per kind."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import pytest

from collectors.observing import Now, Observed
from collectors.supervision import LONGEST_WAIT_S, Supervised
from tests.unit.collectors.hand_clock import HandClock

FACT = Observed("device-events", "device-events", 1, {})


class Moody:
    """Does what its mood says."""

    def __init__(self) -> None:
        self.mood: Exception | None = None
        self.asked: list[float] = []

    def collect(self, now: Now) -> Iterable[Observed]:
        self.asked.append(now.mono_us / 1e6)
        yield FACT
        if self.mood:
            raise self.mood


def ask_each_second(part: Moody, watched: Supervised, clock: HandClock, seconds: int) -> None:
    for _ in range(seconds):
        watched.ask(part.collect, clock())
        clock.move(1.0)


def test_it_is_asked_at_growing_intervals_and_as_before_when_it_works() -> None:
    clock, part = HandClock(), Moody()
    watched = Supervised("moody", lambda fact: None)
    part.mood = OSError(5, "Input/output error")
    ask_each_second(part, watched, clock, 40)
    assert part.asked == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
    assert (watched.failures, watched.is_down) == (6, True)
    part.mood, part.asked = None, []
    ask_each_second(part, watched, clock, 40)
    assert part.asked[:3] == [64.0, 65.0, 66.0]
    assert not watched.is_down


def test_the_wait_has_an_upper_bound() -> None:
    clock, part = HandClock(), Moody()
    watched = Supervised("moody", lambda fact: None)
    part.mood = ValueError("nonsense")
    ask_each_second(part, watched, clock, 2000)
    gaps = [b - a for a, b in zip(part.asked, part.asked[1:], strict=False)]
    assert max(gaps) == LONGEST_WAIT_S == gaps[-1]


def test_each_kind_is_logged_once_until_it_works_again(caplog: pytest.LogCaptureFixture) -> None:
    clock, part = HandClock(), Moody()
    watched = Supervised("moody", lambda fact: None)
    with caplog.at_level(logging.INFO):
        for error in (OSError(5, "a"), OSError(5, "b"), OSError(2, "c"), ValueError("d")):
            part.mood = error
            watched.ask(part.collect, clock())
            clock.move(100.0)
        part.mood = None
        watched.ask(part.collect, clock.move(100.0))
        part.mood = OSError(5, "e")
        watched.ask(part.collect, clock.move(100.0))
    assert [record.getMessage() for record in caplog.records] == [
        "moody: failed: [Errno 5] a",
        "moody: failed: [Errno 2] c",
        "moody: failed: d",
        "moody: works again after 4 failures",
        "moody: failed: [Errno 5] e",
    ]


def test_a_bug_is_logged_with_its_trace_and_costs_the_part_only(caplog: pytest.LogCaptureFixture) -> None:
    clock, part = HandClock(), Moody()
    watched = Supervised("moody", lambda fact: None)
    part.mood = ZeroDivisionError("division by zero")
    watched.ask(part.collect, clock())
    assert watched.is_down
    assert caplog.records[0].exc_info is not None


def test_what_was_said_before_the_failure_is_kept() -> None:
    clock, part = HandClock(), Moody()
    heard: list[Observed] = []
    part.mood = OSError("gone")
    Supervised("moody", heard.append).ask(part.collect, clock())
    assert heard == [FACT]
