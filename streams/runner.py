"""A stage at work on one partition of Kafka: in which order do reading, folding, sending and writing down happen?

On each tick that is due: (1) take in the records that count before it, (2) fold, (3) send what the engines say and wait
until the broker has it, (4) pass the tick on, with the offsets up to which the stage has written, (5) every
``checkpoint_s`` of time, or more rarely where states are large (``checkpoint.Pace``), write the changed states down,
wait until the changelog has them, and only then let go of the source offsets. A crash between any two steps repeats
some of them with the same bytes; readers know them by their ids.

The runner knows neither Faust nor Kafka, only ``streams.ports``. Several tasks of one event loop may feed it.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import thread_time

from schemas.codec import BadRecord, check_size, complete, encode, is_small
from schemas.control import Tick
from schemas.envelope import Message, Value
from schemas.folding import Emission
from schemas.instants import micros
from schemas.packing import AT_ONCE
from schemas.topics import topic as topic_spec
from streams.barrier import Barrier, moment_of
from streams.checkpoint import NOTHING, Checkpoint, DamagedError, Mark, Pace
from streams.dead_letters import LETTER_ROOM, DeadLetterRate, dead_letter, short_key
from streams.fold import StageFold
from streams.forgetting import LONG_AGO
from streams.inbox import Inbox
from streams.intake import take_usual
from streams.ports import Offsets, Outbox, Outgoing, Shelf, Written
from streams.records import TOMBSTONE, Record
from streams.shapes import shape_of
from streams.topology import Post

log = logging.getLogger(__name__)

TICKS = "ticks"


class Revoked(Exception):
    """The partition was taken away and goes on elsewhere; what is under way must have no effect any more."""


@dataclass(frozen=True, slots=True)
class Effects:
    """All through which a runner acts on the world."""

    outbox: Outbox
    shelf: Shelf
    offsets: Offsets
    letters: DeadLetterRate


class PartitionRunner:
    """One partition of one stage. ``receive`` records as they come; ``proceed`` whenever ``receive`` says so."""

    def __init__(self, post: Post, fold: StageFold, effects: Effects, checkpoint_s: float, max_bytes: int) -> None:
        self.post = post
        self.fold = fold
        self.effects = effects
        self.pace = Pace(micros(checkpoint_s), thread_time)
        self.max_bytes = max_bytes
        self.checkpoint = Checkpoint(post.stage.name, post.partition, shape_of(fold.parameters))
        self.revoked = False
        self._busy = False
        self._pending: list[Awaitable[Written]] = []
        self._begin(NOTHING, {})

    def _begin(self, mark: Mark, earliest: Mapping[str, int]) -> None:
        positions = {
            topic: max(mark.positions.get(topic, 0), earliest.get(topic, 0)) for topic in (*self.post.topics, TICKS)
        }
        self.inbox = Inbox(self.post.raw, self.post.derived, positions)
        self.barrier = Barrier(self.post.upstream, mark.handled)
        self._tick_position = positions[TICKS]
        self.pace.last_us = mark.handled.t_us
        self._written: dict[int, dict[str, int]] = defaultdict(dict, {n: dict(w) for n, w in mark.written.items()})

    def restore(self, earliest: Mapping[str, int]) -> dict[str, int]:
        """Takes up what the shelf has of this partition; returns the offsets to read from, at least ``earliest``."""
        try:
            mark, snapshots = self.checkpoint.read(self.effects.shelf.rows())
        except DamagedError as error:
            log.warning("%s; it is folded again from the beginning of its topics", error)
            mark, snapshots = None, {}
            self.fold.memory.begin(LONG_AGO)
        for key, snapshot in snapshots.items():
            self.fold.restore(key, snapshot)
        mark = mark or NOTHING
        self._tell_lost(mark, earliest)
        self._begin(mark, earliest)
        return self._safe()

    def _tell_lost(self, mark: Mark, earliest: Mapping[str, int]) -> None:
        """Says what Kafka has deleted while nobody read it; in a compacted topic a hole is no loss."""
        for topic, needed in mark.positions.items():
            begins = earliest.get(topic, 0)
            if topic != TICKS and begins > needed and topic_spec(topic).cleanup == "delete":
                words = "%s: %s was deleted from offset %d to %d before it was read, what it said is lost"
                log.warning(words, self.post.source, topic, needed, begins)

    @property
    def handled_us(self) -> int:
        """Event time up to which everything is handled; -1 = none yet."""
        return self.barrier.handled.t_us

    @property
    def checkpointed_us(self) -> int:
        """Event time of the last checkpoint; -1 = none yet."""
        return self.pace.last_us

    def receive(self, record: Record) -> bool:
        """Takes in a record of one of the stage's topics; True = ``proceed`` has something to do."""
        self.inbox.receive(record)
        return self.is_due()

    def note(self, tick: Tick | None, offset: int) -> bool:
        """Takes in a tick (None = one that does not matter here); True = ``proceed`` has something to do."""
        if offset < self._tick_position:
            return False
        self._tick_position = offset + 1
        if tick is None or not self.barrier.listens_to(tick.source):
            return False
        self.barrier.note(tick, offset)
        return self.is_due()

    def expects(self, topic: str) -> int:
        """The offset of the record of ``topic`` that is to come next."""
        return self._tick_position if topic == TICKS else self.inbox.ledger.positions[topic]

    def skip(self, topic: str, offset: int) -> None:
        """Records of ``topic`` below ``offset`` will never come: they don't exist."""
        if topic == TICKS:
            self._tick_position = max(self._tick_position, offset)
        else:
            self.inbox.ledger.skip(topic, offset)

    def waive(self, topic: str) -> None:
        """There is no more of ``topic`` than what was read, whatever ticks say."""
        self.barrier.waive(topic, self.expects(topic))

    def begin_again(self, topic: str, offset: int) -> dict[str, int]:
        """After ``restore``, returns the same: the log of ``topic`` is not the one that was read, and begins here."""
        if topic == TICKS:
            self._tick_position = offset
        else:
            self.inbox.ledger.begin_again(topic, offset)
        return self._safe()

    def missing(self) -> dict[str, int]:
        """What time waits for: topics with the offsets that must be reached, or the next record of the ticks."""
        return self.barrier.missing(self.inbox.ledger.positions) or {TICKS: self._tick_position}

    def is_due(self) -> bool:
        """Whether ``proceed`` has something to do."""
        return not self._busy and self.barrier.due(self.inbox.ledger.positions) is not None

    async def proceed(self) -> None:
        """Acts on all ticks that are due; at once, if another task is at it already: that one goes on.

        Raises:
            Revoked: the partition was taken away meanwhile.
            TooManyDeadLettersError: more records than the bound can't be used.
        """
        if self._busy:
            return
        self._busy = True
        try:
            while (tick := self.barrier.due(self.inbox.ledger.positions)) is not None:
                await self._act_on(tick)
        finally:
            self._busy = False

    async def _act_on(self, tick: Tick) -> None:
        await self._take_in(tick)
        emissions = self.fold.advance(tick)
        self.inbox.ledger.release(self.fold.until_us(tick))
        await self._send(emissions, tick)
        await self._pass_on(tick)
        self.barrier.passed(tick)
        if tick.final or self.pace.is_due(tick.t_us):
            await self._write_down(tick)

    async def _take_in(self, tick: Tick) -> None:
        for batch in _batches(self.inbox.take(tick)):
            read, at = list(zip(batch, self._read(batch), strict=True)), 0
            held = self.inbox.ledger.held(batch[0].topic)
            while (at := take_usual(self.fold, held, read, at, tick.t_us)) < len(read):
                try:
                    self._admit(*read[at], tick.t_us)
                except BadRecord as error:
                    await self._refuse(batch[at], error, tick)
                at += 1

    def _read(self, batch: Sequence[Record]) -> Sequence[Value | None]:
        """What can be read of records of one topic in one pass; those that are too large are not looked at."""
        most, limits, raws = self.max_bytes, self.fold.limits, [record.value for record in batch]
        if max(map(len, raws)) > min(most, limits.elements, limits.text_bytes):  # or none of them can be beyond a limit
            raws = [raw if is_small(raw, most, limits) else b"" for raw in raws]
        return self.fold.read(batch[0].topic, raws)

    def _admit(self, record: Record, read: Value | None, come_us: int) -> None:
        topic, key, raw, fold = record.topic, record.key, record.value, self.fold
        if read is None:
            check_size(topic, raw, self.max_bytes, fold.limits)
        value = complete(topic, key, raw, record.arrival_us, read)
        assert isinstance(value, Message) and key is not None  # ``complete`` has checked the key
        if fold.admit(topic, key.decode(), value, come_us) == "new":
            # A late map has its turn in the next second, which is part of the tick that is acted upon: it never waits.
            self.inbox.ledger.hold(topic, record.offset, value.t_us)

    async def _refuse(self, record: Record, error: BadRecord, tick: Tick) -> None:
        if record.topic not in self.post.letters:
            return
        self.effects.letters.count(record, error)
        letter = dead_letter(record, error, self.max_bytes - LETTER_ROOM)
        topic = topic_spec(record.topic).dead_letters
        # Stamped with the tick: the record's own arrival may be one that Kafka refuses.
        outgoing = Outgoing(topic, short_key(record), letter, tick.t_us, record.partition)
        self._pending.append(await self.effects.outbox.send(outgoing))

    async def _send(self, emissions: list[Emission], tick: Tick) -> None:
        self._check_mine()
        sent = [
            (emission.topic, await self.effects.outbox.send(_outgoing(emission, tick.t_us))) for emission in emissions
        ]
        ends: dict[tuple[int, str], int] = {}
        for topic, written in sent:
            partition, offset = await written
            ends[partition, topic] = max(offset + 1, ends.get((partition, topic), 0))
        for (partition, topic), end in ends.items():  # lower than the one before where a log has begun anew
            self._written[partition][topic] = end

    async def _pass_on(self, tick: Tick) -> None:
        self._check_mine()
        await self._settle()
        for partition in self.post.targets(tick.final):
            passed = Tick(
                t_us=tick.t_us, source=self.post.source, offsets=dict(self._written[partition]), final=tick.final
            )
            record = Outgoing(TICKS, self.post.source.encode(), encode(TICKS, passed), tick.t_us, partition)
            self._pending.append(await self.effects.outbox.send(record))

    async def _write_down(self, tick: Tick) -> None:
        await self._settle()
        self._check_mine()
        safe = self._safe()
        mark = Mark(moment_of(tick), safe, dict(self._written), self.checkpoint.shape, self.checkpoint.begins)
        rows = self.pace.timed(self.checkpoint.rows(self.fold.snapshots(), mark))
        await self.effects.shelf.put(self.post.partition, rows)
        self.fold.written()
        self.pace.last_us = tick.t_us
        self._check_mine()
        self.effects.offsets.let_go(self.post.stage.name, self.post.partition, safe)

    async def _settle(self) -> None:
        pending, self._pending = self._pending, []
        for written in pending:
            await written

    def _safe(self) -> dict[str, int]:
        oldest = self.barrier.oldest_offset()
        return {**self.inbox.safe(), TICKS: self._tick_position if oldest is None else oldest}

    def _check_mine(self) -> None:
        if self.revoked:
            raise Revoked(self.post.source)


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Records of one topic each, in their order, without those of no value."""
    batch: list[Record] = []
    for record in records:
        if batch and (record.topic != batch[0].topic or len(batch) == AT_ONCE):
            yield batch
            batch = []
        if record.value is not TOMBSTONE:
            batch.append(record)
    if batch:
        yield batch


def _outgoing(emission: Emission, t_us: int) -> Outgoing:
    return Outgoing(emission.topic, emission.key.encode(), encode(emission.topic, emission.value), t_us)
