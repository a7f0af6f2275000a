"""How far agents have come is read from the log of their heartbeats, and the last tick from that of the ticks."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator

import msgspec
import pytest
from confluent_kafka import Producer

from schemas.instants import SECOND_US
from skeletonhunter.settings import Settings
from skeletonhunter.working import topic_admin, worker_setup
from streams.heartbeats import TOPIC, Heartbeats
from streams.runner import TICKS
from streams.settling import Beat, BeatClock
from streams.topic_admin import TopicAdmin, TopicError, plan_topics
from tests.kafka_bench import EMBEDDED, kafka_settings

pytestmark = pytest.mark.kafka

PARTITIONS = 2
PATIENCE_S = 20.0


@pytest.fixture
def settings(broker: str) -> Iterator[Settings]:
    """Ticks and heartbeats under a prefix of their own."""
    kafka = kafka_settings(broker, PARTITIONS, prefix=f"heartbeats-{secrets.token_hex(4)}-")
    settings = msgspec.structs.replace(Settings(), kafka=kafka)
    admin = topic_admin(settings)
    admin.ensure([plan for plan in plan_topics(1_000_000) if plan.name in (TICKS, TOPIC)], PARTITIONS, 1)
    yield settings
    admin.delete(admin.existing())


def write(settings: Settings, topic: str, partition: int, value: bytes, t_us: int) -> None:
    """Writes a record of that time."""
    producer = Producer({"bootstrap.servers": settings.kafka.url})
    producer.produce(settings.kafka.prefix + topic, value, partition=partition, timestamp=t_us // 1000)
    producer.flush()


def beat(agent: str, t_us: int) -> Beat:
    """A heartbeat."""
    return Beat("f", agent, "ok", t_us, BeatClock(0.0))


def everything(heartbeats: Heartbeats, number: int) -> list[Beat]:
    """What comes until there are so many and nothing more is there."""
    found: list[Beat] = []
    ends_s = time.monotonic() + PATIENCE_S
    while len(found) < number or not heartbeats.has_all:
        assert time.monotonic() < ends_s, found
        found += heartbeats.read()
    return found


def test_heartbeats_since_an_instant_are_read_and_then_as_they_come(settings: Settings) -> None:
    now_us = time.time_ns() // 1000 // SECOND_US * SECOND_US
    beats = [beat(agent, now_us + second * SECOND_US) for second in (-90, -20, -10) for agent in ("a", "b")]
    for number, each in enumerate(beats):
        write(settings, TOPIC, number % PARTITIONS, msgspec.json.encode(each), each.t_us)
    write(settings, TOPIC, 0, b"{broken", now_us)
    heartbeats = Heartbeats(worker_setup(settings), now_us - 60 * SECOND_US)
    try:
        found = everything(heartbeats, 4)
        assert {(each.agent, each.t_us) for each in found} >= {(each.agent, each.t_us) for each in beats[2:]}
        if not EMBEDDED:  # which tells of no instant where it lies in a log
            assert len(found) == 4
        write(settings, TOPIC, 1, msgspec.json.encode(beat("a", now_us)), now_us)
        assert everything(heartbeats, 1) == [beat("a", now_us)]
    finally:
        heartbeats.close()


def newest_us(admin: TopicAdmin) -> int | None:
    """The newest tick; a broker does not tell at once who leads topics that have just been made."""
    ends_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            return admin.newest_us(TICKS, PARTITIONS)
        except TopicError:
            assert time.monotonic() < ends_s
            time.sleep(0.1)


@pytest.mark.skipif(EMBEDDED, reason="the embedded broker does not tell which of its records is the newest")
def test_the_newest_tick_is_told(settings: Settings) -> None:
    admin = topic_admin(settings)
    assert newest_us(admin) is None
    now_us = time.time_ns() // 1000 // SECOND_US * SECOND_US
    for partition, behind_s in ((0, 5), (1, 3), (1, 4)):
        write(settings, TICKS, partition, b"{}", now_us - behind_s * SECOND_US)
    assert newest_us(admin) == now_us - 3 * SECOND_US
