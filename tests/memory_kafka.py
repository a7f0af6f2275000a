"""Kafka and Faust as far as a runner sees them, in memory: logs, a table, and crashes wherever something has an effect.

``run`` drives a whole pipeline over several partitions, handing over records in any order that Kafka could, and starts
runners anew from the table after each crash, as a worker does.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, field
from zlib import crc32

from schemas.codec import decode
from schemas.control import Tick
from schemas.envelope import Message
from skeletonhunter.recordings.ticks import EventClock
from streams.dead_letters import DeadLetterRate
from streams.fold import StageFold
from streams.local import LocalPipeline
from streams.offsets import Spot
from streams.ports import Outgoing, Written
from streams.records import Record
from streams.runner import TICKS, Effects, PartitionRunner
from streams.ticker import clock_tick
from streams.topology import Pipeline
from tests.toys import PARAMETERS


class CrashError(Exception):
    """The worker is killed here."""


@dataclass
class MemoryKafka:
    """Logs by topic and partition, and a table with its changelog. ``crashes``: after how many effects to be killed."""

    partitions: int
    crashes: list[int] = field(default_factory=list)
    logs: dict[Spot, list[Record]] = field(default_factory=lambda: defaultdict(list))
    table: dict[bytes, bytes] = field(default_factory=dict)
    committed: dict[tuple[str, Spot], int] = field(default_factory=dict)
    effects: int = 0

    def append(self, outgoing: Outgoing) -> Written:
        """Writes a record."""
        partition = outgoing.partition
        if partition is None:
            partition = crc32(outgoing.key or b"") % self.partitions
        log = self.logs[outgoing.topic, partition]
        log.append(Record(outgoing.topic, partition, len(log), outgoing.key, outgoing.value, outgoing.arrival_us))
        return Written(partition, len(log) - 1)

    def _effect(self) -> None:
        self.effects += 1
        if self.crashes and self.effects >= self.crashes[0]:
            self.crashes.pop(0)
            raise CrashError

    async def send(self, record: Outgoing) -> Awaitable[Written]:
        """The outbox: a crash may come before the record is written, and after."""
        self._effect()
        written: asyncio.Future[Written] = asyncio.get_running_loop().create_future()
        written.set_result(self.append(record))
        self._effect()
        return written

    def rows(self) -> Mapping[bytes, bytes]:
        """The shelf."""
        return dict(self.table)

    async def put(self, partition: int, rows: Iterable[tuple[bytes, bytes | None]]) -> None:
        """The shelf: a crash may come between any two rows."""
        for name, row in rows:
            self._effect()
            if row is None:
                self.table.pop(name, None)
            else:
                self.table[name] = row
        self._effect()

    def let_go(self, stage: str, partition: int, safe: Mapping[str, int]) -> None:
        """The offsets."""
        for topic, offset in safe.items():
            self.committed[stage, (topic, partition)] = offset

    def ends(self) -> dict[Spot, int]:
        """Where the logs end."""
        return {spot: len(log) for spot, log in self.logs.items()}


def publish(kafka: MemoryKafka, lines: Iterable[Outgoing], raw: tuple[str, ...]) -> None:
    """A recording's lines with their ticks, as the publisher of a replay writes them."""
    clock = EventClock()
    for line in lines:
        value = decode(line.topic, line.key, line.value, line.arrival_us)
        for t_us in clock.pass_to(value.t_us, line.arrival_us):  # type: ignore[attr-defined]
            _tick(kafka, t_us, raw)
        kafka.append(line)
    assert clock.now_us is not None
    _tick(kafka, clock.now_us, raw, final=True)


def _tick(kafka: MemoryKafka, t_us: int, raw: tuple[str, ...], final: bool = False) -> None:
    ends = {spot: end for spot, end in kafka.ends().items() if spot[0] in raw}
    for partition in range(kafka.partitions):
        kafka.append(clock_tick(t_us, ends, partition, final))


class MemoryWorker:
    """Runs all stages over all partitions till nothing is left to do."""

    parameters = PARAMETERS

    def __init__(self, kafka: MemoryKafka, pipeline: Pipeline, seed: int, checkpoint_s: float) -> None:
        self.kafka = kafka
        self.pipeline = pipeline
        self.random = random.Random(seed)
        self.checkpoint_s = checkpoint_s
        self.starts = 0

    def run(self) -> None:
        """Until the final tick has come out everywhere, however often it is killed."""
        while True:
            self.starts += 1
            try:
                asyncio.run(self._live())
            except CrashError:
                continue
            return

    async def _live(self) -> None:
        runners, read = self._restored()
        while spots := [spot for spot in read if read[spot] < len(self.kafka.logs[spot[1]])]:
            stage, place = self.random.choice(spots)
            record = self.kafka.logs[place][read[stage, place]]
            read[stage, place] += 1
            runner = runners[stage, place[1]]
            if _receive(runner, record):
                await runner.proceed()

    def _restored(self) -> tuple[dict[tuple[str, int], PartitionRunner], dict[tuple[str, Spot], int]]:
        runners, read = {}, {}
        effects = Effects(self.kafka, self.kafka, self.kafka, DeadLetterRate(100))
        for name, stage in self.pipeline.stages.items():
            for partition in range(self.kafka.partitions):
                post = self.pipeline.post(name, partition)
                runner = PartitionRunner(post, StageFold(stage, self.parameters), effects, self.checkpoint_s, 10**6)
                positions = runner.restore({})
                runners[name, partition] = runner
                read |= {(name, (topic, partition)): positions[topic] for topic in (*post.topics, TICKS)}
        return runners, read


def _receive(runner: PartitionRunner, record: Record) -> bool:
    if record.topic != TICKS:
        return runner.receive(record)
    tick = decode(TICKS, record.key, record.value, record.arrival_us)
    assert isinstance(tick, Tick)
    return runner.note(tick, record.offset)


def play(local: LocalPipeline, arrivals: Iterable[Outgoing]) -> None:
    """The same arrivals through a pipeline without Kafka, time passing as a replay lets it."""
    clock = EventClock()
    for line in arrivals:
        value = decode(line.topic, line.key, line.value, line.arrival_us)
        assert isinstance(value, Message) and line.key is not None
        for t_us in clock.pass_to(value.t_us, line.arrival_us):
            local.advance(Tick(t_us=t_us, source="clock", offsets={}))
        local.admit(line.topic, line.key.decode(), value)
    assert clock.now_us is not None
    local.advance(Tick(t_us=clock.now_us, source="clock", offsets={}, final=True))
