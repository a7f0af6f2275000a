"""What Kafka deleted before a stage had read it is told: the stage goes on, but what it says rests on less."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tests.memory_kafka import MemoryKafka
from tests.unit.streams.test_far_ahead import TOPIC, live, runner_on


def test_a_start_behind_the_beginning_of_a_log_says_what_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    kafka = MemoryKafka(1)
    asyncio.run(live(kafka, runner_on(kafka), range(1, 20), {}))
    position = kafka.committed["steps", (TOPIC, 0)]
    with caplog.at_level(logging.WARNING):
        assert runner_on(kafka, {TOPIC: position}).expects(TOPIC) >= position
        assert caplog.messages == []
        assert runner_on(kafka, {TOPIC: 500}).expects(TOPIC) == 500
    assert caplog.messages == [
        f"steps/0: {TOPIC} was deleted from offset {position} to 500 before it was read, what it said is lost"
    ]


def test_a_stage_that_never_read_a_log_lost_nothing_of_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert runner_on(MemoryKafka(1), {TOPIC: 500}).expects(TOPIC) == 500
    assert caplog.messages == []
