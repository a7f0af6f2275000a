"""The short way of a record into a stage leaves behind what the long way leaves, whatever comes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.codec import FUTURE_BOUND_US, encode
from schemas.envelope import Message, Value
from schemas.instants import SECOND_US
from streams import runner as runners
from streams.dead_letters import DeadLetterRate
from streams.fold import StageFold
from streams.intake import take_usual
from streams.parameters import Parameters
from streams.ports import Outgoing
from streams.records import Record
from streams.runner import Effects, PartitionRunner
from streams.sequencer import FAR_US
from streams.stages import STAGES
from streams.ticker import clock_tick
from streams.topology import pipeline
from tests.laws.test_packing_laws import TOPIC, message, train
from tests.memory_kafka import MemoryKafka, _receive
from tests.toys import at

SECONDS, OF_ONE = 75, 3
STRANGE = 20
"""One of so many messages is not what is usual."""
RESULTS = (train((1, 0, 3, 1, 5, None)), train((2, 1, 3, 0, 6, 1.0)))


@dataclass
class Ways:
    """How many records went each way."""

    short: int = 0
    long: int = 0

    def take(
        self, fold: StageFold, held: dict[int, int], batch: Sequence[tuple[Record, Value | None]], at: int, come_us: int
    ) -> int:
        """The short way."""
        end = take_usual(fold, held, batch, at, come_us)
        self.short, self.long = self.short + end - at, self.long + (end < len(batch))
        return end


def arrivals(draw: random.Random) -> Iterator[list[Outgoing]]:
    """By second: probe results of four agents with endpoints of their own, and of what may go wrong something."""
    numbers, before = count(1), list[Outgoing]()
    for second in range(SECONDS):
        sent = []
        for agent in range(4):
            boot = f"b{second // 31 if agent == 0 else 0}"  # one is started again
            for endpoint in range(OF_ONE):
                value = probes(second + draw.random(), next(numbers), f"c{agent}", boot, f"c{agent}/{endpoint}")
                if draw.randrange(STRANGE):
                    sent.append(line(value))
                else:
                    sent += strange(draw, value, before, agent == 1)
        before = sent
        yield sent


def probes(t_s: float, seq: int, agent: str, boot: str, src: str) -> Message:
    value = message(RESULTS, 1, seq)
    producer = msgspec.structs.replace(value.producer, id=f"agent:{agent}/{TOPIC}", boot=boot)
    return msgspec.structs.replace(value, t_us=at(t_s), producer=producer, src=src)


def line(value: Message, key: bytes | None = b"j", early_us: int = 0) -> Outgoing:
    return Outgoing(TOPIC, key, encode(TOPIC, value), value.t_us - early_us, 0)


def strange(draw: random.Random, value: Message, before: list[Outgoing], contested: bool) -> list[Outgoing]:
    """A message that is late, early, far ahead, another's, of a wrong key, no message, or comes again."""
    change, again = msgspec.structs.replace, [draw.choice(before)] if before else []
    if contested:
        others = change(value.producer, id=f"agent:c9/{TOPIC}"), change(value.producer, boot="b9")
        return [line(change(value, producer=draw.choice(others))), line(value)]
    return draw.choice(
        (
            [line(change(value, t_us=value.t_us - draw.randrange(20) * SECOND_US))],
            [line(change(value, t_us=value.t_us + draw.randrange(9) * SECOND_US))],
            [line(change(value, t_us=value.t_us + FAR_US + SECOND_US))],
            [line(value, early_us=FUTURE_BOUND_US + 1)],
            [line(change(value, job="k"), b"k")],
            [line(value, b"k"), line(value, None), line(value, b"\xff")],
            [Outgoing(TOPIC, b"j", b"{", value.t_us, 0)],
            [line(value), line(change(value, plan_version=7))],
            [line(value), *again],
        )
    )


async def live(kafka: MemoryKafka, runner: PartitionRunner, seed: int) -> None:
    for second, sent in enumerate(arrivals(random.Random(seed))):
        for outgoing in sent:
            kafka.append(outgoing)
        for record in kafka.logs[TOPIC, 0][-len(sent) :]:
            _receive(runner, record)
        kafka.append(clock_tick(at(second + 1), {(TOPIC, 0): len(kafka.logs[TOPIC, 0])}, 0))
        if _receive(runner, kafka.logs["ticks", 0][-1]):
            await runner.proceed()


def outcome(seed: int) -> list[object]:
    """All that a stage has sent, and all that its intake knows then."""
    kafka = MemoryKafka(1)
    fold = StageFold(STAGES["detection"], Parameters())
    effects = Effects(kafka, kafka, kafka, DeadLetterRate(10_000))
    runner = PartitionRunner(pipeline(("detection",), 1).post("detection", 0), fold, effects, 7, 10**6)
    runner.restore({})
    asyncio.run(live(kafka, runner, seed))
    waiting = {key: {s: list(bucket) for s, bucket in each.waiting.items()} for key, each in fold.sequencers.items()}
    settled = {key: each.settled() for key, each in fold.sequencers.items()}
    return [dict(kafka.logs), kafka.committed, fold.counts(), fold.claims, settled, waiting, runner.inbox.safe()]


@given(st.integers(0, 2**32))
@settings(max_examples=5)
def test_both_ways_leave_the_same_behind(seed: int) -> None:
    ways = Ways()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runners, "take_usual", ways.take)
        short = outcome(seed)
        patch.setattr(runners, "take_usual", lambda _fold, _held, _batch, at, _come_us: at)
        assert outcome(seed) == short
    assert min(ways.short, ways.long) > 100
