"""What does a ClickHouse sink say of itself? What it has read, what ClickHouse has taken, and what waits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from schemas.metrics import Reading
from skeletonhunter.metrics.readings import Flow, Start, dead_letters

if TYPE_CHECKING:
    from skeletonhunter.sinks.clickhouse_sink import ClickHouseSink


def sink_readings(start: Start, flow: Flow, sinks: Sequence[ClickHouseSink]) -> Iterator[Reading]:
    """Values of the sink; before it has found ClickHouse only who and since when."""
    yield from start.readings()
    yield from flow.readings("sink")
    for sink in sinks:
        yield Reading("sink_rows_total", sink.counts.rows)
        yield Reading("sink_inserts_total", sink.counts.inserts)
        yield Reading("sink_refused_rows_total", sink.counts.refused)
        yield Reading("sink_pending_rows", sink.pending.rows)
        yield from dead_letters("sink", dict(sink.dead_letters.counts))
