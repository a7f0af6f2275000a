"""An alert sender that is told to end before it knows what was told tells nothing: it would tell it again."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from schemas.codec import encode
from skeletonhunter.alerting.targets import plain_target
from skeletonhunter.settings import Settings
from skeletonhunter.sinks.alerts import AlertLoop
from skeletonhunter.sinks.kafka_source import Reading
from streams.records import Record
from tests.unit.alerting.incidents import Phone, incident


class Nothing:
    """Stands for what the loop has beside the sender: it is there and does nothing."""

    def __init__(self, *_: Any) -> None:
        self.committed: list[Any] = []

    def catch_up(self, _: Any) -> None:
        pass

    def flush(self, _: threading.Event) -> bool:
        return True

    def write(self, *_: Any) -> None:
        pass

    def read(self, *_: Any) -> Reading:
        value = incident()
        record = Record("incidents", 0, 7, value.incident.encode(), encode("incidents", value), value.t_us)
        return Reading([record], {("incidents", 0): 8})

    def commit(self, positions: Any) -> None:
        self.committed.append(positions)


def test_what_was_told_before_is_not_told_again_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def remember(_teller: Any, _settings: Any, stop: threading.Event) -> None:
        stop.set()  # Kafka is away, and the program is told to end

    for name in ("DeadLetters", "AlertLog"):
        monkeypatch.setattr(f"skeletonhunter.sinks.alerts.{name}", Nothing)
    monkeypatch.setattr("skeletonhunter.sinks.alerts.remember", remember)
    loop, phone, source = (
        AlertLoop(plain_target("https://x.example/"), Settings(), threading.Event()),
        Phone(),
        Nothing(),
    )
    loop._move(source, Nothing(), phone)  # type: ignore[arg-type]
    assert phone.calls == []
    assert source.committed == []
