"""Where do we want Faust's consumer to be different? In events of many records, held reads, and commits that fail.

An event of Faust costs some 60 us on its way through conductor, queue and agent, whatever is in it; a fleet of 40,000
RNICs sends 42,000 records a second. So what had been fetched of a partition comes as events of up to ``AT_ONCE``
records: the event's message is that of the last one and has them all (``records_in``). The queues of agents are
shorter for it. Changelogs are read by Faust itself, record by record.

Faust lets a broker hold a read for 1.5 s; here it is a setting. Apache Kafka answers as soon as there is something, but
Tansu looks again only at fixed parts of that time, so on it each step of the pipeline would take most of a second.

Faust crashes when a commit fails because the broker is away. Here it is said and tried again: where to read on from
stands in the marks of the state, commits are for onlookers and for the next start.

Faust goes back to an offset from the thread that asks, while aiokafka works in another: records that it hands out just
then vanish under its hands (``KeyError``), and the worker ends. Here it is done where aiokafka works; a partition that
is another's by then is left to it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import faust
from aiokafka.errors import IllegalStateError, KafkaError
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread, Consumer, Transport, ensure_aiokafka_TP
from faust.transport.utils import DefaultSchedulingStrategy
from faust.types import TP
from faust.types.tuples import ConsumerMessage

log = logging.getLogger(__name__)


AT_ONCE = 256
"""Records in one event."""

BUFFERED_EVENTS = 256
"""Events in the queue of an agent, Faust's own bound is 4096: 65,536 records, of a fleet some 160 MB. What does not fit
is not lost, but its partition is then not read for a while."""

CHANGELOG = "-changelog"
"""How Faust ends the names of changelogs."""


class Batches(DefaultSchedulingStrategy):  # type: ignore[misc]
    """Hands out the fetched records in batches, in turns between topics and partitions."""

    def iterate(self, records: Mapping[TP, list[Any]]) -> Iterator[tuple[TP, Any]]:
        """Pairs of a partition and a list of its records; of a changelog each record."""
        cut = {tp: them if tp.topic.endswith(CHANGELOG) else _cut(them) for tp, them in records.items()}
        handed_out: Iterator[tuple[TP, Any]] = super().iterate(cut)
        return handed_out


def _cut(records: list[Any]) -> list[list[Any]]:
    return [records[low : low + AT_ONCE] for low in range(0, len(records), AT_ONCE)]


class BatchMessage(ConsumerMessage):  # type: ignore[misc]
    """The message of an event of several ``records``, as aiokafka has them; its offset is that of the last one."""

    records: Sequence[Any] = ()


def records_in(message: Any) -> Sequence[Any]:
    """The records of an event's message, in their order, with their times in milliseconds."""
    records: Sequence[Any] = message.records
    return records


class OwnThread(AIOKafkaConsumerThread):  # type: ignore[misc]
    """Where aiokafka works: survives commits that fail, and goes back to offsets."""

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        mine = {ensure_aiokafka_TP(tp): offset for tp, offset in offsets.items() if tp in self.assignment()}
        try:
            await self._ensure_consumer().commit(mine)
        except KafkaError as error:
            log.warning("offsets were not committed, they will be later: %r", error)
            return False
        return True

    async def seek_here(self, tp: TP, offset: int) -> None:
        """To be called in this thread; a partition that was taken away is left alone."""
        try:
            self.seek(tp, offset)
        except IllegalStateError:
            log.info("%s, partition %d, is no longer ours to be read again", tp.topic, tp.partition)


def use_own_consumer(app: faust.App, fetch_wait_ms: int) -> None:
    """Gives the app a consumer of batches that lets reads be held for at most ``fetch_wait_ms`` and survives failing
    commits."""

    class Thread(OwnThread):
        def _create_worker_consumer(self, transport: Any) -> Any:
            consumer = super()._create_worker_consumer(transport)
            consumer._fetch_max_wait_ms = fetch_wait_ms
            return consumer

    class OwnConsumer(Consumer):  # type: ignore[misc]
        def _new_consumer_thread(self) -> Thread:
            return Thread(self, loop=self.loop, beacon=self.beacon)

        async def _seek(self, partition: TP, offset: int) -> None:
            await self._thread.call_thread(self._thread.seek_here, partition, offset)

        def _to_message(self, tp: TP, record: Any) -> ConsumerMessage:
            if not isinstance(record, list):
                return super()._to_message(tp, record)
            last = record[-1]
            at_s = last.timestamp / 1000.0
            message = BatchMessage(*tp, last.offset, at_s, last.timestamp_type, None, None, b"", None, tp=tp)
            message.generation_id = self.app.consumer_generation_id
            message.records = record
            return message

    transport = Transport(app.conf.broker_consumer, app)
    transport.Consumer = OwnConsumer
    app.transport = transport
