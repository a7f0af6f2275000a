"""Whoever waits for a replay that stands still is told what it waits for, and no more once it goes on."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from skeletonhunter.replaying.kafka_progress import PipelineProgress
from skeletonhunter.replaying.kafka_services import Services
from skeletonhunter.replaying.kafka_standstill import STANDSTILL_S, Standstill
from skeletonhunter.settings import KafkaSettings
from streams.topology import pipeline
from tests.toy_pipeline import TOYS


@dataclass
class Clock:
    at_s: float = 100.0

    def __call__(self) -> float:
        return self.at_s


@dataclass
class Workers:
    """Programs that have said something."""

    children: dict[str, Any] = field(default_factory=lambda: {"work": None})

    def tail(self, name: str) -> str:
        return f"{name} reads nothing"


@pytest.fixture
def progress() -> Any:
    follower = PipelineProgress(KafkaSettings(url="127.0.0.1:1"), pipeline(tuple(TOYS), 2, TOYS))
    yield follower
    follower.close()


def test_it_says_what_is_waited_for_and_stops_saying_it(
    progress: PipelineProgress, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    standstill = Standstill(progress, cast(Services, Workers()), clock)

    def said_after(seconds: float) -> list[str]:
        caplog.clear()
        clock.at_s += seconds
        with caplog.at_level(logging.WARNING):
            standstill.look()
        return [record.getMessage() for record in caplog.records if "nothing was handled" in record.getMessage()]

    assert said_after(0) == said_after(STANDSTILL_S / 2) == []
    (said,) = said_after(STANDSTILL_S / 2)
    first, *rest = said.splitlines()
    assert first == "nothing was handled for 60 s; the replay waits for verdicts/0, verdicts/1"
    assert rest == ["work said last:", "work reads nothing"]
    assert said_after(1) == []
    progress._handled["verdicts/1"] = 5
    assert said_after(STANDSTILL_S) == []
    (said,) = said_after(STANDSTILL_S)
    assert "waits for verdicts/0\n" in said
    assert said_after(STANDSTILL_S)
