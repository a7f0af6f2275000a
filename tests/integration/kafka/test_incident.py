"""The real stages on the bundled incident: with and without Kafka the same, also when the worker is killed half way."""

from __future__ import annotations

from pathlib import Path

import pytest
from orjson import Fragment

from skeletonhunter.recordings.reader import Recording
from skeletonhunter.recordings.writer import RecordingWriter
from skeletonhunter.replaying.kafka import Cast, replay_with
from skeletonhunter.replaying.kafka_services import Services, skeletonhunter
from skeletonhunter.replaying.local import LocalReplay
from skeletonhunter.replaying.request import ReplayRequest
from skeletonhunter.settings import Settings, WorkerSettings
from tests.kafka_bench import assert_same, kafka_settings

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

INCIDENT = Path(__file__).parents[3] / "examples/incidents/stale-flow-offload"
UNTIL_S = 130
KILLED_AT_S = 95


@pytest.fixture(scope="module")
def beginning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first part of the incident: its latency phase has begun, and been found."""
    folder = tmp_path_factory.mktemp("incident") / "beginning"
    with Recording(INCIDENT) as recording, RecordingWriter(folder, level=1) as writer:
        until_us = recording.manifest.start_us + UNTIL_S * 1_000_000
        for line in recording.lines():
            if line.arrival_us <= until_us:
                writer.write(line.topic, line.key or "", line.arrival_us, Fragment(line.raw))
        writer.finish(recording.manifest)
    return folder


def test_the_real_stages_say_the_same_over_kafka_after_a_kill(broker: str, tmp_path: Path, beginning: Path) -> None:
    settings = Settings(
        kafka=kafka_settings(broker, partitions=2), worker=WorkerSettings(data_dir=str(tmp_path / "data"))
    )
    with Recording(beginning) as recording:
        expected = LocalReplay(settings.parameters).run(recording)
    killed: list[int] = []

    def kill_once(running: Services, handled_us: int) -> None:
        if not killed and handled_us >= recording.manifest.start_us + KILLED_AT_S * 1_000_000:
            running.children["work"].kill()
            running.start(skeletonhunter("work"))
            killed.append(handled_us)

    with Recording(beginning) as recording:
        request = ReplayRequest(recording, settings, speed=1000.0, broker=broker)
        found = replay_with(Cast((skeletonhunter("work"),), meanwhile=kill_once), request)
    assert len(killed) == 1
    assert [incident.issue for incident in expected.incidents()] == ["offloading_failure"]
    assert_same(found, expected)
    assert found.emitted["evidence-requests"] >= expected.emitted["evidence-requests"] == 2  # again after the kill
