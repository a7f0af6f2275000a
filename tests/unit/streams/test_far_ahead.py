"""A message from hours ahead of its time, by a clock or a header that lies, holds up nobody and is told of."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec
import pytest

from schemas.codec import BadRecord, encode
from schemas.folding import TimeReached
from skeletonhunter.sinks.refused_rows import dead_letters
from streams.dead_letters import DeadLetterRate
from streams.fold import StageFold
from streams.ports import Outgoing
from streams.records import LATEST_US, Record, arrival_of
from streams.runner import Effects, PartitionRunner
from streams.sequencer import FAR_US
from streams.ticker import clock_tick
from streams.topology import pipeline
from tests.memory_kafka import MemoryKafka, _receive
from tests.toy_pipeline import TOYS, job_progress
from tests.toys import ECHO, PARAMETERS, at, device_event, tick

TOPIC, AHEAD_S = "job-progress", FAR_US / 1e6 + 120
YEARS_S = 200 * 365 * 86_400


def publish(kafka: MemoryKafka, offset_s: float, seq: int, agent: str = "j") -> None:
    """A training step, which arrives at once by the clock of whoever sent it."""
    value = job_progress(offset_s, seq, "j", "f", seq)
    producer = msgspec.structs.replace(value.producer, id=f"agent:{agent}/job-progress")
    value = msgspec.structs.replace(value, producer=producer)
    kafka.append(Outgoing(TOPIC, b"j", encode(TOPIC, value), value.t_us, 0))


def runner_on(kafka: MemoryKafka, earliest: Mapping[str, int] | None = None) -> PartitionRunner:
    effects = Effects(kafka, kafka, kafka, DeadLetterRate(100))
    fold = StageFold(TOYS["steps"], PARAMETERS)
    runner = PartitionRunner(pipeline(("steps",), 1, TOYS).post("steps", 0), fold, effects, 3, 10**6)
    runner.restore(earliest or {})
    return runner


async def live(kafka: MemoryKafka, runner: PartitionRunner, seconds: range, ahead: dict[int, float]) -> None:
    """A message and a tick a second; ``ahead`` says in which second there is a further one, and from how far ahead."""
    read = {TOPIC: 0, "ticks": 0}
    for second in seconds:
        publish(kafka, second - 0.5, second)
        if second in ahead:
            publish(kafka, second + ahead[second], second, "b")
        kafka.append(clock_tick(at(second), {(TOPIC, 0): len(kafka.logs[TOPIC, 0])}, 0))
        for topic, first in read.items():
            log = kafka.logs[topic, 0]
            for record in log[first:]:
                if _receive(runner, record):
                    await runner.proceed()
            read[topic] = len(log)


@pytest.mark.parametrize("ahead_s", [AHEAD_S, YEARS_S])
def test_offsets_move_on_and_nothing_waits(ahead_s: float) -> None:
    kafka = MemoryKafka(1)
    runner = runner_on(kafka)
    asyncio.run(live(kafka, runner, range(1, 40), {3: ahead_s, 20: ahead_s}))
    assert kafka.committed["steps", (TOPIC, 0)] > 30
    waiting = sum(len(bucket) for each in runner.fold.sequencers.values() for bucket in each.waiting.values())
    assert waiting <= 8  # of the seconds of the lateness bound
    assert (runner.fold.counts().late, runner.fold.counts().new) == (2, 39)


def test_after_a_gap_in_the_ticks_nobody_is_ahead() -> None:
    """All workers were away for hours; what was measured meanwhile counts."""
    kafka = MemoryKafka(1)
    runner = runner_on(kafka)
    asyncio.run(live(kafka, runner, range(1, 12), {}))
    for second in range(10_000, 10_010):
        publish(kafka, second - 0.5, second)
    asyncio.run(live(kafka, runner, range(10_010, 10_011), {}))
    assert runner.fold.counts().late == 0


def test_whose_clock_is_far_ahead_is_named() -> None:
    fold = StageFold(ECHO, PARAMETERS)
    fold.admit("device-events", "f", device_event(1, seq=1))
    fold.advance(tick(10))
    assert fold.admit("device-events", "f", device_event(10 + AHEAD_S, seq=1, agent="b")) == "late"
    [event, *_] = [e for e in fold.sequencers["f"].release(at(5), at(11)) if isinstance(e, TimeReached)]
    assert [(stray.producer, stray.lead_us > FAR_US) for stray in event.strays] == [("agent:b/device-events", True)]


def test_a_key_that_only_comes_from_far_ahead_is_nobody() -> None:
    fold = StageFold(ECHO, PARAMETERS)
    fold.admit("device-events", "f", device_event(1, seq=1))
    fold.advance(tick(10))
    assert fold.admit("device-events", "g", device_event(10 + AHEAD_S, seq=1)) == "late"
    assert set(fold.sequencers) == {"f"}
    assert fold.counts().late == 1


def test_a_letter_about_a_forged_arrival_can_be_sent() -> None:
    """Kafka refuses what is stamped an hour ahead; the worker would end at the record again and again."""
    kafka = MemoryKafka(1)
    runner = runner_on(kafka)
    kafka.append(Outgoing(TOPIC, b"j", b"{", 10**17, 0))
    asyncio.run(live(kafka, runner, range(1, 3), {}))
    [letter] = kafka.logs[f"{TOPIC}-dlq", 0]
    assert letter.arrival_us == at(1)


def test_no_time_stamp_is_beyond_what_columns_hold() -> None:
    arrivals = [arrival_of(None, each) for each in (-1, -(2**60), 0, 2**62)]
    arrivals.append(arrival_of([("arrival_us", b"9" * 18)], 0))
    assert arrivals == [0, 0, 0, LATEST_US, LATEST_US]
    record = Record(TOPIC, 0, 7, b"j", b"{", 0)
    rows = [(record._replace(arrival_us=each), BadRecord("malformed_json", "x")) for each in arrivals]
    assert dead_letters(rows)["dead_letters"].height == len(arrivals)
