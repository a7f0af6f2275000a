"""One stage at work on a whole fleet as a worker runs it: records in bytes, barrier, sequencer, fold, checkpoint.

What runs is ``streams.runner.PartitionRunner`` with everything in one partition; only its ports are others: what it
sends and writes down is counted, or kept as records for the stages after it. A second of event time is given to it as
Kafka would: records, then the clock's tick and those of the stages before it.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from benchmarks.fleet_load import Sent
from schemas.control import Tick
from streams.barrier import CLOCK
from streams.dead_letters import DeadLetterRate
from streams.fold import StageFold
from streams.parameters import Parameters
from streams.ports import Outgoing, Written
from streams.records import Record
from streams.runner import TICKS, Effects, PartitionRunner
from streams.stages import STAGES
from streams.topology import Pipeline, pipeline, tick_source

MAX_BYTES = 16 * 1024 * 1024
WHOLE: Pipeline = pipeline(tuple(STAGES), 1)


class _There:
    """What is written at once."""

    def __init__(self, written: Written) -> None:
        self._written = written

    def __await__(self) -> Generator[object, None, Written]:
        return self._written
        yield


@dataclass
class CountingPorts:
    """Outbox, shelf and offsets that count; what is sent is kept until it is taken."""

    messages: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    kept: list[Sent] = field(default_factory=list)
    checkpoints: int = 0
    shelved_bytes: int = 0
    shelving_s: float = 0.0

    async def send(self, record: Outgoing) -> Awaitable[Written]:
        """Takes the record."""
        offset = self.messages[record.topic]
        self.messages[record.topic] += 1
        self.bytes[record.topic] += len(record.value) + len(record.key or b"")
        if record.topic != TICKS:
            self.kept.append(Sent(record.topic, record.key or b"", record.arrival_us, record.value))
        return _There(Written(0, offset))

    def rows(self) -> Mapping[bytes, bytes]:
        """Nothing: the stage begins anew."""
        return {}

    async def put(self, _partition: int, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Counts the rows of a checkpoint."""
        begin = time.process_time()
        self.shelved_bytes += sum(len(name) + len(row) for name, row in rows)
        self.shelving_s += time.process_time() - begin
        self.checkpoints += 1

    def let_go(self, _stage: str, _partition: int, _safe: Mapping[str, int]) -> None:
        """Offsets are not needed here."""


@dataclass
class StageAtWork:
    """A stage, and what it has cost so far. ``cpu_s``: processor seconds, by second of event time. ``said``: a digest
    of all that it has sent, by which two versions of a program can be compared.
    """

    name: str
    checkpoint_s: float = 10.0
    cpu_s: list[float] = field(default_factory=list)
    received: Counter[str] = field(default_factory=Counter)
    received_bytes: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.ports, self.said = CountingPorts(), blake2b(digest_size=8)
        self.letters = DeadLetterRate(1)
        effects = Effects(self.ports, self.ports, self.ports, self.letters)
        fold = StageFold(STAGES[self.name], Parameters())
        self.runner = PartitionRunner(WHOLE.post(self.name, 0), fold, effects, self.checkpoint_s, MAX_BYTES)
        self._ticks = 0

    def second(self, t_us: int, sent: Sequence[Sent], offsets: Mapping[str, int]) -> list[Sent]:
        """Lets one second pass: all that came before the tick ``t_us``; returns what the stage sent."""
        mine = [each for each in sent if each.topic in self.runner.post.topics]
        begin = time.process_time()
        asyncio.run(self._work(t_us, mine, offsets))
        self.cpu_s.append(time.process_time() - begin)
        for each in mine:
            self.received_bytes[each.topic] += len(each.value) + len(each.key)
        kept, self.ports.kept = self.ports.kept, []
        for said in kept:
            self.said.update(said.topic.encode() + said.key + said.value)
        return kept

    @property
    def checkpoint_s_spent(self) -> float:
        """Processor seconds of checkpoints so far."""
        return self.ports.shelving_s

    async def _work(self, t_us: int, sent: Iterable[Sent], offsets: Mapping[str, int]) -> None:
        received, receive = self.received, self.runner.inbox.receive  # as a worker does with what it gets at a time
        for topic, key, arrival_us, value in sent:
            receive(Record(topic, 0, received[topic], key, value, arrival_us))
            received[topic] += 1
        sources = (CLOCK, *(tick_source(name, 0) for name in STAGES[self.name].upstream))
        for source in sources:
            named = {topic: end for topic, end in offsets.items() if topic in self.runner.post.raw}
            self.runner.note(Tick(t_us=t_us, source=source, offsets=named if source == CLOCK else {}), self._ticks)
            self._ticks += 1
        await self.runner.proceed()
