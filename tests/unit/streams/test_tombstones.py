"""A deleted key is no message and no bad record; bytes that look like the sign for it are a bad record."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from schemas.codec import BadRecord, decode
from streams.faust_ports import record_of
from streams.records import TOMBSTONE


def message(value: bytes | None) -> SimpleNamespace:
    return SimpleNamespace(
        topic="p.endpoint-map", partition=0, offset=3, key=b"j", value=value, timestamp=1000, headers=None
    )


def test_no_value_is_a_tombstone_and_nothing_else_is() -> None:
    assert record_of(message(None), "endpoint-map").value is TOMBSTONE
    for value in (b"", bytes(bytearray(TOMBSTONE))):
        record = record_of(message(value), "endpoint-map")
        assert record.value is not TOMBSTONE
        with pytest.raises(BadRecord):
            decode(record.topic, record.key, record.value, record.arrival_us)
