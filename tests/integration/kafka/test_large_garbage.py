"""Garbage of the greatest size that Kafka takes becomes a small dead letter, and the worker goes on."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from confluent_kafka import Producer

from schemas.control import DeadLetter
from skeletonhunter.replaying.kafka_outcome import read_all, read_updates
from skeletonhunter.replaying.kafka_services import services
from streams.records import arrival_headers
from tests.integration.kafka.test_live import Agent, live_settings, until
from tests.kafka_bench import toy_worker

pytestmark = pytest.mark.kafka
MOST = 200_000
OVERHEAD = 1000


def test_a_worker_survives_the_largest_garbage(broker: str, tmp_path: Path) -> None:
    settings = live_settings(broker, tmp_path)
    settings = msgspec.structs.replace(settings, kafka=msgspec.structs.replace(settings.kafka, max_message_bytes=MOST))
    with services(settings, [toy_worker()]) as running:
        until(running, lambda: "at work on" in (running.folder / "work.log").read_text())
        garbage = Producer({"bootstrap.servers": broker, "message.max.bytes": MOST + OVERHEAD})
        topic = settings.kafka.prefix + "job-progress"
        garbage.produce(topic, b"[" * (MOST - OVERHEAD), key=b"job-a", headers=arrival_headers(5))
        garbage.flush()
        agent = Agent(settings)

        def came_through() -> bool:
            agent.send()
            return len(read_updates(settings.kafka)) > 0

        until(running, came_through)
        letters = [message.value() for message in read_all(settings.kafka, ["job-progress-dlq"])]
        (letter,) = (msgspec.json.decode(raw or b"", type=DeadLetter) for raw in letters)
        assert letter.value_base64 == "" and "too large for a letter" in letter.detail
        running.stop()
