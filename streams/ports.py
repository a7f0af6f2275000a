"""Through what does a runner act on the world? Protocols of sending and keeping; Faust is behind them."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from typing import NamedTuple, Protocol


class Written(NamedTuple):
    """Where a record was written."""

    partition: int
    offset: int


class Outgoing(NamedTuple):
    """A record to write; ``topic`` without prefix; ``partition`` None = by its key; it arrives at ``arrival_us``."""

    topic: str
    key: bytes | None
    value: bytes
    arrival_us: int
    partition: int | None = None


class Outbox(Protocol):
    """Where a runner sends: Kafka."""

    async def send(self, record: Outgoing) -> Awaitable[Written]:
        """Takes the record; what it returns comes true when the broker has the record."""


class Shelf(Protocol):
    """Where a runner keeps its state: a table with a changelog."""

    def rows(self) -> Mapping[bytes, bytes]:
        """All that is kept."""

    async def put(self, partition: int, rows: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Writes rows in this order (None: deletes them), the last one only after the changelog has the others.

        Returns when it has all.
        """


class Offsets(Protocol):
    """Where a runner says what it does not need any more."""

    def let_go(self, stage: str, partition: int, safe: Mapping[str, int]) -> None:
        """Records of ``safe``'s topics below these offsets will not be needed again by this stage."""
