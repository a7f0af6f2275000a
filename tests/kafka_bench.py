"""What tests over Kafka have in common: settings for a broker, the toy pipeline as processes, the local outcome."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

from skeletonhunter.embedded.broker import FETCH_WAIT_MS, SESSION_S
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.replaying.kafka import Cast, replay_with
from skeletonhunter.replaying.kafka_services import Program
from skeletonhunter.replaying.local import LocalReplay
from skeletonhunter.replaying.outcome import ReplayOutcome, incident_lines
from skeletonhunter.replaying.request import ReplayRequest
from skeletonhunter.settings import KafkaSettings, Settings, WorkerSettings
from tests.toy_pipeline import TOYS

NAMED_BROKER = "SKELETONHUNTER_TEST_KAFKA"
EMBEDDED = NAMED_BROKER not in os.environ


def kafka_settings(broker: str, partitions: int, prefix: str = "") -> KafkaSettings:
    """Settings for a broker that may be the embedded one."""
    return KafkaSettings(
        url=broker, prefix=prefix, partitions=partitions, session_s=SESSION_S, fetch_wait_ms=FETCH_WAIT_MS
    )


def toy_settings(
    broker: str, folder: Path, partitions: int = 4, store: Literal["memory", "rocksdb"] = "memory"
) -> Settings:
    """Settings of the toy pipeline."""
    return Settings(
        kafka=kafka_settings(broker, partitions),
        worker=WorkerSettings(
            stages=tuple(TOYS), pipeline=tuple(TOYS), checkpoint_s=5.0, data_dir=str(folder / "data"), store=store
        ),
    )


def toy_worker(name: str = "work", stages: str | None = None) -> Program:
    """A worker with the toy stages, or some of them."""
    options = ("--stages", stages) if stages else ()
    return Program(name, (sys.executable, "-m", "tests.toy_worker", "--config", "{settings}", *options))


@contextmanager
def toys_in_the_local_engine() -> Iterator[None]:
    """The local engine runs the toy stages for a while."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streams.local.STAGES", TOYS)
        patch.setattr("skeletonhunter.replaying.local.STAGES", TOYS)
        yield


def toys_locally(recording: Path) -> ReplayOutcome:
    """What the local engine says."""
    with toys_in_the_local_engine(), Recording(recording) as opened:
        return LocalReplay(Settings().parameters, tuple(TOYS)).run(opened)


def toys_over_kafka(recording: Path, settings: Settings, cast: Cast, speed: float | None = 1000.0) -> ReplayOutcome:
    """What comes out over Kafka."""
    with Recording(recording) as opened:
        return replay_with(cast, ReplayRequest(opened, settings, speed, broker=settings.kafka.url))


def assert_same(found: ReplayOutcome, expected: ReplayOutcome) -> None:
    """The same incidents, byte for byte, in all their states."""
    assert incident_lines(found.incidents()) == incident_lines(expected.incidents())
    assert incident_lines(found.updates) == incident_lines(expected.updates)
    assert found.messages == expected.messages
