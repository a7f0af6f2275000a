"""How does a replay in one process write rows? The same writer, fed with values, in batches."""

from __future__ import annotations

import threading
from collections import defaultdict
from types import TracebackType

from schemas.envelope import Message, Value
from skeletonhunter.settings import ClickHouseSettings
from skeletonhunter.sinks.clickhouse import ClickHouseWriter, Refusal
from skeletonhunter.sinks.connection import database_of, is_embedded
from skeletonhunter.sinks.received import Received
from skeletonhunter.sinks.rollups import refresh
from skeletonhunter.sinks.rows import STORED_TOPICS
from skeletonhunter.sinks.running import ready_database

BATCH_MESSAGES = 5_000


class InProcessSink:
    """A context: migrates the database, takes messages, and has written all of them when it ends without an error."""

    def __init__(self, settings: ClickHouseSettings) -> None:
        self.settings = settings
        self.rows = 0
        self.refused: list[Refusal] = []
        self._waiting: dict[str, list[Received]] = defaultdict(list)

    def __enter__(self) -> InProcessSink:
        self._database = ready_database(self.settings, threading.Event(), migrate=True)
        self._writer = ClickHouseWriter(self._database.__enter__(), database_of(self.settings))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.flush()
                if is_embedded(self.settings.dsn):  # a server does so by itself, and may not let us ask
                    refresh(self._writer.client, self._writer.database)
        finally:
            self._database.__exit__(kind, error, trace)

    def observe(self, topic: str, _key: str, arrival_us: int, value: Value) -> None:
        """Takes one message; those of topics without a table are passed by.

        Raises:
            clickhouse_connect.driver.exceptions.DatabaseError: an insert failed.
        """
        if topic in STORED_TOPICS and isinstance(value, Message):
            waiting = self._waiting[topic]
            waiting.append(Received(value, arrival_us))
            if len(waiting) >= BATCH_MESSAGES:
                self._write(topic)

    def flush(self) -> None:
        """Writes what waits."""
        for topic in list(self._waiting):
            self._write(topic)

    def _write(self, topic: str) -> None:
        written = self._writer.write(topic, self._waiting.pop(topic))
        self.rows += written.rows
        self.refused.extend(written.refused)
