"""What was published can be cut out again: all of it, a part in time, one job, with records that can't be used."""

from __future__ import annotations

import secrets
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import Producer

from schemas.topics import topics
from skeletonhunter.recordings.cut import Cut, cut_recording
from skeletonhunter.recordings.manifest import Manifest, RecordingError
from skeletonhunter.recordings.reader import Line, Recording
from skeletonhunter.recordings.spool import Row, Spool
from skeletonhunter.replaying.kafka_publisher import Publisher
from skeletonhunter.replaying.outcome import quiet
from skeletonhunter.replaying.simulating import simulate_recording
from skeletonhunter.settings import KafkaSettings
from skeletonhunter.testbed.scenario import FabricPlan, JobPlan, Scenario
from streams.topic_admin import TopicAdmin, plan_topics

TOPICS = tuple(name for name in topics() if name != "ticks")
NAMES = {"agent-health", "endpoint-map", "fabric-map", "probe-results", "switch-queues", "job-progress"}

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two jobs on one fabric for 40 s."""
    job = JobPlan(tp=2, pp=1, dp=2, period_s=5.0)
    scenario = Scenario(
        name="two-jobs",
        seed=2,
        seconds=40,
        fabric=FabricPlan(hosts=4, rails=2, hosts_per_leaf=2, spines=2),
        jobs=(job, job),
    )
    path = tmp_path_factory.mktemp("record") / "source"
    simulate_recording(scenario, path, None)
    return path


@pytest.fixture(scope="module")
def settings(broker: str, source: Path) -> KafkaSettings:
    """A broker that holds the recording."""
    found = KafkaSettings(url=broker, prefix=f"record-{secrets.token_hex(4)}-", partitions=3)
    admin = TopicAdmin(found.url, found.prefix, {})
    admin.ensure(plan_topics(found.max_message_bytes, keep_forever=True), 3, 1)
    with Recording(source) as recording:
        publisher = Publisher(found, (), recording.files)
        for line in recording.lines():
            publisher.send(line)
        publisher.tick(recording.manifest.end_us, final=True)
    return found


def lines_of(path: Path) -> list[Line]:
    with Recording(path) as recording:
        return list(recording.lines())


def cut(settings: KafkaSettings, path: Path, **options: object) -> Manifest:
    return cut_recording(settings, Cut(TOPICS, **{"to_us": 2**52, **options}), path, quiet)  # type: ignore[arg-type]


def content(lines: list[Line]) -> list[tuple[str, str | None, int, bytes]]:
    return sorted((line.topic, line.key, line.arrival_us, line.raw) for line in lines)


def test_all_that_was_published_comes_back_in_order(settings: KafkaSettings, source: Path, tmp_path: Path) -> None:
    cut(settings, tmp_path / "all.tar.zst")
    found = lines_of(tmp_path / "all.tar.zst")
    assert content(found) == content(lines_of(source))
    assert [line.arrival_us for line in found] == sorted(line.arrival_us for line in found)


def test_a_part_begins_with_the_maps_that_held(settings: KafkaSettings, source: Path, tmp_path: Path) -> None:
    with Recording(source) as recording:
        begin_us, end_us = (recording.manifest.start_us + second * 1_000_000 for second in (10, 20))
    manifest = cut(settings, tmp_path / "part", from_us=begin_us, to_us=end_us)
    assert manifest.start_us == begin_us
    assert end_us - 1_000_000 < manifest.end_us <= end_us
    found = lines_of(tmp_path / "part")
    expected = [line for line in lines_of(source) if begin_us <= line.arrival_us <= end_us]
    held = [line for line in found if line.arrival_us < begin_us]
    assert Counter(line.topic for line in held) == {"endpoint-map": 2, "fabric-map": 1}
    assert content(found) == content(expected + held)


def test_one_job_with_its_fabric(settings: KafkaSettings, source: Path, tmp_path: Path) -> None:
    job = next(line.key for line in lines_of(source) if line.topic == "endpoint-map")
    cut(settings, tmp_path / "job", job=job)
    found = lines_of(tmp_path / "job")
    kept = [line for line in lines_of(source) if line.key in (job, "fab-1")]
    assert content(found) == content(kept)
    assert {line.topic for line in found} >= NAMES


def test_records_that_cant_be_used_are_taken_along(settings: KafkaSettings, source: Path, tmp_path: Path) -> None:
    at_us = lines_of(source)[-1].arrival_us + 1_000
    producer = Producer({"bootstrap.servers": settings.url})
    bad = [b'{\n "v": 1 }', b"oops", b"", b'{"v":NaN}']
    for number, raw in enumerate(bad):
        headers = [("arrival_us", b"%d" % (at_us + number))]
        producer.produce(f"{settings.prefix}device-events", raw, key='a "key"', headers=headers, partition=0)
    assert producer.flush(30) == 0
    cut(settings, tmp_path / "bad", from_us=at_us)
    found = [(line.key, line.raw) for line in lines_of(tmp_path / "bad") if line.topic == "device-events"]
    assert found == [('a "key"', raw.replace(b"\n", b" ")) for raw in bad]


def test_an_empty_cut_and_an_absent_broker_are_refused(
    settings: KafkaSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RecordingError, match=r"none of the .* records read belongs to the cut"):
        cut(settings, tmp_path / "none", to_us=5)
    monkeypatch.setattr("skeletonhunter.recordings.cut.ANSWER_S", 0.5)
    with pytest.raises(RecordingError, match="Kafka at localhost:1 fails"):
        cut(KafkaSettings(url="localhost:1"), tmp_path / "away")


def test_a_spool_sorts_more_than_it_holds() -> None:
    spool = Spool(row_bytes=100)
    arrivals = [(n * 7919) % 1000 for n in range(1000)]
    for n, arrival_us in enumerate(arrivals):
        spool.add(Row(arrival_us, n % 3, n, None, b"x" * 10))
    assert [row.arrival_us for row in spool.rows()] == sorted(arrivals)
