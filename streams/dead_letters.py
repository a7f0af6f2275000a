"""What becomes of a record that a stage can't use? It is kept whole, with the reason; too many of them stop the worker.

The rate is counted per minute of arrival time, not by a clock: it is the same in a replay at any speed.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter

import msgspec

from schemas.codec import BadRecord
from schemas.control import DeadLetter
from streams.records import Record

MINUTE_US = 60_000_000
KEPT_MINUTES = 10
KEY_BYTES = 2048
LETTER_ROOM = 4 * KEY_BYTES
"""Bytes of a record of the dead letters beside its value: key, headers, framing."""


class TooManyDeadLettersError(RuntimeError):
    """More records than the bound can't be used: something bigger is wrong."""


def dead_letter(record: Record, error: BadRecord, most_bytes: int | None = None) -> bytes:
    """The value of the record in the dead-letter topic; beyond ``most_bytes`` without the record, which stays in Kafka.

    A letter is a third larger than its record: one of a record of the greatest size could not be sent, and a worker
    that can't send it would stop at it for ever.
    """
    letter = _letter(record, error)
    if most_bytes is None or len(letter) <= most_bytes:
        return letter
    detail = f"{error.detail}; its {len(record.value)} bytes are too large for a letter, they stay in Kafka"
    return _letter(record._replace(value=b"", key=short_key(record)), BadRecord(error.reason, detail))


def short_key(record: Record) -> bytes | None:
    """The record's key, cut where it is longer than any of ours."""
    return None if record.key is None else record.key[:KEY_BYTES]


def _letter(record: Record, error: BadRecord) -> bytes:
    letter = DeadLetter(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=None if record.key is None else record.key.decode(errors="backslashreplace"),
        reason=error.reason,
        detail=error.detail,
        arrival_us=record.arrival_us,
        value_base64=b64encode(record.value).decode(),
    )
    return msgspec.json.encode(letter)


class DeadLetterRate:
    """Counts dead letters of one worker against the bound."""

    def __init__(self, per_minute: int) -> None:
        self.per_minute = per_minute
        self._minutes: dict[int, int] = {}
        self.counts: Counter[tuple[str, str]] = Counter()
        """By topic and reason, since the program began."""

    def count(self, record: Record, error: BadRecord) -> None:
        """Counts one more.

        Raises:
            TooManyDeadLettersError: the bound is passed.
        """
        self.counts[record.topic, error.reason] += 1
        minute = record.arrival_us // MINUTE_US
        self._minutes[minute] = number = self._minutes.get(minute, 0) + 1
        if number > self.per_minute:
            raise TooManyDeadLettersError(
                f"{number} records that arrived within a minute can't be used, expected at most {self.per_minute}; the "
                f"last: {record.topic}, partition {record.partition}, offset {record.offset}: {error}"
            )
        for old in [old for old in self._minutes if old < minute - KEPT_MINUTES]:
            del self._minutes[old]
