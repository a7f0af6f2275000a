"""How does a worker live and end? Starts the app, waits for a signal or a crash, and stops it.

A signal ends it cleanly: what is under way is left undone and will be done again by whoever gets the partitions. A bug
or too many dead letters end it with the error that caused it. To take leave of a Kafka that does not answer would last
for minutes, so after ``STOP_S`` it is left as by a crash, which nothing depends on.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
from collections.abc import Mapping
from typing import NoReturn

import faust

from streams.app import Watch, build_app
from streams.setup import WorkerSetup
from streams.stages import STAGES, Stage
from streams.topic_admin import TopicAdmin, plan_topics

log = logging.getLogger(__name__)

RARELY = (1_000_000, 20, 50)
"""When the garbage collector looks for cycles: messages are trees, a search through thousands of them frees nothing.

The first number is more containers than the waiting messages of a second grow by with 40,000 RNICs (two tuples a
train): with 100,000 each train was visited once for nothing, a fifth of detection's time.
"""

STOP_S = 20.0
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve(setup: WorkerSetup, stages: Mapping[str, Stage] = STAGES, watch: Watch = lambda _: None) -> None:
    """Runs a worker, which ``watch`` is given, until it gets SIGINT or SIGTERM.

    Raises:
        StoreError: the table's store is not installed.
        TopicError: the broker does not answer, or its topics are not as they should be.
        Exception: whatever crashed the worker.
    """
    gc.set_threshold(*RARELY)
    admin = TopicAdmin(",".join(setup.brokers), setup.prefix, setup.librdkafka)
    admin.ensure(plan_topics(setup.max_message_bytes), setup.partitions, setup.replication)
    asyncio.run(_live(setup, stages, watch))


async def _live(setup: WorkerSetup, stages: Mapping[str, Stage], watch: Watch) -> None:
    app = build_app(setup, stages, watch)
    asked_to_stop = asyncio.Event()
    for number in SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, asked_to_stop.set)
    starting, stopping = asyncio.create_task(app.start()), asyncio.create_task(asked_to_stop.wait())
    await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    await _in_time(starting, app)
    await app.wait(asked_to_stop)
    await _in_time(asyncio.create_task(app.stop()), app)
    if app.crash_reason is not None:
        raise app.crash_reason


async def _in_time(task: asyncio.Task[object], app: faust.App) -> None:
    """Waits for what depends on Kafka, for ``STOP_S``: tasks that wait for Kafka do not let themselves be cancelled."""
    _, unfinished = await asyncio.wait({task}, timeout=STOP_S)
    if unfinished:
        _leave(app.crash_reason)
    await task


def _leave(reason: BaseException | None) -> NoReturn:
    """Ends the process at once."""
    if reason is not None:
        log.error("the worker ends: %r", reason)
    log.warning("Kafka did not answer for %.0f s: the worker ends without taking leave of it", STOP_S)
    logging.shutdown()
    os._exit(0 if reason is None else 1)
