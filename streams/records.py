"""What is a record to a stage? Key, bytes, its place in Kafka, and when it arrived. Pure.

``arrival_us`` is exact in the header ``arrival_us`` (ASCII digits); a record without it arrived at its Kafka time
stamp, which knows only milliseconds. Collectors set both from one clock, a replay sets both from its recording, and a
stage sets both to the tick that made it send: so all readers of a record, in Kafka or not, see the same arrival.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from schemas.instants import LATEST_US

ARRIVAL_HEADER = "arrival_us"

Headers = list[tuple[str, bytes]]

TOMBSTONE = b"\x00no value"
"""Stands for "no value", by identity: equal bytes that came from Kafka are a bad record like others."""


class Record(NamedTuple):
    """A record as it stands in Kafka; ``topic`` without prefix."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes
    arrival_us: int


def arrival_headers(arrival_us: int) -> Headers:
    """The headers that say when a record arrived."""
    return [(ARRIVAL_HEADER, b"%d" % arrival_us)]


def arrival_of(headers: Iterable[tuple[str, bytes | None]] | None, timestamp_ms: int) -> int:
    """When a record arrived, microseconds since the epoch; a header that is no number counts as absent.

    No time stamp is taken for one that is later than the contract's latest instant.
    """
    for name, text in headers or ():
        if name == ARRIVAL_HEADER and text is not None and text.isdigit() and len(text) <= 18:
            return min(int(text), LATEST_US)
    return min(max(0, timestamp_ms) * 1000, LATEST_US)
