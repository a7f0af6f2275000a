"""How is this installation set up? One frozen value, built once in the CLI from a TOML file, the environment and flags.

Precedence: flag over environment (``SKELETONHUNTER_KAFKA__URL=...``: section, two underscores, field) over file over
default. Every unknown name and every wrong value is refused with one sentence that names where it stood.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct, field

from collectors.kafka_access import KafkaAccess, properties_of, wrong_access
from schemas.codec import MAX_BYTES
from schemas.refusals import explain
from skeletonhunter.alert_settings import AlertSettings, contradictions_of_alerts
from skeletonhunter.recordings.files import Limits
from skeletonhunter.settings_sources import SettingsError, Sources
from streams.parameters import Parameters
from streams.stages import STAGES

__all__ = [
    "AlertSettings",
    "ClickHouseSettings",
    "KafkaSettings",
    "LogSettings",
    "MetricsSettings",
    "Settings",
    "SettingsError",
    "WorkerSettings",
    "load_settings",
]

Url = Annotated[str, Meta(min_length=1)]


class KafkaSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where Kafka is. ``prefix`` stands before topics and groups; ``librdkafka`` goes to confluent-kafka as it is.
    How to prove who we are is in ``security``; of ``librdkafka`` Faust takes the properties of TLS and SASL only.

    ``url`` is a list of ``host:port``, separated by commas. ``partitions`` and ``replication`` are used when topics are
    created. Records of more than ``max_message_bytes`` are not parsed but go to the dead letters. A worker or sink that
    is silent for ``session_s`` is given up, and its partitions go to others. A broker may hold a read for up to
    ``fetch_wait_ms`` when there is nothing to read.
    """

    url: Url = "localhost:9092"
    prefix: Annotated[str, Meta(pattern="^[a-zA-Z0-9._-]*$")] = ""
    partitions: Annotated[int, Meta(ge=1)] = 4
    replication: Annotated[int, Meta(ge=1)] = 1
    max_message_bytes: Annotated[int, Meta(ge=1024)] = MAX_BYTES
    session_s: Annotated[float, Meta(ge=6, le=300)] = 30.0
    fetch_wait_ms: Annotated[int, Meta(ge=1, le=5000)] = 500
    librdkafka: dict[str, str | int | float | bool] = {}
    security: KafkaAccess = field(default_factory=KafkaAccess)


class WorkerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The Faust worker. ``ticker``: make ticks from the wall clock (a replay brings its own).

    ``stages`` are the stages that this worker runs; ``pipeline`` all that run somewhere, whose ticks it waits for.
    ``data_dir`` holds its tables, kept in ``store``. Every
    ``checkpoint_s`` seconds of event time it writes down its state, more rarely (but once a minute) where that would
    take more than a fiftieth of the processor. ``web_port`` 0 = any free port. Past
    ``dead_letters_per_minute`` records that can't be used it stops, because something bigger is wrong.
    """

    stages: Annotated[tuple[str, ...], Meta(min_length=1)] = tuple(STAGES)
    pipeline: Annotated[tuple[str, ...], Meta(min_length=1)] = tuple(STAGES)
    data_dir: str = ".skeletonhunter"
    store: Literal["memory", "rocksdb"] = "memory"
    checkpoint_s: Annotated[float, Meta(gt=0)] = 10.0
    ticker: bool = True
    web_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    dead_letters_per_minute: Annotated[int, Meta(ge=1)] = 600


class ClickHouseSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where ClickHouse is: ``chdb:///path`` (embedded) or ``clickhouse://user:password@host:8123/database``.

    ``clickhouses://`` means TLS, with the authorities of the system or those of the PEM file ``ca``. The password may
    be in ``password_file`` instead of the DSN.

    The sink inserts after ``batch_rows`` rows or ``batch_s`` seconds, whichever comes first.
    """

    dsn: Url = "chdb://.skeletonhunter/clickhouse"
    password_file: str = ""
    ca: str = ""
    database: Annotated[str, Meta(pattern="^[A-Za-z_][A-Za-z0-9_]*$")] = "skeletonhunter"
    batch_rows: Annotated[int, Meta(ge=1)] = 50_000
    batch_s: Annotated[float, Meta(gt=0)] = 1.0


class MetricsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where this part serves its metrics to Prometheus, at ``/metrics``.

    ``address`` is `host:port`, such as `0.0.0.0:9464`; null = nowhere. Everybody who reaches it may read.
    """

    address: Annotated[str, Meta(pattern=r":[0-9]{1,5}$")] | None = None


class LogSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What ``work``, ``sink`` and ``alert`` say on standard error: ``level``, and what is worse."""

    level: Literal["debug", "info", "warning", "error"] = "info"


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that an operator may set."""

    kafka: KafkaSettings = field(default_factory=KafkaSettings)
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    clickhouse: ClickHouseSettings = field(default_factory=ClickHouseSettings)
    alerts: AlertSettings = field(default_factory=AlertSettings)
    recordings: Limits = field(default_factory=Limits)
    metrics: MetricsSettings = field(default_factory=MetricsSettings)
    log: LogSettings = field(default_factory=LogSettings)
    parameters: Parameters = field(default_factory=Parameters)


def load_settings(
    path: Path | None, environment: Mapping[str, str], flags: Mapping[str, object] | None = None
) -> Settings:
    """Settings from a TOML file (None = none), the environment, and flags named ``section.field`` (None = not given).

    Raises:
        SettingsError: naming the place, the field and what was expected.
    """
    sources = Sources(Settings)
    if path:
        sources.add_file(path)
    sources.add_environment(environment)
    sources.add_flags(flags or {})
    try:
        settings = msgspec.convert(sources.tree, Settings)
    except msgspec.ValidationError as error:
        raise sources.error(explain(error, sources.tree, Settings)) from error
    for name, detail in _contradictions(settings):
        raise sources.error(f"{detail} - at `$.{name}`")
    return msgspec.structs.replace(settings, kafka=_with_access(settings.kafka))


def _with_access(kafka: KafkaSettings) -> KafkaSettings:
    """The settings of Kafka with the properties that follow from ``security``; what is given as one goes before."""
    return msgspec.structs.replace(kafka, librdkafka={**properties_of(kafka.security), **kafka.librdkafka})


def _contradictions(settings: Settings) -> Iterator[tuple[str, str]]:
    """What the types can't express: (field, what is wrong with it)."""
    yield from _wrong_stages(settings.worker)
    yield from _wrong_files(settings.clickhouse)
    yield from ((f"kafka.security.{name}", detail) for name, detail in wrong_access(settings.kafka.security))
    yield from contradictions_of_alerts(settings.alerts)
    for name, number in _numbers("", settings):
        if not math.isfinite(number):
            yield name, f"Expected a finite number, got {number}"


def _wrong_files(clickhouse: ClickHouseSettings) -> Iterator[tuple[str, str]]:
    for name in ("password_file", "ca"):
        if getattr(clickhouse, name) and not Path(getattr(clickhouse, name)).is_file():
            yield f"clickhouse.{name}", f"there is no file {getattr(clickhouse, name)}"


def _wrong_stages(worker: WorkerSettings) -> Iterator[tuple[str, str]]:
    for name, stages in (("worker.stages", worker.stages), ("worker.pipeline", worker.pipeline)):
        for index, stage in enumerate(stages):
            if stage not in STAGES:
                yield name, f"Expected one of {', '.join(STAGES)}, got {stage!r}"
            if stage in stages[:index]:
                yield name, f"Stage {stage!r} is listed twice"
    for stage in worker.stages:
        if stage not in worker.pipeline:
            yield "worker.stages", f"Stage {stage!r} is not in worker.pipeline"


def _numbers(prefix: str, part: object) -> Iterator[tuple[str, float]]:
    if isinstance(part, Struct):
        for name in part.__struct_fields__:
            yield from _numbers(f"{prefix}.{name}" if prefix else name, getattr(part, name))
    elif isinstance(part, float):
        yield prefix, part
