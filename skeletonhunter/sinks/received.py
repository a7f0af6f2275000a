"""A message as a sink gets it: the value, when it came in, and where in Kafka it stands."""

from __future__ import annotations

from typing import NamedTuple

from schemas.envelope import Message


class Received(NamedTuple):
    """``arrival_us`` is the record's time stamp, us since the epoch; partition and offset are None outside Kafka."""

    value: Message
    arrival_us: int
    partition: int | None = None
    offset: int | None = None
