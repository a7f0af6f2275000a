"""Who runs what in this process? One runner per stage and assigned partition; made, fed and dropped as Kafka assigns.

When partitions are assigned, Faust has read the table's changelog before the first record comes: then the runners take
up their states and say where to read on. When partitions are taken away their runners are told so, and have no effect
any more.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Mapping
from typing import Any

import faust
from faust.types import TP

from schemas.codec import BadRecord, decode
from schemas.control import Tick
from streams.barrier import CLOCK
from streams.dead_letters import DeadLetterRate
from streams.faust_ports import FaustOutbox, FaustShelf, beginnings, commit, ends, record_of, rewind
from streams.faust_transport import records_in
from streams.fold import StageFold
from streams.healing import AnotherLogError, Healer
from streams.offsets import SharedOffsets, Spot
from streams.patience import Patience
from streams.records import Record
from streams.runner import TICKS, Effects, PartitionRunner, Revoked
from streams.setup import WorkerSetup
from streams.topology import Pipeline

log = logging.getLogger(__name__)


class Worker:
    """The runners of one process."""

    def __init__(self, app: faust.App, table: Any, setup: WorkerSetup, pipeline: Pipeline) -> None:
        self.app = app
        self.changelog = table.changelog_topic_name.removeprefix(setup.prefix)
        self.setup = setup
        self.pipeline = pipeline
        self.offsets = SharedOffsets()
        self.received: Counter[str] = Counter()
        outbox = FaustOutbox(app, setup.prefix)
        self.sent = outbox.sent
        self.effects = Effects(
            outbox,
            FaustShelf(table),
            self.offsets,
            DeadLetterRate(setup.dead_letters_per_minute),
        )
        self.runners: dict[tuple[str, int], PartitionRunner] = {}
        self.healer = Healer(app, setup)
        self.patience: Patience | None = None
        """Of its ticker, if it has one."""
        self._waiting: dict[tuple[str, int], list[tuple[str, int, int]]] = {}
        self._reached: dict[tuple[PartitionRunner, str], int] = {}
        self._prefix_length = len(setup.prefix)
        posts = [pipeline.post(stage, 0) for stage in setup.stages]
        self._sources = {CLOCK.encode(), *(source.encode() for post in posts for source in post.upstream)}

    async def take(self, stage: str, message: Any) -> None:
        """Hands records to the runner of their stage and partition. What goes wrong there ends the whole worker."""
        runner = self.runners.get((stage, message.partition))
        topic, records = self._records(message)
        if runner is None:
            return
        await self._look_back(runner, records)
        for record in records:
            if record.offset <= runner.expects(topic) or await self._is_next(runner, record):
                runner.inbox.receive(record)
        if runner.is_due():
            await self._proceed(runner)

    async def take_tick(self, message: Any) -> None:
        """Hands ticks to the runners of their partition."""
        _, records = self._records(message)
        for runner in self._runners_of(message.partition):
            await self._look_back(runner, records)
        for record in records:
            tick = self._tick(record)
            for runner in self._runners_of(message.partition):
                if await self._is_next(runner, record):
                    runner.note(tick, record.offset)
        for runner in self._runners_of(message.partition):
            if runner.is_due():
                await self._proceed(runner)

    def _runners_of(self, partition: int) -> list[PartitionRunner]:
        """The runners of a partition, of all stages, as they are now."""
        places = [(stage, partition) for stage in self.setup.stages]
        return [self.runners[place] for place in places if place in self.runners]

    def _records(self, message: Any) -> tuple[str, list[Record]]:
        topic, records = message.topic[self._prefix_length :], records_in(message)
        self.received[topic] += len(records)
        return topic, [record_of(record, topic) for record in records]

    async def _is_next(self, runner: PartitionRunner, record: Record) -> bool:
        """Whether nothing that exists is missing before this record; what is ignored now will be read again."""
        if record.offset > runner.expects(record.topic):
            await self._ask(self.healer.close_hole(runner, record.topic))
        return record.offset <= runner.expects(record.topic)

    async def _look_back(self, runner: PartitionRunner, records: list[Record]) -> None:
        """Records of a topic came: if they lie before others that had come, has its log begun anew?"""
        place = runner, records[0].topic
        if records[0].offset <= self._reached.get(place, -1):
            await self._ask(self.healer.look_back(*place))
        self._reached[place] = records[-1].offset

    async def _ask(self, question: Awaitable[None]) -> None:
        """Lets the healer look; a log that is another one ends the worker."""
        try:
            await question
        except AnotherLogError as error:
            await self.app.crash(error)
            raise

    async def look_after(self) -> None:
        """Looks into partitions whose time has stood still since the last call."""
        waiting = {}
        for place, runner in list(self.runners.items()):
            missing = runner.missing()
            waiting[place] = [(topic, needed, runner.expects(topic)) for topic, needed in missing.items()]
            if waiting[place] == self._waiting.get(place):
                await self._ask(self.healer.look_into(runner, missing))
                await self._proceed(runner)
        self._waiting = waiting

    def _tick(self, record: Record) -> Tick | None:
        if record.key not in self._sources:
            return None
        try:
            tick = decode(TICKS, record.key, record.value, record.arrival_us)
        except BadRecord as error:
            log.warning(
                "the tick at offset %d of partition %d can't be used: %s", record.offset, record.partition, error
            )
            return None
        assert isinstance(tick, Tick)
        return tick

    async def _proceed(self, runner: PartitionRunner) -> None:
        try:
            await runner.proceed()
        except Revoked as error:
            log.info("%s was taken away", error)
        except Exception as error:
            await self.app.crash(error)
            raise

    async def restore(self) -> None:
        """Partitions have been assigned and the table is as it was: takes up the states."""
        self.drop()
        prefix, mine = self.setup.prefix, self.app.consumer.assignment()
        assigned = sorted(tp.partition for tp in mine if tp.topic == prefix + TICKS)
        topics = {TICKS, *(topic for stage in self.setup.stages for topic in self.pipeline.stages[stage].inputs)}
        spots = [(topic, number) for topic in topics for number in assigned]
        changelog = [(self.changelog, number) for number in assigned]
        missing = {topic for topic, number in (*spots, *changelog) if TP(prefix + topic, number) not in mine}
        if missing:
            log.warning("Kafka did not name all topics yet (%s): waiting until it does", ", ".join(sorted(missing)))
            return
        earliest = await beginnings(self.app, prefix, [*spots, *changelog])
        for stage in self.setup.stages:
            for number in assigned:
                here = {topic: offset for (topic, other), offset in earliest.items() if other == number}
                self._restore(stage, number, here)
        await self._follow_new_logs(await ends(self.app, prefix, spots))
        sought = self.offsets.take()
        await rewind(self.app, prefix, sought)
        for (_, number), runner in self.runners.items():
            for topic in (*runner.post.topics, TICKS):
                self._reached[runner, topic] = sought[topic, number] - 1
        log.info("at work on partitions %s of %s", assigned, ", ".join(self.setup.stages))

    async def _follow_new_logs(self, last: Mapping[Spot, int]) -> None:
        """What the states know of logs that are gone does not hold for those that have their names now."""
        for (stage, number), runner in self.runners.items():
            for topic in (*runner.post.topics, TICKS):
                position = runner.expects(topic)
                if position <= last[topic, number]:
                    continue
                begins = await self.healer.find_beginning((topic, number), position)
                if begins is not None:
                    log.error("%s: %s began anew, it is read from offset %d on", runner.post.source, topic, begins)
                    self.offsets.let_go(stage, number, runner.begin_again(topic, begins))

    def _restore(self, stage: str, partition: int, earliest: Mapping[str, int]) -> None:
        post = self.pipeline.post(stage, partition)
        fold = StageFold(post.stage, self.setup.parameters)
        runner = PartitionRunner(post, fold, self.effects, self.setup.checkpoint_s, self.setup.max_message_bytes)
        runner.checkpoint.begins = earliest[self.changelog]
        self.offsets.let_go(stage, partition, runner.restore(earliest))
        self.runners[stage, partition] = runner

    def drop(self) -> None:
        """Partitions were taken away; all are, before new ones come."""
        for runner in self.runners.values():
            runner.revoked = True
        self.runners.clear()
        self._reached.clear()
        self.offsets.forget()

    async def commit(self) -> None:
        """Moves the group's offsets."""
        if self.runners and not self.app.rebalancing:
            offsets = self.offsets.take()
            if not await commit(self.app, self.setup.prefix, offsets):
                self.offsets.put_back(offsets)
