"""Faust behind the ports of a runner: its producer as outbox, its table as shelf, its consumer's offsets.

Three facts of Faust 0.15 decide what is called here. (1) Its own acknowledgements commit past a message that was not
acknowledged as soon as later ones are, and it acknowledges what it skips in a rebalance; so its topics are declared
without acknowledgements and offsets are committed here, from the ledgers. (2) A changelog record that could not be sent
is only logged by ``table[key] = value``; so the changelog is written by ``send_changelog`` and waited for. (3) After a
rebalance it seeks to the committed offsets; so these are set to what the restored state needs before that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from typing import Any

import faust
from faust.types import TP

from streams.offsets import Spot
from streams.ports import Outgoing, Written
from streams.records import TOMBSTONE, Record, arrival_headers, arrival_of


class _Ack:
    """Comes true when the broker has the record."""

    def __init__(self, metadata: Awaitable[Any]) -> None:
        self._metadata = metadata

    def __await__(self) -> Generator[Any, None, Written]:
        metadata = yield from self._metadata.__await__()
        return Written(metadata.partition, metadata.offset)


class FaustOutbox:
    """Sends through the app's producer."""

    def __init__(self, app: faust.App, prefix: str) -> None:
        self._app = app
        self._prefix = prefix
        self.sent: Counter[str] = Counter()

    async def send(self, record: Outgoing) -> Awaitable[Written]:
        """Takes the record; what it returns comes true when the broker has the record."""
        self.sent[record.topic] += 1
        metadata = await self._app.producer.send(
            self._prefix + record.topic,
            record.key,
            record.value,
            record.partition,
            record.arrival_us / 1e6,
            arrival_headers(record.arrival_us),
        )
        return _Ack(metadata)


class FaustShelf:
    """Keeps rows in a Faust table."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def rows(self) -> Mapping[bytes, bytes]:
        """All that is kept."""
        return {name: row for name, row in self._table.data.items() if row is not None}

    async def put(self, partition: int, rows: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Writes rows in this order (None: deletes them); returns when the changelog has all.

        The last one is written only after the changelog has the others.

        The last row stands in a batch of its own: Tansu tells the end of a log as the *first* record of its last batch.
        """
        held: tuple[bytes, bytes | None] | None = None
        sent = []
        for row in rows:
            if held is not None:
                sent.append(self._write(partition, *held))
            held = row
        for written in sent:
            await written
        if held is not None:
            await self._write(partition, *held)

    def _write(self, partition: int, name: bytes, row: bytes | None) -> Awaitable[Any]:
        sent: Awaitable[Any] = self._table.send_changelog(partition, name, row)
        if row is not None:
            self._table.data[name] = row
        elif name in self._table.data:
            del self._table.data[name]
        return sent


def record_of(fetched: Any, topic: str) -> Record:
    """What aiokafka has fetched as a record of ``topic``, which is without prefix."""
    return Record(
        topic,
        fetched.partition,
        fetched.offset,
        fetched.key,
        TOMBSTONE if fetched.value is None else fetched.value,
        arrival_of(fetched.headers, fetched.timestamp),
    )


async def commit(app: faust.App, prefix: str, offsets: Mapping[Spot, int]) -> bool:
    """Commits offsets of partitions that are still assigned; others are left alone. False = it was not possible."""
    return not offsets or bool(await app.consumer._commit(_by_tp(prefix, offsets)))


async def rewind(app: faust.App, prefix: str, offsets: Mapping[Spot, int]) -> None:
    """Commits offsets and reads on from there, also where that is before what was committed last."""
    if offsets:
        await commit(app, prefix, offsets)
        await app.consumer.seek_wait(_by_tp(prefix, offsets))


async def beginnings(app: faust.App, prefix: str, spots: Iterable[Spot]) -> dict[Spot, int]:
    """The lowest offset that each partition still has."""
    return await _asked(app.consumer.earliest_offsets, prefix, spots)


async def ends(app: faust.App, prefix: str, spots: Iterable[Spot]) -> dict[Spot, int]:
    """Where each partition's log ends, or less (see ``FaustShelf.put``)."""
    return await _asked(app.consumer.highwaters, prefix, spots)


async def _asked(question: Callable[..., Awaitable[Any]], prefix: str, spots: Iterable[Spot]) -> dict[Spot, int]:
    """What the consumer answers of each partition."""
    wanted = {TP(prefix + topic, number): (topic, number) for topic, number in spots}
    if not wanted:
        return {}
    found = await question(*wanted)
    return {spot: found[tp] for tp, spot in wanted.items()}


def _by_tp(prefix: str, offsets: Mapping[Spot, int]) -> dict[TP, int]:
    return {TP(prefix + topic, number): offset for (topic, number), offset in offsets.items()}
