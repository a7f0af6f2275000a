"""How do messages get into ClickHouse? ``ClickHouseWriter.write(topic, received)``, the same for a server and embedded.

Rows are built per batch and inserted as Arrow, one insert per table. A row that comes again replaces itself (its
sorting key holds its producer, boot, seq and place), so a caller may write a batch twice, and must when an insert
failed: offsets move after the return of ``write``. A message that no column can hold is refused, alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skeletonhunter.sinks.received import Received
from skeletonhunter.sinks.rows import Frames, frames

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

INSERT_SETTINGS = {
    "async_insert": 0,  # the effect must have happened when the call returns
    "distributed_foreground_insert": 1,  # on a cluster, too: when the shards have the rows
    "max_partitions_per_insert_block": 0,  # event times of a batch may be years apart; refusing it would stop the sink
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A message that does not fit its table, and why."""

    received: Received
    why: str


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a batch: rows inserted in all tables, messages refused."""

    rows: int
    refused: tuple[Refusal, ...] = ()


class ClickHouseWriter:
    """Inserts messages into the tables of ``database``, which has been migrated."""

    def __init__(self, client: Client, database: str) -> None:
        self.client = client
        self.database = database

    def write(self, topic: str, received: Sequence[Received]) -> Written:
        """Inserts messages of one topic; returns when ClickHouse has them.

        Raises:
            KeyError: the topic has no table.
            clickhouse_connect.driver.exceptions.DatabaseError: an insert failed, some tables may have their rows.
        """
        tables, refused = self.rows(topic, received)
        return Written(self.insert(tables), tuple(refused))

    def rows(self, topic: str, received: Sequence[Received]) -> tuple[Frames, list[Refusal]]:
        """The rows of messages of one topic, by table, and the messages that have none because they do not fit.

        Raises:
            KeyError: the topic has no table.
        """
        try:
            return frames(topic, received), []
        except _UNFIT:
            fitting, refused = _sift(topic, received)
            return frames(topic, fitting), refused

    def insert(self, tables: Frames) -> int:
        """Inserts rows, one insert per table that has any; their number.

        Raises:
            clickhouse_connect.driver.exceptions.DatabaseError: an insert failed, some tables may have their rows.
        """
        filled = {name: frame for name, frame in tables.items() if frame.height}
        for name, frame in filled.items():
            self.client.insert_arrow(name, frame.to_arrow(), database=self.database, settings=INSERT_SETTINGS)
        return sum(frame.height for frame in filled.values())


_UNFIT = (OverflowError, TypeError, ValueError)
"""What a column raises at a value that it can't hold."""


def _sift(topic: str, received: Sequence[Received]) -> tuple[list[Received], list[Refusal]]:
    """Tries the messages one by one, when together they can't be turned into rows."""
    fitting: list[Received] = []
    refused: list[Refusal] = []
    for each in received:
        try:
            frames(topic, [each])
        except _UNFIT as error:
            refused.append(Refusal(each, f"{topic}: {error}"))
        else:
            fitting.append(each)
    return fitting, refused
