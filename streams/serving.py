"""How does a worker live and end? Starts the app, waits for a signal or a crash, and stops it.

A signal ends it cleanly: what is under way is left undone and will be done again by whoever gets the partitions. A bug
or too many dead letters end it with the error that caused it.
"""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Mapping

from streams.app import Watch, build_app
from streams.setup import WorkerSetup
from streams.stages import STAGES, Stage
from streams.topic_admin import TopicAdmin, plan_topics

RARELY = (1_000_000, 20, 50)
"""When the garbage collector looks for cycles: messages are trees, a search through thousands of them frees nothing.

The first number is more containers than the waiting messages of a second grow by with 40,000 RNICs (two tuples a
train): with 100,000 each train was visited once for nothing, a fifth of detection's time.
"""

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
    await app.start()
    await app.wait(asked_to_stop)
    await app.stop()
    if app.crash_reason is not None:
        raise app.crash_reason
