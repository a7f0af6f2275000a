"""Rows of what is measured all the time: probe trains, counters, bursts, queues, training steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from schemas.telemetry import QueueColumns, RnicColumns
from skeletonhunter.sinks.columns import Batch, lists, real, text, whole

Frames = dict[str, pl.DataFrame]


def probe_results(batch: Batch) -> Frames:
    """One row per train."""
    values = batch.values
    trains = [train for value in values for train in value.results]
    own = {
        "src": text(value.src for value in values),
        "plan_version": whole(value.plan_version for value in values),
    }
    rows = {
        "t_us": whole([train.t_us for train in trains]),
        "dst": text([train.dst for train in trains]),
        "kind": text([train.kind for train in trains]),
        "outcome": text([train.outcome for train in trains]),
        "sent": whole([train.sent for train in trains]),
        "lost": whole([train.lost for train in trains]),
        "rtt_us": lists([train.rtt_us for train in trains], pl.Float64),
        "prober_delay_us": real([train.prober_delay_us for train in trains]),
        "responder_delay_us": real([train.responder_delay_us for train in trains]),
        "sport": whole([train.sport for train in trains], pl.UInt16),
        "path": lists([train.path for train in trains]),
        "late": whole([train.late for train in trains]),
        "timestamps": text([train.timestamps for train in trains]),
        "reason": text([train.reason for train in trains]),
    }
    return {"probe_results": batch.frame(own, rows, [len(value.results) for value in values])}


def rnic_counters(batch: Batch) -> Frames:
    """One row per RNIC and sample; further counters as two lists of one length."""
    values = batch.values
    rnics = [rnic for value in values for rnic in value.rnics]
    sizes = [len(rnic.t_us) for rnic in rnics]
    own = {
        "container": text(value.container for value in values),
        "host": text(value.host for value in values),
    }
    rows = {
        "t_us": whole(_column(rnics, "t_us")),
        "rnic": text([rnic.rnic for rnic, size in zip(rnics, sizes, strict=True) for _ in range(size)]),
        "tx_bytes": whole(_column(rnics, "tx_bytes")),
        "rx_bytes": whole(_column(rnics, "rx_bytes")),
        "counter.name": lists([names for rnic in rnics for names in _counter_names(rnic)]),
        "counter.value": lists([samples for rnic in rnics for samples in _counter_values(rnic)], pl.UInt64),
    }
    counts = [sum(len(rnic.t_us) for rnic in value.rnics) for value in values]
    return {"rnic_counters": batch.frame(own, rows, counts)}


def rnic_bursts(batch: Batch) -> Frames:
    """One row per burst; it counts at its end."""
    values = batch.values
    bursts = [burst for value in values for burst in value.bursts]
    rows = {
        "t_us": whole([burst.end_us for burst in bursts]),
        "start_us": whole([burst.start_us for burst in bursts]),
        "bytes": whole([burst.bytes for burst in bursts]),
        "direction": text([burst.direction for burst in bursts]),
    }
    own = {"endpoint": text(value.endpoint for value in values)}
    return {"rnic_bursts": batch.frame(own, rows, [len(value.bursts) for value in values])}


def switch_queues(batch: Batch) -> Frames:
    """One row per queue and sample."""
    values = batch.values
    queues = [queue for value in values for queue in value.ports]
    sizes = [len(queue.t_us) for queue in queues]
    rows = {
        "t_us": whole(_column(queues, "t_us")),
        "port": text([queue.port for queue, size in zip(queues, sizes, strict=True) for _ in range(size)]),
        "queue": text([str(queue.queue) for queue, size in zip(queues, sizes, strict=True) for _ in range(size)]),
    }
    for name in ("depth_bytes", "ecn_marked", "pfc_rx", "pfc_tx", "dropped", "crc_errors", "received_us"):
        rows[name] = whole(_column(queues, name))
    own = {
        "switch": text(value.switch for value in values),
        "software": text(value.software for value in values),
    }
    counts = [sum(len(queue.t_us) for queue in value.ports) for value in values]
    return {"switch_queues": batch.frame(own, rows, counts)}


def job_progress(batch: Batch) -> Frames:
    """One row per finished step."""
    values = batch.values
    own = {"step": whole(value.step for value in values), "step_s": real(value.step_s for value in values)}
    return {"job_progress": batch.frame(own)}


def _column(parts: Sequence[RnicColumns | QueueColumns], name: str) -> list[Any]:
    """One column of all parts in a row; a column that a part lacks is unknown throughout."""
    column: list[Any] = []
    for part in parts:
        samples = getattr(part, name)
        column.extend([None] * len(part.t_us) if samples is None else samples)
    return column


def _counter_names(rnic: RnicColumns) -> list[tuple[str, ...]]:
    return [tuple(rnic.counters)] * len(rnic.t_us)


def _counter_values(rnic: RnicColumns) -> list[tuple[int | None, ...]]:
    if not rnic.counters:
        return [()] * len(rnic.t_us)
    return list(zip(*rnic.counters.values(), strict=True))
