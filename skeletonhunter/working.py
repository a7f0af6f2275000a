"""From the installation's settings to what a worker needs to know."""

from __future__ import annotations

from skeletonhunter.settings import Settings
from streams.setup import WorkerSetup
from streams.topic_admin import TopicAdmin


def worker_setup(settings: Settings) -> WorkerSetup:
    """The worker that the settings describe."""
    kafka, worker = settings.kafka, settings.worker
    return WorkerSetup(
        brokers=tuple(kafka.url.split(",")),
        prefix=kafka.prefix,
        partitions=kafka.partitions,
        replication=kafka.replication,
        max_message_bytes=kafka.max_message_bytes,
        librdkafka=kafka.librdkafka,
        session_s=kafka.session_s,
        fetch_wait_ms=kafka.fetch_wait_ms,
        stages=worker.stages,
        pipeline=worker.pipeline,
        data_dir=worker.data_dir,
        store=worker.store,
        checkpoint_s=worker.checkpoint_s,
        ticker=worker.ticker,
        dead_letters_per_minute=worker.dead_letters_per_minute,
        parameters=settings.parameters,
    )


def topic_admin(settings: Settings) -> TopicAdmin:
    """Topics of the broker that the settings name."""
    return TopicAdmin(settings.kafka.url, settings.kafka.prefix, settings.kafka.librdkafka)
