"""A record that is missing is read again, one that does not exist is passed over: the broker is asked which it is."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import faust
import msgspec
import pytest
from confluent_kafka import Producer

from schemas.control import Tick
from skeletonhunter.settings import Settings
from skeletonhunter.working import topic_admin, worker_setup
from streams.barrier import CLOCK
from streams.fold import StageFold
from streams.healing import AnotherLogError, Healer, Scout
from streams.runner import Effects, PartitionRunner
from streams.setup import WorkerSetup
from streams.topic_admin import TopicAdmin, plan_topics
from streams.topology import pipeline
from tests.kafka_bench import EMBEDDED, kafka_settings
from tests.toy_pipeline import TOYS
from tests.toys import PARAMETERS

pytestmark = pytest.mark.kafka

beyond_the_end = pytest.mark.skipif(EMBEDDED, reason="the embedded broker does not answer beyond the end of a log")

TOPIC = "job-progress"
RECORDS = 5


@pytest.fixture
def setup(broker: str) -> Iterator[WorkerSetup]:
    """A topic with some records in its only partition."""
    kafka = kafka_settings(broker, partitions=1, prefix=f"healing-{secrets.token_hex(4)}-")
    settings = msgspec.structs.replace(Settings(), kafka=kafka)
    admin = topic_admin(settings)
    admin.ensure([plan for plan in plan_topics(1_000_000) if plan.name == TOPIC], 1, 1)
    producer = Producer({"bootstrap.servers": broker})
    for _ in range(RECORDS):
        producer.produce(kafka.prefix + TOPIC, b"x", key=b"k")
    producer.flush()
    yield worker_setup(settings)
    admin.delete(admin.existing())


@dataclass
class Seeks:
    """The one thing that a healer does to Faust."""

    seeks: list[tuple[str, int, int]] = field(default_factory=list)

    async def seek(self, spot: Any, offset: int) -> None:
        self.seeks.append((spot.topic, spot.partition, offset))


@dataclass
class AppWithConsumer:
    """A Faust app that only seeks."""

    consumer: Seeks = field(default_factory=Seeks)


def runner_at(position: int) -> PartitionRunner:
    """A runner that has read up to here."""
    post = pipeline(tuple(TOYS), 1, TOYS).post("steps", 0)
    runner = PartitionRunner(post, StageFold(TOYS["steps"], PARAMETERS), cast(Effects, None), 10, 10**6)
    runner.skip(TOPIC, position)
    return runner


def test_the_scout_finds_records_and_the_end(setup: WorkerSetup) -> None:
    scout = Scout(setup)
    assert scout.next_offset((TOPIC, 0), 0) == (0, True)
    assert scout.next_offset((TOPIC, 0), RECORDS - 1) == (RECORDS - 1, True)
    assert scout.next_offset((TOPIC, 0), RECORDS) == (RECORDS, False)


def test_what_is_there_is_read_again_once_in_a_while(setup: WorkerSetup) -> None:
    app, runner = AppWithConsumer(), runner_at(2)
    healer = Healer(cast(faust.App, app), setup)

    async def ask_twice() -> None:
        await healer.close_hole(runner, TOPIC)
        await healer.close_hole(runner, TOPIC)

    asyncio.run(ask_twice())
    assert app.consumer.seeks == [(setup.prefix + TOPIC, 0, 2)]
    assert runner.expects(TOPIC) == 2


def test_time_that_waits_for_what_is_there_lets_it_be_read_again(setup: WorkerSetup) -> None:
    app, runner = AppWithConsumer(), runner_at(2)
    asyncio.run(Healer(cast(faust.App, app), setup).look_into(runner, {TOPIC: 4}))
    assert app.consumer.seeks == [(setup.prefix + TOPIC, 0, 2)]


def test_time_that_waits_for_what_does_not_exist_goes_on(setup: WorkerSetup) -> None:
    """And what is written there later is not passed over."""
    app, runner = AppWithConsumer(), runner_at(RECORDS)
    runner.note(Tick(t_us=1_000_000, source=CLOCK, offsets={TOPIC: RECORDS + 3}), 0)
    assert runner.missing() == {TOPIC: RECORDS + 3}
    asyncio.run(Healer(cast(faust.App, app), setup).look_into(runner, runner.missing()))
    assert not app.consumer.seeks
    assert TOPIC not in runner.missing()
    assert runner.expects(TOPIC) == RECORDS


@beyond_the_end
def test_a_log_that_began_anew_is_noticed_by_a_record_before_the_last_one(setup: WorkerSetup) -> None:
    app, runner = AppWithConsumer(), runner_at(RECORDS + 20)
    with pytest.raises(AnotherLogError, match=f"{TOPIC}, partition 0, began anew: it was read up to offset 25 and is"):
        asyncio.run(Healer(cast(faust.App, app), setup).look_back(runner, TOPIC))


@beyond_the_end
def test_a_log_that_began_anew_is_noticed_by_time_that_stands_still(setup: WorkerSetup) -> None:
    app, runner = AppWithConsumer(), runner_at(RECORDS + 20)
    with pytest.raises(AnotherLogError, match="began anew"):
        asyncio.run(Healer(cast(faust.App, app), setup).look_into(runner, {TOPIC: RECORDS + 30}))


@pytest.mark.parametrize("position", [0, 2, RECORDS])
def test_a_log_in_which_somebody_has_gone_back_is_the_same(setup: WorkerSetup, position: int) -> None:
    app, runner = AppWithConsumer(), runner_at(position)
    asyncio.run(Healer(cast(faust.App, app), setup).look_back(runner, TOPIC))
    assert runner.expects(TOPIC) == position


@pytest.mark.parametrize(
    ("position", "beginning"), [(RECORDS, None), (2, None), pytest.param(RECORDS + 20, 0, marks=beyond_the_end)]
)
def test_a_worker_that_starts_finds_the_beginning_of_a_new_log(
    setup: WorkerSetup, position: int, beginning: int | None
) -> None:
    healer = Healer(cast(faust.App, AppWithConsumer()), setup)
    assert asyncio.run(healer.find_beginning((TOPIC, 0), position)) == beginning


@beyond_the_end
def test_a_new_log_that_is_empty_begins_where_all_begin(setup: WorkerSetup) -> None:
    admin = TopicAdmin(",".join(setup.brokers), setup.prefix, {})
    admin.ensure([plan for plan in plan_topics(1_000_000) if plan.name == "anomalies"], 1, 1)
    healer = Healer(cast(faust.App, AppWithConsumer()), setup)
    assert asyncio.run(healer.find_beginning(("anomalies", 0), 3)) == 0
