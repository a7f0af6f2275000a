"""How long a tick waited for Kafka, and not for its own worker."""

from __future__ import annotations

import asyncio
import time

import pytest

from schemas.instants import SECOND_US
from streams.ticker import STEP_S, Course, idle_s


def test_waiting_counts() -> None:
    waited_s = asyncio.run(idle_s(asyncio.sleep(4.5 * STEP_S)))
    assert waited_s >= 2 * STEP_S


def test_a_loop_that_is_busy_does_not_wait() -> None:
    async def busy() -> None:
        for _ in range(2):
            time.sleep(3 * STEP_S)
            await asyncio.sleep(0)

    assert asyncio.run(idle_s(busy())) <= STEP_S


def test_what_fails_is_told() -> None:
    async def fails() -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        asyncio.run(idle_s(fails()))


def test_a_clock_that_is_set_back_says_that_time_stands_still(caplog: pytest.LogCaptureFixture) -> None:
    course = Course()
    for second in (100, 101, 103, 102, 50, 51, 102, 104, 105, 10):
        course.follow(second * SECOND_US)
    assert caplog.messages == [
        "this machine's clock was set back: time stands still until it shows again what it showed, in 53 s",
        "time goes on",
        "this machine's clock was set back: time stands still until it shows again what it showed, in 95 s",
    ]
