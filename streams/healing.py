"""Is a record missing, or does it not exist? Asks the broker, and lets the consumer read again what it has dropped.

Around a rebalance Faust drops records that it had fetched and goes on behind them (measured: 16 records of a partition,
with mode-streaming 0.7 and faust-streaming 0.15). Elsewhere a hole is right: compaction and retention make holes. So
nothing behind a hole is accepted before the broker has been asked, by a client that reads just there: if it has a
record in the hole, the consumer is sent back to it; if not, the hole is passed over.

A hole at the end of a topic shows only in time that stands still, so that is looked into as well.

A log that is shorter than what was read of it is another one: somebody has deleted the topic and made it again, or the
broker has lost its end. Its numbers mean something else then, and a worker that kept counting would pass over all that
comes, so it says so and ends; started again it reads the new log from its beginning (``Worker.restore``).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping

import faust
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from faust.types import TP

from streams.answers import passes
from streams.offsets import Spot
from streams.runner import PartitionRunner
from streams.setup import WorkerSetup

log = logging.getLogger(__name__)

AGAIN_S = 1.0
PATIENCE_S = 10.0


class AnotherLogError(RuntimeError):
    """A topic began anew; the text says which. What no checkpoint holds of the old log is lost."""


class Scout:
    """Looks up what a partition has at an offset."""

    def __init__(self, setup: WorkerSetup) -> None:
        self.prefix = setup.prefix
        self._config: dict[str, str | int | float | bool] = {
            "bootstrap.servers": ",".join(setup.brokers),
            "fetch.wait.max.ms": setup.fetch_wait_ms,
            **setup.librdkafka,
            "group.id": f"{setup.group}-scout",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
        }

    def next_offset(self, spot: Spot, offset: int) -> tuple[int, bool]:
        """The first offset from ``offset`` on that has a record, and True; or the end of the log, and False.

        Raises:
            TimeoutError: the broker does not answer.
        """
        consumer = Consumer(self._config, logger=log)
        try:
            consumer.assign([TopicPartition(self.prefix + spot[0], spot[1], offset)])
            ends_s = time.monotonic() + PATIENCE_S
            while time.monotonic() < ends_s:
                found = _offset_in(consumer.poll(0.1))
                if found is not None:
                    return found
        finally:
            consumer.close()
        raise TimeoutError(f"{spot[0]}, partition {spot[1]}: no answer at offset {offset}")


def _offset_in(message: Message | None) -> tuple[int, bool] | None:
    if message is None:
        return None
    error = message.error()
    if error is None:
        return message.offset() or 0, True
    if error.code() == KafkaError._PARTITION_EOF:
        return message.offset() or 0, False
    if passes(error):
        return None
    raise KafkaException(error)


class Healer:
    """Closes holes in what the runners of one worker have been given."""

    def __init__(self, app: faust.App, setup: WorkerSetup) -> None:
        self._app = app
        self._scout = Scout(setup)
        self._prefix = setup.prefix
        self._asked: dict[Spot, tuple[int, float]] = {}

    async def close_hole(self, runner: PartitionRunner, topic: str) -> None:
        """A record came that is not the next one: passes over what does not exist, or lets it be read again."""
        spot, expected = (topic, runner.post.partition), runner.expects(topic)
        if self._asked_lately(spot, expected):
            return
        found, exists = await self._look(spot, expected)
        if found is None:
            return
        if exists and found < expected:
            raise _another_log(spot, expected)
        if found > expected:
            runner.skip(topic, found)
            return
        if exists:
            log.warning("%s: Faust dropped %s from offset %d on; it is read again", runner.post.source, topic, expected)
            await self._app.consumer.seek(TP(self._prefix + topic, spot[1]), expected)

    async def look_into(self, runner: PartitionRunner, missing: Mapping[str, int]) -> None:
        """Time stands still at these offsets: passes over what does not exist, or lets it be read again."""
        for topic, needed in missing.items():
            spot, expected = (topic, runner.post.partition), runner.expects(topic)
            found, exists = await self._look(spot, expected)
            if found is None:
                continue
            if exists and found < expected:
                raise _another_log(spot, expected)
            if exists and found == expected:
                log.warning("%s: %s is read again from offset %d on", runner.post.source, topic, expected)
                await self._app.consumer.seek(TP(self._prefix + topic, spot[1]), expected)
                continue
            beyond = found if exists else needed
            if beyond > expected:
                log.warning("%s: %s has nothing from %d to %d", runner.post.source, topic, expected, beyond)
                runner.skip(topic, beyond) if exists else runner.waive(topic)

    async def look_back(self, runner: PartitionRunner, topic: str) -> None:
        """A record came that lies before the one that came last: is it a log that began anew?

        Raises:
            AnotherLogError: it is.
        """
        spot, expected = (topic, runner.post.partition), runner.expects(topic)
        if not self._asked_lately(spot, expected):
            found, exists = await self._look(spot, expected)
            if found is not None and exists and found < expected:
                raise _another_log(spot, expected)

    async def find_beginning(self, spot: Spot, position: int) -> int | None:
        """Where the log begins if it is shorter than ``position``, up to which it was read; None: it is not."""
        found, exists = await self._look(spot, position)
        if found is None or exists:
            return found if found is not None and found < position else None
        found, exists = await self._look(spot, 0)  # nothing there: a log that is empty from its beginning on?
        return 0 if found == 0 and not exists else None

    def _asked_lately(self, spot: Spot, expected: int) -> bool:
        """Records behind the hole go on coming for a while; they need not be asked about one by one."""
        before, at_s = self._asked.get(spot, (-1, 0.0))
        if before == expected and time.monotonic() - at_s < AGAIN_S:
            return True
        self._asked[spot] = expected, time.monotonic()
        return False

    async def _look(self, spot: Spot, expected: int) -> tuple[int | None, bool]:
        try:
            return await asyncio.to_thread(self._scout.next_offset, spot, expected)
        except (KafkaException, TimeoutError) as error:
            log.warning("can't look for %s, partition %d, at %d: %s", *spot, expected, error)
            return None, False


def _another_log(spot: Spot, expected: int) -> AnotherLogError:
    return AnotherLogError(
        f"topic {spot[0]}, partition {spot[1]}, began anew: it was read up to offset {expected} and is shorter now; "
        "what no checkpoint holds of it is lost"
    )
