"""An agent that is stopped for ten seconds says so itself, and nobody takes it for a fault of the network.

Three agents probe each other over UDP on loopback, by a plan from Kafka; one gets SIGSTOP and later SIGCONT. Everything
that they published goes through the whole pipeline. The counter-proof is the same recording with the stopped agent's
confession taken out: what its peers lost then is an alarm.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest
from orjson import Fragment

from skeletonhunter.recordings.reader import Recording
from skeletonhunter.recordings.writer import RecordingWriter, about, write_lines
from skeletonhunter.replaying.local import LocalReplay
from skeletonhunter.settings import Settings
from tests.integration.collectors.agents import (
    Reader,
    agent,
    fabric_map,
    job_map,
    make_cards,
    plan,
    publish,
    settings_file,
)
from tests.integration.collectors.brokers import Broker

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

HOSTS = (1, 2, 3)
STOPPED = 1
STOP_S = 10.0
TOLD_US = 36_000_000
"""By then the agent has gone on to say that it is well again."""
ATTEMPTS = 3
MOST_LAG_US = 100_000.0
"""Agents that have the CPU that they need send within some tens of milliseconds of their plan."""
NETWORK = {"network_fault", "congestion"}
TOPICS = ("endpoint-map", "fabric-map", "probe-plans", "agent-health", "probe-results", "device-events")

Record = tuple[str, str, bytes, int]


class Story:
    """What was read, and when the agent was stopped (by the host's clock, us)."""

    def __init__(self, records: list[Record], stopped_us: int, continued_us: int) -> None:
        self.records, self.stopped_us, self.continued_us = records, stopped_us, continued_us

    def health(self, host: int = STOPPED) -> list[dict[str, Any]]:
        values = [orjson.loads(raw) for topic, _, raw, _ in self.records if topic == "agent-health"]
        return [value for value in values if value["host"] == f"h-{host}"]

    def is_told_well(self) -> bool:
        """Whether nothing but the signal stopped an agent: on a busy machine the others may lack the CPU as well."""
        others = [value for host in HOSTS if host != STOPPED for value in self.health(host)]
        lags = [value["send_lag_us"] or 0.0 for value in others]
        return all(value["state"] in ("ok", "stopping") for value in others) and max(lags) < MOST_LAG_US

    def trains(self, source: int) -> Iterator[dict[str, Any]]:
        for topic, _, raw, _ in self.records:
            value = orjson.loads(raw)
            if topic == "probe-results" and value["src"] == f"c-{source}/mlx5_0":
                yield from value["results"]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    for attempt in range(ATTEMPTS):
        folder = tmp_path_factory.mktemp("stopped")
        broker = Broker(folder)
        try:
            broker.create_topics()
            found = tell(broker, folder)
        finally:
            broker.close()
        if found.is_told_well() or attempt == ATTEMPTS - 1:
            break
    return found


def tell(broker: Broker, folder: Path) -> Story:
    make_cards(folder / "sys", 1)
    pairs = [(a, b) for a in HOSTS for b in HOSTS if a != b]
    publish(broker.address, "fabric-map", None, fabric_map(HOSTS))
    publish(broker.address, "endpoint-map", "j-1", job_map(HOSTS))
    publish(broker.address, "probe-plans", "j-1", plan(pairs))
    reader = Reader(broker.address, TOPICS)
    with ExitStack() as running:
        made = {
            number: running.enter_context(agent(settings_file(folder, number, broker.address, ["probing"])))
            for number in HOSTS
        }
        reader.until(lambda values: all(replies(values, number) >= 40 for number in HOSTS))
        stopped_us = time.time_ns() // 1000
        made[STOPPED].process.send_signal(signal.SIGSTOP)
        threading.Event().wait(STOP_S)
        continued_us = time.time_ns() // 1000
        made[STOPPED].process.send_signal(signal.SIGCONT)
        reader.until(lambda values: values[-1]["t_us"] > continued_us + TOLD_US)
        assert [each.stop() for each in made.values()] == [0, 0, 0]
    reader.until(lambda values: sum(value.get("state") == "stopping" for value in values) == len(HOSTS))
    reader.close()
    return Story(reader.records, stopped_us, continued_us)


def replies(values: list[dict[str, Any]], source: int) -> int:
    trains = [t for v in values if v.get("src") == f"c-{source}/mlx5_0" for t in v.get("results", ())]
    return sum(train["outcome"] == "reply" for train in trains)


def incidents(records: list[Record], folder: Path) -> list[Any]:
    """What the whole pipeline says of the records."""
    span = min(r[3] for r in records), max(r[3] for r in records)
    with RecordingWriter(folder / "recording", compress=False) as writer:
        write_lines(writer, [(topic, key, arrival, Fragment(raw)) for topic, key, raw, arrival in records])
        writer.finish(about("stopped", "An agent was stopped.", span, "tests", "Apache-2.0"))
    with Recording(folder / "recording") as recording:
        return list(LocalReplay(Settings().parameters).run(recording).incidents())


def test_the_agent_says_itself_that_it_was_starved(story: Story) -> None:
    starved = [value for value in story.health() if value["state"] == "starved"]
    first = starved[0]
    assert story.continued_us <= first["t_us"] <= story.continued_us + 2_000_000
    assert 9e6 <= first["send_lag_us"] <= 14e6


def test_its_own_probes_of_that_time_are_not_called_lost(story: Story) -> None:
    trains = [t for t in story.trains(STOPPED) if story.stopped_us - 2_000_000 <= t["t_us"]]
    assert trains
    assert {train["outcome"] for train in trains} <= {"reply", "not_sent"}
    assert any(train["outcome"] == "not_sent" for train in trains)


def test_its_peers_missed_it(story: Story) -> None:
    lost = [t for t in story.trains(2) if t["dst"] == f"c-{STOPPED}/mlx5_0" and t["outcome"] == "lost"]
    assert len(lost) >= 3


def test_nobody_takes_it_for_a_fault_of_the_network(story: Story, tmp_path: Path) -> None:
    found = incidents(story.records, tmp_path)
    assert [each for each in found if each.kind in NETWORK] == []
    assert any(each.kind == "agent_starved" and each.component == f"agent:h-{STOPPED}" for each in found)


def test_without_its_confession_there_is_an_alarm(story: Story, tmp_path: Path) -> None:
    def silenced(record: Record) -> Record:
        topic, key, raw, arrival = record
        return topic, key, raw.replace(b'"state":"starved"', b'"state":"ok"'), arrival

    found = incidents([silenced(record) for record in story.records], tmp_path)
    assert any(each.kind != "agent_starved" and each.symptom is not None for each in found)
