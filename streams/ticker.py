"""What makes time pass in a live system? Once a second the leader of the workers writes a tick into each partition.

A tick says "it is ``t_us``, and what had arrived by then lies below these offsets", read from the ends of the raw
topics' logs *after* the second was over. When the broker does not answer no tick is written and time stands still,
which is what it should do: nothing can be said to have arrived or not. When it answers again agents still hold what
they measured meanwhile; a tick at once would make all of it late, and their silence an incident. So after each gap
time waits for them (``streams.patience``). Several leaders (workers with different stages) may tick at once;
the first tick of a second counts.

A leader whose clock is set back ticks what has been, which no stage takes for new: time stands still until the clock
has caught up, and the leader says so.

Edge case: the embedded broker understates the ends (see tests/integration), so there the last records of a topic count
with a later tick; nor does it tell which tick is the newest, so a leader that has just begun does not see a gap there.
Replays are not affected: their ticks come from their publisher, which knows what it wrote.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine, Mapping

import faust

from schemas.codec import encode
from schemas.control import Tick
from schemas.instants import SECOND_US
from streams.barrier import CLOCK
from streams.faust_ports import FaustOutbox
from streams.heartbeats import Heartbeats
from streams.offsets import Spot
from streams.patience import Patience
from streams.ports import Outgoing
from streams.runner import TICKS
from streams.setup import WorkerSetup
from streams.topic_admin import TopicAdmin, TopicError
from streams.topology import Pipeline

log = logging.getLogger(__name__)

STEP_S = 0.25
BACK_US = 2 * SECOND_US
"""A clock that is set back by less holds nothing up that anybody would notice."""


def clock_tick(t_us: int, ends: Mapping[Spot, int], partition: int, final: bool = False) -> Outgoing:
    """The clock's tick for one partition."""
    offsets = {topic: end for (topic, number), end in sorted(ends.items()) if number == partition}
    tick = Tick(t_us=t_us, source=CLOCK, offsets=offsets, final=final)
    return Outgoing(TICKS, CLOCK.encode(), encode(TICKS, tick), t_us, partition)


async def idle_s(work: Coroutine[object, object, None]) -> float:
    """Awaits it; for how long the event loop could do nothing but wait, to ``STEP_S``: not while it was busy itself."""
    task, steps = asyncio.ensure_future(work), 0
    while not task.done():
        await asyncio.wait({task}, timeout=STEP_S)
        steps += 1
    await task
    return (steps - 1) * STEP_S


class Course:
    """Follows the clock that ticks are made by. Ticks of a time that has been are ignored by all stages; it is said."""

    def __init__(self) -> None:
        self._newest_us = 0
        self._stands = False

    def follow(self, t_us: int) -> None:
        """The clock shows ``t_us``."""
        behind_us = self._newest_us - t_us
        if behind_us > BACK_US and not self._stands:
            self._stands = True
            words = "this machine's clock was set back: time stands still until it shows again what it showed, in %d s"
            log.warning(words, behind_us // SECOND_US)
        elif behind_us < 0 and self._stands:
            self._stands = False
            log.warning("time goes on")
        self._newest_us = max(self._newest_us, t_us)


def add_ticker(app: faust.App, pipeline: Pipeline, setup: WorkerSetup) -> Patience:
    """Lets the leader among the app's workers tick; returns what tells how long time waited."""
    admin = TopicAdmin(",".join(setup.brokers), setup.prefix, setup.librdkafka)
    outbox = FaustOutbox(app, setup.prefix)
    spots = [(topic, number) for topic in pipeline.raw for number in range(setup.partitions)]
    patience = Patience(lambda: admin.newest_us(TICKS, setup.partitions), lambda from_us: Heartbeats(setup, from_us))

    def ask() -> tuple[Mapping[Spot, int], float]:
        begun_s = time.monotonic()
        return admin.ends(spots), time.monotonic() - begun_s

    async def write(t_us: int, ends: Mapping[Spot, int]) -> None:
        for partition in range(setup.partitions):
            await (await outbox.send(clock_tick(t_us, ends, partition)))

    course = Course()

    async def tick() -> None:
        t_us = time.time_ns() // 1000 // SECOND_US * SECOND_US
        course.follow(t_us)
        try:
            if not await asyncio.to_thread(patience.is_over):
                return
            ends, asked_s = await asyncio.to_thread(ask)
        except TopicError as error:
            patience.failed()
            log.warning("no tick at %d: %s", t_us, error)
            return
        if patience.still_holds(asked_s):
            patience.ticked(await idle_s(write(t_us, ends)))

    app.timer(1.0, on_leader=True)(tick)
    return patience
