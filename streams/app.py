"""The Faust app: one agent per stage, over all its topics, and one for the ticks; no app exists until it is asked for.

Agents hand the records of each event to the runner of its stage and partition (``streams.worker``,
``streams.runner``), where the work is done and tested. The ticks have an agent of their own because every stage reads
them. All topics have the same number of partitions, so Faust assigns partition n of all of them, and of the table with
the states, to the same worker.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import faust

from streams.credentials import credentials_of
from streams.faust_transport import BUFFERED_EVENTS, Batches, use_own_consumer
from streams.runner import TICKS
from streams.setup import WorkerSetup
from streams.stages import STAGES, Stage
from streams.topology import pipeline
from streams.worker import Worker

COMMIT_EVERY_S = 1.0
LOOK_EVERY_S = 2.0
METADATA_S = 5.0
"""So old may be what a worker knows of the cluster. The group's leader hands out the topics that it knows; one that a
broker did not name yet, having just begun or just made it, is nobody's until the leader asks again. By default clients
do after five minutes, and for as long the pipeline stood still: without its ticks, if it was Faust's leader topic."""
TABLE = "state"

Watch = Callable[[Worker], None]


class StoreError(RuntimeError):
    """The table's store can't be used."""


def build_app(setup: WorkerSetup, stages: Mapping[str, Stage] = STAGES, watch: Watch = lambda _: None) -> faust.App:
    """The app of one worker, which ``watch`` is given.

    Raises:
        StoreError: the store that was asked for is not installed.
        CredentialsError: Faust can't prove who it is as ``librdkafka`` says.
    """
    app = faust.App(setup.group, **_configuration(setup))
    use_own_consumer(app, setup.fetch_wait_ms)
    table = app.Table(TABLE, partitions=setup.partitions, key_type=bytes, value_type=bytes)
    worker = Worker(app, table, setup, pipeline(setup.pipeline, setup.partitions, stages))
    watch(worker)
    for stage in setup.stages:
        _add_agent(app, stage, [setup.prefix + topic for topic in stages[stage].inputs], partial(worker.take, stage))
    _add_agent(app, TICKS, [setup.prefix + TICKS], worker.take_tick)
    _follow_assignments(app, table, worker)
    if setup.ticker:
        from streams.ticker import add_ticker

        worker.patience = add_ticker(app, worker.pipeline, setup)
    return app


def _add_agent(app: faust.App, name: str, topics: list[str], take: Callable[[Any], Awaitable[None]]) -> None:
    topic = app.topic(*topics, key_serializer="raw", value_serializer="raw", acks=False)

    async def agent(stream: Any) -> None:
        async for event in stream.noack().events():
            await take(event.message)

    app.agent(topic, name=name)(agent)


def _follow_assignments(app: faust.App, table: Any, worker: Worker) -> None:
    async def restore() -> None:
        await worker.restore()

    async def drop(*_sender: object, **_about: object) -> None:
        worker.drop()

    async def commit() -> None:
        await worker.commit()

    async def look_after() -> None:
        await worker.look_after()

    table.on_recover(restore)
    app.on_partitions_revoked.connect(drop, weak=False)
    app.timer(COMMIT_EVERY_S)(commit)
    app.timer(LOOK_EVERY_S)(look_after)


def _configuration(setup: WorkerSetup) -> dict[str, Any]:
    return {
        "broker": [f"kafka://{broker}" for broker in setup.brokers],
        "broker_credentials": credentials_of(setup.librdkafka),
        "datadir": setup.data_dir,
        "store": _store(setup.store),
        "web_enabled": False,
        "topic_partitions": setup.partitions,
        "topic_replication_factor": setup.replication,
        "producer_max_request_size": setup.max_message_bytes,
        "broker_session_timeout": setup.session_s,
        "broker_rebalance_timeout": setup.session_s,
        "broker_heartbeat_interval": setup.session_s / 6,
        "broker_commit_interval": 3600.0,
        "consumer_auto_offset_reset": "earliest",
        "consumer_metadata_max_age_ms": round(METADATA_S * 1000),
        "producer_metadata_max_age_ms": round(METADATA_S * 1000),
        "stream_wait_empty": False,
        "stream_buffer_maxsize": BUFFERED_EVENTS,
        "ConsumerScheduler": Batches,
        "table_standby_replicas": 0,
    }


def _store(name: str) -> str:
    if name == "rocksdb":
        from importlib.util import find_spec

        if find_spec("rocksdict") is None and find_spec("rocksdb") is None:
            raise StoreError(
                "worker.store is rocksdb, but RocksDB is not installed; pip install 'skeletonhunter[rocksdb]'"
            )
    return f"{name}://"
