"""Jobs come and go on a broker, and the worker is killed between them: what is forgotten is gone from the changelog."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from orjson import Fragment

from schemas.instants import SECOND_US
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.recordings.writer import RecordingWriter, about, write_lines
from skeletonhunter.replaying.kafka import Cast, replay_with
from skeletonhunter.replaying.kafka_services import Services, skeletonhunter
from skeletonhunter.replaying.local import LocalReplay
from skeletonhunter.replaying.request import ReplayRequest
from skeletonhunter.settings import Settings, WorkerSettings
from streams.parameters import JobParameters, Parameters
from tests.kafka_bench import assert_same, kafka_settings
from tests.passing_jobs import BEGIN_US, Cluster

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

JOBS, LAST_S = 5, 420
KILLED_AT_S, READ_AT_S = 150, 400
LEAST_READ_S = 3.0


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Five jobs of 25 seconds one after another, one of which loses its probes; another job goes on."""
    cluster = Cluster()
    cluster.wire()
    for number in range(JOBS):
        cluster.live(f"j{number}", 30 * number, 25)
    for second in range(41, 50):
        cluster.probe("j1", second, lost=True)
    cluster.live("last", 0, LAST_S)
    lines = [
        (line.topic, (line.key or b"").decode(), line.arrival_us, Fragment(line.value)) for line in cluster.arrivals()
    ]
    span_us = (BEGIN_US, BEGIN_US + LAST_S * SECOND_US)
    with RecordingWriter(tmp_path / "rec", compress=False) as writer:
        write_lines(writer, lines)
        writer.finish(about("jobs", "For tests.", span_us, "tests/passing_jobs.py", "Apache-2.0"))
    return tmp_path / "rec"


def test_forgotten_jobs_are_gone_from_the_changelog_and_a_kill_changes_nothing(
    broker: str, tmp_path: Path, recording: Path
) -> None:
    settings = Settings(
        kafka=kafka_settings(broker, partitions=2, prefix=f"forgetting-{secrets.token_hex(4)}-"),
        worker=WorkerSettings(data_dir=str(tmp_path / "data"), checkpoint_s=5.0),
        parameters=Parameters(jobs=JobParameters(ended_s=60)),
    )
    with Recording(recording) as opened:
        expected = LocalReplay(settings.parameters).run(opened)
    done: dict[str, dict[bytes, bytes | None]] = {}

    def meanwhile(running: Services, handled_us: int) -> None:
        at_s = (handled_us - BEGIN_US) / SECOND_US
        if "killed" not in done and at_s >= KILLED_AT_S:
            running.children["work"].kill()
            running.start(skeletonhunter("work"))
            done["killed"] = {}
        if "read" not in done and at_s >= READ_AT_S:
            done["read"] = changelog(broker, settings.kafka.prefix)

    with Recording(recording) as opened:
        request = ReplayRequest(opened, settings, speed=40.0, broker=broker)
        found = replay_with(Cast((skeletonhunter("work"),), meanwhile=meanwhile), request)
    assert set(done) == {"killed", "read"}
    assert_same(found, expected)
    parts = {name.split(b"|", 2)[2]: row for name, row in done["read"].items() if b"|part/" in name}
    alive = {name for name, row in parts.items() if row is not None}
    assert alive == {b"part/", b"part/last", b"part/f"}
    assert {b"part/j0", b"part/j4"} <= parts.keys() - alive, "there were such rows, and they were deleted"


def changelog(broker: str, prefix: str) -> dict[bytes, bytes | None]:
    """The newest row of each name in the changelogs of workers with a prefix; None: deleted."""
    consumer = Consumer({"bootstrap.servers": broker, "group.id": "reads-changelog", "enable.auto.commit": False})
    try:
        about_topics = consumer.list_topics(timeout=10).topics
        places = [
            TopicPartition(name, number, OFFSET_BEGINNING)
            for name, topic in about_topics.items()
            if name.startswith(prefix) and name.endswith("-state-changelog")
            for number in topic.partitions
        ]
        consumer.assign(places)
        rows: dict[bytes, bytes | None] = {}
        ends_s = time.monotonic() + LEAST_READ_S
        while time.monotonic() < ends_s:
            message = consumer.poll(0.2)
            if message is not None and message.error() is None and message.key() is not None:
                rows[bytes(message.key())] = message.value()
        return rows
    finally:
        consumer.close()
