"""How do topics get into ClickHouse for ever? Read, decode, insert, and only then move the offsets.

One thread reads and decodes while another inserts the batch before; at most one insert is under way. (The embedded
engine shares Python's lock, and decoding beside it makes both slower, so there it is one after the other.) While
ClickHouse is away the insert is tried again with back-off, reading holds once a batch is full, and offsets stay. A
crash between insert and commit repeats rows, which replace themselves. Another failure of an insert ends the sink: it
is a fault of ours or of the database's, and a supervisor that starts it again loses nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

import tenacity

from skeletonhunter.settings import Settings
from skeletonhunter.sinks.backoff import while_clickhouse_is_away
from skeletonhunter.sinks.clickhouse import ClickHouseWriter
from skeletonhunter.sinks.connection import database_of, is_embedded
from skeletonhunter.sinks.dead_letters import DeadLetters
from skeletonhunter.sinks.garbage import rare_collections
from skeletonhunter.sinks.intake import Arrivals, Intake
from skeletonhunter.sinks.kafka_source import KafkaSource, Reading, Stopped
from skeletonhunter.sinks.pending import Pending
from skeletonhunter.sinks.refused_rows import dead_letters
from skeletonhunter.sinks.rows import Frames

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

_log = logging.getLogger(__name__)

GROUP = "sink"
"""The consumer group, without prefix."""

CHUNK = 5_000
"""Records that are decoded and made into rows at a time, at most: the more, the cheaper a column (about 20 us each)."""

POLL_S = 0.1


@dataclass(slots=True)
class SinkCounts:
    """What became of all records: ``refused`` did not fit their table, ``left`` are reported by a stage."""

    records: int = 0
    rows: int = 0
    inserts: int = 0
    dead_letters: int = 0
    left: int = 0
    refused: int = 0


class ClickHouseSink:
    """Moves records from ``source`` to ``writer`` until ``stop`` is set."""

    def __init__(self, source: KafkaSource, settings: Settings, client: Client, stop: threading.Event) -> None:
        self.source = source
        self.writer = ClickHouseWriter(client, database_of(settings.clickhouse))
        self.dead_letters = DeadLetters(settings.kafka, settings.worker.dead_letters_per_minute)
        self.intake = Intake(settings.kafka.max_message_bytes, settings.parameters.limits)
        self.settings = settings.clickhouse
        self.one_at_a_time = is_embedded(settings.clickhouse.dsn)
        self.stop = stop
        self.counts = SinkCounts()
        self.pending = Pending()
        self.under_way: tuple[Pending, Future[bool]] | None = None
        source.on_lost = self._forget

    def run(self) -> SinkCounts:
        """Until ``stop``; then what has been read is written, once, if ClickHouse is there.

        Raises:
            TooManyDeadLettersError: too many records can't be used.
            clickhouse_connect.driver.exceptions.DatabaseError: ClickHouse refused an insert for good.
        """
        with ThreadPoolExecutor(1, "insert") as inserter, rare_collections():
            try:
                self._move(inserter)
            except Stopped:
                _log.warning("ended while ClickHouse was away: what was not written will be read again")
        return self.counts

    def _move(self, inserter: ThreadPoolExecutor) -> None:
        while not self.stop.is_set():
            self._read(self.source.read(CHUNK, POLL_S))
            if self._is_due():
                self._settle()
                self._start(inserter)
                if self.one_at_a_time:
                    self._settle()
            elif self.under_way and self.under_way[1].done():
                self._settle()
        self._settle()
        self._start(inserter)
        self._settle()

    def _is_due(self) -> bool:
        return self.pending.is_due(self.settings.batch_rows, self.settings.batch_s, time.monotonic())

    def _read(self, reading: Reading) -> None:
        self.counts.records += len(reading.records)
        arrivals = self.intake.read(reading.records)
        for topic, received in arrivals.received.items():
            tables, refused = self.writer.rows(topic, received)
            self.pending.add(tables)
            for refusal in refused:
                _log.error("left out: %s", refusal.why)
            self.counts.refused += len(refused)
        self._report(arrivals)
        self.pending.add(dead_letters([*arrivals.ours, *arrivals.theirs]))
        self.pending.pass_by(reading.positions, time.monotonic())

    def _report(self, arrivals: Arrivals) -> None:
        self.counts.left += arrivals.left_to_stages
        for record, error in arrivals.ours:
            self.dead_letters.write(record, error)
            self.counts.dead_letters += 1

    def _start(self, inserter: ThreadPoolExecutor) -> None:
        batch, self.pending = self.pending, Pending()
        self.under_way = (batch, inserter.submit(self._insert, batch.merged()))

    def _settle(self) -> None:
        """Waits for the insert under way, staying in the group, and commits what it covers.

        Raises:
            Stopped: it was given up; nothing after it may be committed either.
        """
        if self.under_way is None:
            return
        batch, insert = self.under_way
        if not insert.done():
            self.source.hold(lambda seconds: bool(wait([insert], seconds).done))
        self.under_way = None
        if not (insert.result() and self.dead_letters.flush(self.stop)):
            raise Stopped
        self.source.commit(batch.positions)
        self.counts.rows += batch.rows
        self.counts.inserts += 1

    def _insert(self, tables: Frames) -> bool:
        """True when ClickHouse has all rows, False when the program was to end while ClickHouse was away."""
        retrying = while_clickhouse_is_away(self.stop, _log_absence)
        try:
            for name, frame in tables.items():
                retrying(self.writer.insert, {name: frame})
        except tenacity.RetryError:
            return False
        return True

    def _forget(self) -> None:
        """Partitions were taken away: what is not under way will be read again."""
        self.pending = Pending()


def _log_absence(state: tenacity.RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    first = str(error).splitlines()[0] if error else ""
    _log.warning("ClickHouse is away (attempt %d), offsets stay: %s", state.attempt_number, first)
