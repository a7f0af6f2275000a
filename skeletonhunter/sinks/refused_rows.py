"""Rows of records that can't be used: where they stood, why, and how they begin."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from schemas.codec import BadRecord
from skeletonhunter.sinks.columns import whole
from streams.records import Record

SHOWN_BYTES = 500

Frames = dict[str, pl.DataFrame]


def dead_letters(refused: Sequence[tuple[Record, BadRecord]]) -> Frames:
    """One row per record; the same record gives the same row, whoever reports it and however often it is read."""
    records = [record for record, _ in refused]
    errors = [error for _, error in refused]
    columns = {
        "arrival_us": whole([record.arrival_us for record in records]),
        "topic": pl.Series(values=[record.topic for record in records], dtype=pl.String),
        "key": pl.Series(values=[_readable(record.key or b"") for record in records], dtype=pl.String),
        "reason": pl.Series(values=[error.reason for error in errors], dtype=pl.String),
        "detail": pl.Series(values=[error.detail for error in errors], dtype=pl.String),
        "bytes": whole([len(record.value) for record in records]),
        "begins": pl.Series(values=[_readable(record.value[:SHOWN_BYTES]) for record in records], dtype=pl.String),
        "kafka_partition": whole([record.partition for record in records], pl.Int32),
        "kafka_offset": whole([record.offset for record in records], pl.Int64),
    }
    return {"dead_letters": pl.DataFrame(columns)}


def _readable(raw: bytes) -> str:
    return raw.decode(errors="backslashreplace")
