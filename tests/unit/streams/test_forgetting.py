"""Jobs that are over are forgotten: the state stays small, versions never go backwards, stragglers make up nothing."""

from __future__ import annotations

import random
from collections import defaultdict

import pytest
from msgspec.structs import replace

from schemas.codec import decode, encode
from schemas.folding import Emission
from schemas.instants import SECOND_US
from streams.local import LocalPipeline
from streams.parameters import JobParameters, Parameters
from streams.topology import pipeline
from tests.memory_kafka import MemoryKafka, MemoryWorker, play, publish
from tests.passing_jobs import BEGIN_US, Cluster

STAGES = ("skeleton", "detection", "fabric", "planner")
SOON = Parameters(jobs=JobParameters(ended_s=60, silent_s=3600, remembered_s=3600))
Said = dict[tuple[str, str], list[bytes]]
"""All messages by topic and key, each once, in their order."""


def locally(cluster: Cluster, parameters: Parameters = SOON) -> tuple[Said, LocalPipeline]:
    """What the stages say without Kafka."""
    said: Said = defaultdict(list)

    def take(emission: Emission) -> None:
        said[emission.topic, emission.key].append(encode(emission.topic, emission.value))

    stages = LocalPipeline(parameters, take, STAGES)
    play(stages, cluster.arrivals())
    return dict(said), stages


def over_kafka(cluster: Cluster, partitions: int = 1, crashes: list[int] | None = None) -> tuple[Said, MemoryKafka]:
    """The same over partitions, with checkpoints, restarted after so many effects."""
    kafka = MemoryKafka(partitions)
    spread = pipeline(STAGES, partitions)
    publish(kafka, cluster.arrivals(), spread.raw)
    kafka.crashes = list(crashes or ())
    worker = MemoryWorker(kafka, spread, seed=partitions, checkpoint_s=10)
    worker.parameters = SOON
    worker.run()
    said: Said = defaultdict(list)
    for (topic, _), log in kafka.logs.items():
        for record in log if topic in spread.written else ():
            key = topic, (record.key or b"").decode()
            if record.value not in said[key]:
                said[key].append(record.value)
    return dict(said), kafka


def versions(said: Said, topic: str, job: str = "j") -> list[int]:
    """The versions of a job's messages."""
    values = [decode(topic, job, raw, 2**53) for raw in said[topic, job]]
    return [value.version for value in values]  # type: ignore[union-attr]


def ending_jobs(count: int) -> Cluster:
    """Jobs of 25 seconds, one every 30, and then two quiet minutes in which one job goes on."""
    cluster = Cluster()
    cluster.wire()
    for number in range(count):
        cluster.live(f"j{number:02d}", 30 * number, 25)
    cluster.live("last", 30 * count, 150)
    return cluster


def returning_job(pause_s: int) -> Cluster:
    """A job that ends and comes back under its name, while another one goes on."""
    cluster = Cluster()
    cluster.wire()
    cluster.live("other", 0, 60 + pause_s + 60)
    cluster.live("j", 0, 40)
    cluster.live("j", 50 + pause_s, 40, version=7)
    return cluster


def test_many_jobs_one_after_another_leave_little_behind() -> None:
    few, many = (over_kafka(ending_jobs(count))[1].table for count in (6, 24))
    left = {name.split(b"|")[2] for name in many} - {b"mark"}
    assert left == {b"part/", b"part/last", b"part/f"}, "all others are forgotten"
    assert len(many) == len(few)
    grown = sum(map(len, many.values())) - sum(map(len, few.values()))
    assert grown < 18 * 3 * 60, "less than 60 bytes a forgotten job and stage"


@pytest.mark.parametrize("pause_s", [5, 300], ids=["not forgotten yet", "forgotten"])
def test_versions_of_a_job_that_comes_back_go_on(pause_s: int) -> None:
    said, _ = locally(returning_job(pause_s))
    for topic in ("skeleton-updates", "probe-plans", "job-fabrics"):
        found = versions(said, topic)
        assert len(found) > 1 and found == sorted(set(found)), topic
        assert found[0] == 1


def test_stragglers_of_a_forgotten_job_make_up_nothing_and_are_counted() -> None:
    cluster = returning_job(600)
    before, stages = locally(cluster)
    late = {fold.stage.name: fold.counts().late for fold in stages.folds}
    for second in range(300, 360):
        cluster.probe("j", second, lost=True)
        cluster.count("j", second)
    cluster.place("j", 361, 2, "ended")
    after, stages = locally(cluster)
    assert after == before
    counted = {fold.stage.name: fold.counts().late - late[fold.stage.name] for fold in stages.folds}
    assert counted == {"skeleton": 121, "detection": 121, "fabric": 0, "planner": 1}


def test_a_silent_job_that_nobody_ended_is_taken_up_where_it_was() -> None:
    cluster = Cluster()
    cluster.wire()
    cluster.live("other", 0, 4000)
    cluster.place("j", 1, 1)
    for second in (*range(2, 30), *range(3900, 3930)):
        cluster.probe("j", second)
    said, stages = locally(cluster)
    detection = next(fold for fold in stages.folds if fold.stage.name == "detection")
    assert detection.states["j"].map_version == 1 and detection.states["j"].judge.pairs.names
    assert not detection.memory.remnants and "j" in stages.folds[-1].states, "the planner hears nothing of a living job"
    assert versions(said, "probe-plans") == [1]


def test_versions_after_all_that_is_remembered_are_times_of_day() -> None:
    said, stages = locally(returning_job(4000))
    assert versions(said, "skeleton-updates")[:2] == [1, 2]
    later = BEGIN_US // SECOND_US + 4050
    for topic in ("skeleton-updates", "probe-plans"):
        assert min(found for found in versions(said, topic) if found > 100) >= later - 1, topic
    assert all("j" not in fold.memory.remnants or fold.memory.remnants["j"].ended for fold in stages.folds)


def test_versions_go_on_when_all_is_folded_again_after_an_upgrade() -> None:
    _, kafka = over_kafka(returning_job(5))
    before = {topic: newest(kafka, topic) for topic in ("skeleton-updates", "probe-plans", "job-fabrics")}
    worker = MemoryWorker(kafka, pipeline(STAGES, 1), seed=2, checkpoint_s=10)
    worker.parameters = replace(SOON, detection=replace(SOON.detection, stable_s=16.0))
    worker.run()
    for topic, version in before.items():
        assert newest(kafka, topic) >= BEGIN_US // SECOND_US > version > 1, topic


def newest(kafka: MemoryKafka, topic: str) -> int:
    """The version of a job's last message."""
    records = [record for record in kafka.logs[topic, 0] if record.key == b"j"]
    return versions({(topic, "j"): [records[-1].value]}, topic)[0]


@pytest.mark.parametrize(("partitions", "pause_s", "seed"), [(1, 5, 1), (1, 100, 2), (2, 100, 3), (3, 100, 4)], ids=str)
def test_forgetting_is_the_same_over_partitions_and_crashes(partitions: int, pause_s: int, seed: int) -> None:
    cluster = returning_job(pause_s)
    for second in range(130, 140):
        cluster.probe("j", second, lost=True)
    crashes = sorted(random.Random(seed).sample(range(1, 3000 * partitions), 6))
    said, _ = over_kafka(cluster, partitions, crashes)
    expected, stages = locally(cluster)
    assert said.keys() == expected.keys()
    for about, messages in expected.items():
        assert sorted(said[about]) == sorted(messages), about
    assert any(fold.memory.counts.late for fold in stages.folds) == (pause_s == 100)
