"""What Kafka does to the order, how it is partitioned, and when workers are killed must not show in what comes out."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.codec import decode, encode, key_of
from schemas.diagnosis import Incident
from schemas.folding import Emission
from streams.local import LocalPipeline
from streams.ports import Outgoing
from streams.topology import Pipeline, pipeline
from tests.memory_kafka import MemoryKafka, MemoryWorker, play, publish
from tests.toy_pipeline import TOYS
from tests.toy_recordings import toy_messages
from tests.toys import PARAMETERS

SECONDS = 20


def lines(seed: int | None, latest_s: float = 4.9) -> list[Outgoing]:
    """The toy messages as they arrive; with a seed up to ``latest_s`` late."""
    delays = random.Random(seed)
    found = []
    for topic, message in toy_messages(SECONDS):
        delay_us = 10_000 if seed is None else round(delays.uniform(0, latest_s) * 1e6)
        raw = encode(topic, message)
        found.append(Outgoing(topic, key_of(topic, message).encode(), raw, message.t_us + delay_us))
    return sorted(found, key=lambda line: line.arrival_us)


def by_the_local_pipeline(arrivals: list[Outgoing]) -> dict[str, bytes]:
    """Last states of the incidents by the local pipeline, which has no Kafka, no partitions and no crashes."""
    said: dict[str, bytes] = {}

    def take(emission: Emission) -> None:
        if isinstance(emission.value, Incident):
            said[emission.value.incident] = encode("incidents", emission.value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streams.local.STAGES", TOYS)
        local = LocalPipeline(PARAMETERS, take, tuple(TOYS))
    play(local, arrivals)
    return said


@pytest.fixture(scope="module")
def expected() -> dict[str, bytes]:
    """What comes out when nothing is late."""
    found = by_the_local_pipeline(lines(None))
    assert len(found) > SECONDS // 5
    return found


def over_kafka(
    partitions: int, seed: int, shuffled: bool, crashes: list[int], arrivals: list[Outgoing] | None = None
) -> tuple[MemoryKafka, MemoryWorker]:
    """One run."""
    stages: Pipeline = pipeline(tuple(TOYS), partitions, TOYS)
    kafka = MemoryKafka(partitions)
    publish(kafka, lines(seed if shuffled else None) if arrivals is None else arrivals, stages.raw)
    kafka.crashes = crashes
    worker = MemoryWorker(kafka, stages, seed, checkpoint_s=3)
    worker.run()
    return kafka, worker


def last_states(kafka: MemoryKafka) -> dict[str, bytes]:
    """Incidents after compaction by key."""
    logs = [log for (topic, _), log in kafka.logs.items() if topic == "incidents"]
    return {(record.key or b"").decode(): record.value for log in logs for record in log}


@settings(max_examples=25, deadline=None)
@given(partitions=st.integers(1, 4), seed=st.integers(0, 10**6), shuffled=st.booleans())
def test_partitions_and_the_order_of_reading_and_arrival_do_not_show(
    expected: dict[str, bytes], partitions: int, seed: int, shuffled: bool
) -> None:
    kafka, _ = over_kafka(partitions, seed, shuffled, [])
    assert last_states(kafka) == expected


@settings(max_examples=40, deadline=None)
@given(
    partitions=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    crashes=st.lists(st.integers(1, 400), min_size=1, max_size=6, unique=True).map(sorted),
)
def test_a_kill_at_any_effect_does_not_show(
    expected: dict[str, bytes], partitions: int, seed: int, crashes: list[int]
) -> None:
    kafka, worker = over_kafka(partitions, seed, True, crashes)
    assert worker.starts > 1
    assert last_states(kafka) == expected


@settings(max_examples=15, deadline=None)
@given(partitions=st.integers(1, 3), seed=st.integers(0, 10**6), crashes=st.lists(st.integers(1, 300), max_size=2))
def test_what_is_late_is_late_for_all(partitions: int, seed: int, crashes: list[int]) -> None:
    """With delays beyond the bound some messages are left out: the same ones with and without Kafka."""
    arrivals = lines(seed, latest_s=15)
    kafka, _ = over_kafka(partitions, seed, True, sorted(crashes), arrivals)
    assert last_states(kafka) == by_the_local_pipeline(arrivals)


def test_every_record_is_let_go_of_in_the_end() -> None:
    kafka, _ = over_kafka(2, 5, True, [])
    ends = {(stage, spot): len(kafka.logs[spot]) for stage, spot in kafka.committed if spot[0] != "ticks"}
    assert {place: kafka.committed[place] for place in ends} == ends


def test_what_is_sent_twice_after_a_kill_has_the_same_bytes() -> None:
    kafka, worker = over_kafka(1, 5, False, [150, 300])
    assert worker.starts == 3
    said: dict[tuple[str, int], bytes] = {}
    repeats = 0
    for record in kafka.logs["incidents", 0]:
        value = decode("incidents", record.key, record.value, record.arrival_us)
        assert isinstance(value, Incident)
        turn = (value.producer.id, value.producer.seq)
        repeats += turn in said
        assert said.setdefault(turn, record.value) == record.value
    assert repeats > 0
