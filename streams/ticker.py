"""What makes time pass in a live system? Once a second the leader of the workers writes a tick into each partition.

A tick says "it is ``t_us``, and what had arrived by then lies below these offsets", read from the ends of the raw
topics' logs *after* the second was over. When the broker does not answer no tick is written and time stands still,
which is what it should do: nothing can be said to have arrived or not. Several leaders (workers with different stages)
may tick at once; the first tick of a second counts.

Edge case: the embedded broker understates the ends (see tests/integration), so there the last records of a topic count
with a later tick. Replays are not affected: their ticks come from their publisher, which knows what it wrote.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping

import faust

from schemas.codec import encode
from schemas.control import Tick
from schemas.instants import SECOND_US
from streams.barrier import CLOCK
from streams.faust_ports import FaustOutbox
from streams.offsets import Spot
from streams.ports import Outgoing
from streams.runner import TICKS
from streams.setup import WorkerSetup
from streams.topic_admin import TopicAdmin, TopicError
from streams.topology import Pipeline

log = logging.getLogger(__name__)


def clock_tick(t_us: int, ends: Mapping[Spot, int], partition: int, final: bool = False) -> Outgoing:
    """The clock's tick for one partition."""
    offsets = {topic: end for (topic, number), end in sorted(ends.items()) if number == partition}
    tick = Tick(t_us=t_us, source=CLOCK, offsets=offsets, final=final)
    return Outgoing(TICKS, CLOCK.encode(), encode(TICKS, tick), t_us, partition)


def add_ticker(app: faust.App, pipeline: Pipeline, setup: WorkerSetup) -> None:
    """Lets the leader among the app's workers tick."""
    admin = TopicAdmin(",".join(setup.brokers), setup.prefix, setup.librdkafka)
    outbox = FaustOutbox(app, setup.prefix)
    spots = [(topic, number) for topic in pipeline.raw for number in range(setup.partitions)]

    async def tick() -> None:
        t_us = time.time_ns() // 1000 // SECOND_US * SECOND_US
        try:
            ends = await asyncio.to_thread(admin.ends, spots)
        except TopicError as error:
            log.warning("no tick at %d: %s", t_us, error)
            return
        for partition in range(setup.partitions):
            await (await outbox.send(clock_tick(t_us, ends, partition)))

    app.timer(1.0, on_leader=True)(tick)
