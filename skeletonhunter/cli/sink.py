"""``skeletonhunter sink``: moves topics from Kafka into ClickHouse until it is told to stop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from skeletonhunter.settings import Settings
    from skeletonhunter.sinks.clickhouse_sink import SinkCounts


def sink(
    kafka: Annotated[str | None, typer.Option(help="Broker address.")] = None,
    clickhouse: Annotated[str | None, typer.Option(help="ClickHouse DSN, a server's or chdb:///path.")] = None,
    migrate: Annotated[
        bool, typer.Option("--migrate", help="Apply missing migrations first (always done for chdb).")
    ] = False,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="At the end print what was done as JSON.")] = False,
) -> None:
    """Write everything that has a table from Kafka to ClickHouse, until SIGTERM."""
    import os
    from dataclasses import asdict

    from confluent_kafka import KafkaException

    from collectors.exposing import AddressError
    from skeletonhunter.cli import InputError, kafka_refusal
    from skeletonhunter.cli.printing import print_json
    from skeletonhunter.settings import SettingsError, load_settings
    from skeletonhunter.sinks.connection import faults_of_clickhouse
    from skeletonhunter.sinks.running import OutdatedDatabaseError, listen_to, log_to_stderr
    from streams.dead_letters import TooManyDeadLettersError

    log_to_stderr()
    try:
        settings = load_settings(config, os.environ, {"kafka.url": kafka, "clickhouse.dsn": clickhouse})
        listen_to(settings)
        with faults_of_clickhouse(settings.clickhouse.dsn, InputError):
            counts = _run(settings, migrate)
    except (SettingsError, AddressError, OutdatedDatabaseError, TooManyDeadLettersError) as error:
        raise InputError(str(error)) from error
    except KafkaException as error:
        raise kafka_refusal(settings.kafka.url, error) from error
    if as_json:
        print_json(asdict(counts))


def _run(settings: Settings, migrate: bool) -> SinkCounts:
    import threading

    from tenacity import RetryError

    from collectors.exposing import exposed
    from skeletonhunter.metrics.readings import Flow, Start
    from skeletonhunter.metrics.sinking import sink_readings
    from skeletonhunter.sinks.clickhouse_sink import GROUP, ClickHouseSink, SinkCounts
    from skeletonhunter.sinks.connection import database_of, is_embedded
    from skeletonhunter.sinks.kafka_source import KafkaSource
    from skeletonhunter.sinks.rollups import refresh
    from skeletonhunter.sinks.rows import STORED_TOPICS
    from skeletonhunter.sinks.running import ready_database, stopped_by_signals

    stop = threading.Event()
    start, flow, sinks = Start("sink"), Flow(), list[ClickHouseSink]()
    with stopped_by_signals(stop), exposed(settings.metrics.address, lambda: sink_readings(start, flow, sinks)):
        try:
            with ready_database(settings.clickhouse, stop, migrate) as client:
                source = KafkaSource(settings.kafka, GROUP, STORED_TOPICS)
                source.on_read = flow.note
                sinks.append(ClickHouseSink(source, settings, client, stop))
                try:
                    counts = sinks[0].run()
                finally:
                    source.close()
                if is_embedded(settings.clickhouse.dsn):
                    refresh(client, database_of(settings.clickhouse))
                return counts
        except RetryError:
            return SinkCounts()  # told to stop before ClickHouse was there
