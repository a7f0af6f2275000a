"""How do records of several partitions become one file in order of arrival? An external merge sort, per topic.

Rows wait in memory up to ``ROW_BYTES``; then they are sorted and go to a temporary file. At the end the files are
merged. Memory: ``ROW_BYTES`` per topic and one row per file.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from heapq import merge
from tempfile import TemporaryFile
from typing import IO, NamedTuple

ROW_BYTES = 64 * 1024 * 1024


class Row(NamedTuple):
    """A record, in order of arrival, then of its place in Kafka."""

    arrival_us: int
    partition: int
    offset: int
    key: str | None
    raw: bytes


class Spool:
    """The rows of one topic. ``count`` is how many there are."""

    def __init__(self, row_bytes: int = ROW_BYTES) -> None:
        self.count = 0
        self.row_bytes = row_bytes
        self._waiting: list[Row] = []
        self._bytes = 0
        self._runs: list[IO[bytes]] = []

    def add(self, row: Row) -> None:
        """Takes a row."""
        self.count += 1
        self._waiting.append(row)
        self._bytes += len(row.raw)
        if self._bytes > self.row_bytes:
            self._put_aside()

    def rows(self) -> Iterator[Row]:
        """All rows in order; ends the spool."""
        self._waiting.sort(key=_place)
        yield from merge(*map(_read, self._runs), self._waiting, key=_place)
        for run in self._runs:
            run.close()

    def _put_aside(self) -> None:
        run = TemporaryFile(prefix="record-")  # noqa: SIM115 it is closed when it has been read
        for row in sorted(self._waiting, key=_place):
            pickle.dump(tuple(row), run, protocol=5)
        run.seek(0)
        self._runs.append(run)
        self._waiting, self._bytes = [], 0


def _place(row: Row) -> tuple[int, int, int]:
    return row.arrival_us, row.partition, row.offset


def _read(run: IO[bytes]) -> Iterator[Row]:
    while True:
        try:
            yield Row(*pickle.load(run))
        except EOFError:
            return
