"""How is this installation set up? One frozen value, built once in the CLI from a TOML file, the environment and flags.

Precedence: flag over environment (``SKELETONHUNTER_KAFKA__URL=...``: section, two underscores, field) over file over
default.
Every unknown name and every wrong value is refused with one sentence that names where it stood.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from streams.parameters import Parameters
from streams.stages import STAGES

PREFIX = "SKELETONHUNTER_"


class SettingsError(ValueError):
    """Settings that can't be used; the text names the place, the field and what was expected."""


class KafkaSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where Kafka is. ``prefix`` stands before topics and groups; ``librdkafka`` goes to confluent-kafka as it is."""

    url: str = "localhost:9092"
    prefix: str = ""
    partitions: Annotated[int, Meta(ge=1)] = 4
    replication: Annotated[int, Meta(ge=1)] = 1
    librdkafka: dict[str, str | int | float | bool] = {}


class WorkerSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The Faust worker. ``ticker``: make ticks from the wall clock (a replay brings its own)."""

    stages: tuple[str, ...] = tuple(STAGES)
    data_dir: str = ".skeletonhunter"
    store: Annotated[str, Meta(pattern="^(memory|rocksdb)$")] = "memory"
    checkpoint_s: Annotated[float, Meta(gt=0)] = 10.0
    ticker: bool = True
    web_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    dead_letters_per_minute: Annotated[int, Meta(ge=1)] = 600


class ClickHouseSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where ClickHouse is: ``chdb:///path`` (embedded) or ``clickhouse://user:password@host:8123/database``."""

    dsn: str = "chdb://.skeletonhunter/clickhouse"
    database: str = "skeletonhunter"
    batch_rows: Annotated[int, Meta(ge=1)] = 50_000
    batch_s: Annotated[float, Meta(gt=0)] = 1.0


class AlertSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Whom to tell: webhook targets get a JSON body for each change of an incident."""

    webhooks: tuple[str, ...] = ()
    attempts: Annotated[int, Meta(ge=1)] = 8
    timeout_s: Annotated[float, Meta(gt=0)] = 5.0


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that an operator may set."""

    kafka: KafkaSettings = field(default_factory=KafkaSettings)
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    clickhouse: ClickHouseSettings = field(default_factory=ClickHouseSettings)
    alerts: AlertSettings = field(default_factory=AlertSettings)
    parameters: Parameters = field(default_factory=Parameters)


def load_settings(
    path: Path | None, environment: Mapping[str, str], flags: Mapping[str, object] | None = None
) -> Settings:
    """Settings from a TOML file (None = none), the environment, and flags named ``section.field`` (None = not given).

    Raises:
        SettingsError: naming the place, the field and what was expected.
    """
    tree: dict[str, Any] = _read(path) if path else {}
    for name, text in environment.items():
        if name.startswith(PREFIX) and "__" in name:
            _put(tree, name.removeprefix(PREFIX).lower().split("__"), text, place=f"environment variable {name}")
    for name, value in (flags or {}).items():
        if value is not None:
            _put(tree, name.split("."), value, place=f"flag for {name}")
    try:
        settings = msgspec.convert(tree, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{path or 'settings'}: {error}") from error
    return _check(settings, str(path or "settings"))


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError as error:
        raise SettingsError(f"{path}: there is no such file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not TOML: {error}") from error


def _put(tree: dict[str, Any], names: list[str], value: object, place: str) -> None:
    for name in names[:-1]:
        below = tree.setdefault(name, {})
        if not isinstance(below, dict):
            raise SettingsError(f"{place}: {name!r} is a value, not a section")
        tree = below
    tree[names[-1]] = value


def _check(settings: Settings, place: str) -> Settings:
    unknown = [stage for stage in settings.worker.stages if stage not in STAGES]
    if unknown:
        raise SettingsError(f"{place}: unknown stage {unknown[0]!r} - at `$.worker.stages`, known: {', '.join(STAGES)}")
    return settings
