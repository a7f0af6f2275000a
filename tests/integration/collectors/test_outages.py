"""Kafka goes away and comes back: every message arrives once and in order, across restarts of the agent too.

``SKELETONHUNTER_TEST_OUTAGE_S=120`` makes the outages two minutes long; in the suite they last as long as it takes to
see that messages wait on disk.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from tests.integration.collectors.agents import (
    PATIENCE_S,
    Reader,
    agent,
    job_map,
    make_cards,
    numbers_by_stream,
    publish,
    settings_file,
)
from tests.integration.collectors.brokers import Broker

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

OUTAGE_S = float(os.environ.get("SKELETONHUNTER_TEST_OUTAGE_S", "0"))
TOPICS = ("agent-health", "rnic-counters", "rnic-bursts", "device-events")
QUICK = """
[rnic]
message_s = 1.0
burst_message_s = 1.0
"""


def settings_on(broker: Broker, folder: Path, more: str = "") -> Path:
    make_cards(folder / "sys", 2)
    publish(broker.address, "endpoint-map", "j-1", job_map([0], rnics=2))
    return settings_file(folder, 0, broker.address, ["rnic-counters", "rnic-bursts", "rnic-state"], more + QUICK)


def wait_until(condition: object, patience_s: float = PATIENCE_S) -> None:
    assert callable(condition)
    ends_s = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < ends_s, "it did not happen"
        threading.Event().wait(0.05)


def spooled(folder: Path) -> int:
    return sum(path.stat().st_size for path in (folder / "spool-0").glob("*.spool"))


def outlast(folder: Path, least_bytes: int = 5000) -> None:
    """The outage goes on until messages wait on disk, and for as long as it was asked to."""
    ends_s = time.monotonic() + OUTAGE_S
    wait_until(lambda: spooled(folder) >= least_bytes and time.monotonic() >= ends_s, PATIENCE_S + OUTAGE_S)


def read_healthy(broker: Broker, count: int) -> Reader:
    reader = Reader(broker.address, TOPICS)
    reader.until(lambda values: len(reader.of("rnic-counters")) >= count and len(reader.of("agent-health")) >= count)
    return reader


def test_every_message_arrives_once_and_in_order(own_broker: Broker, tmp_path: Path) -> None:
    settings = settings_on(own_broker, tmp_path)
    with agent(settings) as running:
        read_healthy(own_broker, 3).close()
        own_broker.door.shut()
        outlast(tmp_path)
        own_broker.door.open()
        wait_until(lambda: spooled(tmp_path) == 0)
        assert running.stop() == 0
    reader = Reader(own_broker.address, TOPICS)
    reader.until(lambda values: any(value.get("state") == "stopping" for value in values))
    streams = numbers_by_stream(reader.values)
    assert {stream.partition("/")[2].partition(".")[0] for stream, _ in streams} >= {"agent-health", "rnic-counters"}
    assert streams == {stream: list(range(len(numbers))) for stream, numbers in streams.items()}
    assert reader.of("agent-health")[-1]["dropped"] == 0
    reader.close()


def test_an_agent_that_is_restarted_in_an_outage_loses_nothing(own_broker: Broker, tmp_path: Path) -> None:
    settings = settings_on(own_broker, tmp_path)
    with agent(settings) as running:
        read_healthy(own_broker, 2).close()
        own_broker.door.shut()
        outlast(tmp_path)
        assert running.stop() == 0
    assert spooled(tmp_path) > 0
    with agent(settings) as running:
        own_broker.door.open()
        wait_until(lambda: spooled(tmp_path) == 0)
        reader = Reader(own_broker.address, TOPICS)
        reader.until(lambda values: len({value["producer"]["boot"] for value in reader.of("agent-health")}) == 2)
        assert running.stop() == 0
    reader.until(lambda values: sum(value.get("state") == "stopping" for value in values) == 2)
    streams = numbers_by_stream(reader.values)
    assert streams == {stream: list(range(len(numbers))) for stream, numbers in streams.items()}
    boots = [value["producer"]["boot"] for value in reader.of("agent-health")]
    assert boots == sorted(boots), "what an earlier run left comes before what a later one says"
    reader.close()


def test_a_broker_that_forgot_everything_gets_what_comes_in_order(own_broker: Broker, tmp_path: Path) -> None:
    """The embedded broker then refuses the producer for ever; what it had confirmed is lost with it, nothing else."""
    settings = settings_on(own_broker, tmp_path, "renew_s = 10")
    with agent(settings) as running:
        before = read_healthy(own_broker, 3)
        own_broker.begin_again()
        reader = Reader(own_broker.address, TOPICS)
        reader.until(lambda values: len(reader.of("agent-health")) >= 5)
        assert running.stop() == 0
    reader.until(lambda values: any(value.get("state") == "stopping" for value in values))
    known = numbers_by_stream(before.values)
    for stream, numbers in numbers_by_stream(reader.values).items():
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), stream
        assert numbers[0] <= len(known.get(stream, ())) + 3, stream  # confirmed, and not read before it was forgotten
    before.close()
    reader.close()
