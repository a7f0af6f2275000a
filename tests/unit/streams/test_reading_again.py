"""Going back to an offset happens in the thread in which aiokafka works, and leaves another's partition to it."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Any

import faust
import pytest
from aiokafka.errors import IllegalStateError
from faust.types import TP

from streams.faust_transport import use_own_consumer

MINE, ANOTHERS = TP("probe-results", 0), TP("probe-results", 1)


@dataclass
class Kafka:
    """aiokafka's consumer: goes back, in some thread, where the partition is assigned."""

    sought: list[tuple[TP, int, int]] = field(default_factory=list)

    def seek(self, tp: TP, offset: int) -> None:
        if tp != MINE:
            raise IllegalStateError(f"No current assignment for partition {tp}")
        self.sought.append((tp, offset, threading.get_ident()))


async def read_again(*places: tuple[TP, int]) -> tuple[Kafka, int]:
    """Goes back to these offsets; aiokafka as it was used, and the thread in which the app ran."""
    app = faust.App("reading-again", broker="kafka://127.0.0.1:1", web_enabled=False)
    use_own_consumer(app, 100)
    consumer: Any = app.transport.create_consumer(
        callback=print, on_partitions_revoked=print, on_partitions_assigned=print
    )
    kafka = Kafka()
    thread = consumer._thread
    thread.thread_loop.close()
    thread._consumer = kafka

    async def in_its_thread(method: Any, *args: Any) -> Any:
        return await asyncio.to_thread(lambda: asyncio.run(method(*args)))

    thread.call_thread = in_its_thread
    for tp, offset in places:
        await consumer.seek(tp, offset)
    return kafka, threading.get_ident()


def test_it_goes_back_where_aiokafka_works() -> None:
    kafka, here = asyncio.run(read_again((MINE, 7)))
    ((tp, offset, thread),) = kafka.sought
    assert (tp, offset) == (MINE, 7)
    assert thread != here


def test_a_partition_that_was_taken_away_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        kafka, _ = asyncio.run(read_again((ANOTHERS, 3)))
    assert kafka.sought == []
    assert "probe-results, partition 1, is no longer ours to be read again" in caplog.text
