"""What makes time pass in a live system? Once a second the leader of the workers writes a tick into each partition.

A tick says "it is ``t_us``, and what had arrived by then lies below these offsets", read from the ends of the raw
topics' logs *after* the second was over. When the broker does not answer no tick is written and time stands still,
which is what it should do: nothing can be said to have arrived or not. When it answers again agents still hold what
they measured meanwhile; a tick at once would make all of it late, and their silence an incident. So time stands still
for ``SETTLE_S`` more, in which they connect (after 2 s at most) and send it. Several leaders (workers with different
stages) may tick at once; the first tick of a second counts.

Edge case: the embedded broker understates the ends (see tests/integration), so there the last records of a topic count
with a later tick. Replays are not affected: their ticks come from their publisher, which knows what it wrote.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass

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


AWAY_S = 5.0
"""An answer that takes longer is one that came after an outage; or the machine is busy, so time waits once for it."""
SETTLE_S = 10.0


@dataclass(slots=True)
class Settling:
    """Whether time may go on; monotonic seconds."""

    away_since_s: float | None = None
    until_s: float = 0.0
    went_on: bool = True

    def asked(self, begun_s: float, now_s: float, answered: bool) -> bool:
        """The broker was asked; True: it answered, and agents have had time to send what waited for it."""
        is_slow = now_s - begun_s > AWAY_S and self.went_on
        if self.away_since_s is None and (not answered or is_slow):
            self.away_since_s = begun_s
        if not answered:
            return False
        if self.away_since_s is not None:
            away_s, self.away_since_s = now_s - self.away_since_s, None
            if away_s > AWAY_S:
                self.until_s, self.went_on = now_s + SETTLE_S, False
                log.warning("Kafka was away for %.0f s; in %.0f s time goes on", away_s, SETTLE_S)
        self.went_on = self.went_on or now_s >= self.until_s
        return now_s >= self.until_s


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
    settling = Settling()

    async def tick() -> None:
        t_us = time.time_ns() // 1000 // SECOND_US * SECOND_US
        begun_s = time.monotonic()
        try:
            ends = await asyncio.to_thread(admin.ends, spots)
        except TopicError as error:
            settling.asked(begun_s, time.monotonic(), answered=False)
            log.warning("no tick at %d: %s", t_us, error)
            return
        if not settling.asked(begun_s, time.monotonic(), answered=True):
            return
        for partition in range(setup.partitions):
            await (await outbox.send(clock_tick(t_us, ends, partition)))

    app.timer(1.0, on_leader=True)(tick)
