"""A disk that is full, or fails, costs what can't be kept on it; it does not end the agent, and is said once."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.collectors.test_publishing import Bench, message


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """An agent's publisher after an outage, with messages in the spool that now go to Kafka."""
    made = Bench(tmp_path)
    made.broker.is_there = False
    for number in range(100):
        made.publish(message(number, size=5000))
        made.run(1.0)
    assert made.publisher.is_away
    made.broker.is_there = True
    yield made
    made.publisher.close(0.0)


def test_a_cursor_that_can_not_be_written_ends_nobody(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    (bench.folder / "cursor.new").mkdir()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            bench.run(1.0)
            bench.publisher.save()
    assert bench.broker.log == bench.sent
    assert sum("how far the spool was sent" in line for line in caplog.messages) == 1
    (bench.folder / "cursor.new").rmdir()
    bench.publisher.save()
    assert (bench.folder / "cursor").exists()


def test_an_agent_that_ends_then_gives_its_spool_back(bench: Bench) -> None:
    bench.run(10.0)
    (bench.folder / "cursor.new").mkdir()
    assert bench.restart() == 0
    (bench.folder / "cursor.new").rmdir()


def test_what_can_not_be_removed_stays(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, missing_ok: bool = False) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(self))

    monkeypatch.setattr(Path, "unlink", refuse)
    bench.run(10.0)
    assert bench.broker.log == bench.sent
    assert not bench.publisher.is_away


def test_what_can_not_be_read_now_is_read_later(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    pread, failing = os.pread, [True]

    def fail(*arguments: Any) -> bytes:
        if failing:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return pread(*arguments)

    monkeypatch.setattr(os, "pread", fail)
    bench.run(5.0)
    failing.clear()
    bench.run(10.0)
    assert bench.broker.log == bench.sent
