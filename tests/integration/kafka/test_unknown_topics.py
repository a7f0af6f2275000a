"""A worker whose group began with a broker that did not name all topics goes on seconds later, not minutes."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from skeletonhunter.replaying.kafka import Cast
from skeletonhunter.replaying.kafka_outcome import read_updates
from skeletonhunter.replaying.kafka_services import Program, services
from tests.integration.kafka.test_live import Agent, live_settings, until
from tests.kafka_bench import assert_same, toy_settings, toys_locally, toys_over_kafka
from tests.toy_pipeline import TOYS
from tests.toy_recordings import write_toy_recording
from tests.unknowing_worker import CHANGELOG, LEADER

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

UNKNOWN_S = 8.0
SOON_S = 150.0
"""Some 15 to 20 s on a quiet machine; aiokafka would look again after 300 s."""


def unknowing(*topics: str) -> Program:
    command = (sys.executable, "-m", "tests.unknowing_worker", str(UNKNOWN_S), *topics, "--config", "{settings}")
    return Program("work", command)


@pytest.mark.parametrize("topic", [CHANGELOG, "job-progress", "ticks"])
def test_nothing_is_lost_or_said_twice_when_a_topic_is_not_named_at_first(
    broker: str, tmp_path: Path, topic: str
) -> None:
    recording = write_toy_recording(tmp_path / "recording", 30, shuffled_by=3)
    began_s = time.monotonic()
    found = toys_over_kafka(recording, toy_settings(broker, tmp_path), Cast((unknowing(topic),), stages=TOYS))
    assert time.monotonic() - began_s < SOON_S
    assert_same(found, toys_locally(recording))


def test_time_passes_though_the_topic_that_names_the_leader_was_not_named_at_first(broker: str, tmp_path: Path) -> None:
    settings = live_settings(broker, tmp_path)
    with services(settings, [unknowing(LEADER)]) as running:
        until(running, lambda: "Ignoring missing topic" in (running.folder / "work.log").read_text())
        agent, began_s = Agent(settings), time.monotonic()

        def came_through() -> bool:
            agent.send()
            return len(read_updates(settings.kafka)) > 0

        until(running, came_through)
        assert time.monotonic() - began_s < SOON_S
        running.stop()
