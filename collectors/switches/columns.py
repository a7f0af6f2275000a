"""How do single numbers become rows by queue? A fold: numbers in, columns of ``switch-queues`` out.

Switches tell each number by itself, with its own instant. A row stands for each instant at which a queue's depth was
told (without a depth: for the last instant), with the counters as they were by then; the last row of a batch has the
newest of them, so that two batches always have a pair of counters to compare. A counter that was not told for
``HOLD_US`` is null: what is not known is not carried on. Rows of one queue are in the order of time.
Memory: the last number of each queue and column.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from collectors.switches.readings import Column, Reading

HOLD_US = 30_000_000
MOST_QUEUES = 20_000
COUNTERS: tuple[Column, ...] = ("ecn_marked", "pfc_rx", "pfc_tx", "dropped", "crc_errors")
Queue = tuple[str, int | str]


class Told(Struct, frozen=True):
    """A reading with its instants: by the switch's clock, and when we had it."""

    reading: Reading
    t_us: int
    received_us: int


class _Queue:
    """What is known of one queue: numbers by column, with instant and rank."""

    def __init__(self) -> None:
        self.ranks: dict[Column, int] = {}
        self.known: dict[Column, tuple[int | None, int]] = {}

    def take(self, told: Told) -> bool:
        """Notes a number; False: it is of a kind that is worse than another one that was seen."""
        reading = told.reading
        rank = self.ranks.get(reading.column)
        if rank is not None and reading.rank > rank:
            return False
        self.ranks[reading.column] = reading.rank
        self.known[reading.column] = reading.value, told.t_us
        return True

    def row(self, t_us: int) -> dict[Column, int | None]:
        """The counters as known at an instant."""
        return {
            column: value if t_us - HOLD_US <= at_us else None
            for column, (value, at_us) in self.known.items()
            if column in COUNTERS
        }


class QueueRows:
    """Takes readings, gives columns. Queues beyond ``MOST_QUEUES`` are counted in ``refused``."""

    def __init__(self) -> None:
        self._queues: dict[Queue, _Queue] = {}
        self.refused = 0

    def take(self, batch: Iterable[Told]) -> list[dict[str, Any]]:
        """The columns of one batch, queue by queue."""
        rows: dict[Queue, list[tuple[int, int, int | None, dict[Column, int | None]]]] = {}
        touched: dict[Queue, Told] = {}
        for told in sorted(batch, key=lambda each: each.t_us):
            key = told.reading.port, told.reading.queue
            queue = self._queue(key)
            if queue is None or not queue.take(told):
                continue
            touched[key] = told
            if told.reading.column == "depth_bytes":
                row = (told.t_us, told.received_us, told.reading.value, queue.row(told.t_us))
                rows.setdefault(key, []).append(row)
        for key, told in touched.items():
            newest = self._queues[key].row(told.t_us)
            if key in rows:
                rows[key][-1] = (*rows[key][-1][:3], newest)
            else:
                rows[key] = [(told.t_us, told.received_us, None, newest)]
        return [_columns(key, rows[key]) for key in sorted(rows, key=str) if _tells(rows[key])]

    def _queue(self, key: Queue) -> _Queue | None:
        if key not in self._queues:
            if len(self._queues) >= MOST_QUEUES:
                self.refused += 1
                return None
            self._queues[key] = _Queue()
        return self._queues[key]


def _tells(rows: list[tuple[int, int, int | None, dict[Column, int | None]]]) -> bool:
    """Whether any number is in the rows: a queue of which all is ``N/A`` is one that the switch does not have."""
    return any(depth is not None or any(value is not None for value in row.values()) for _, _, depth, row in rows)


def _columns(key: Queue, rows: list[tuple[int, int, int | None, dict[Column, int | None]]]) -> dict[str, Any]:
    names = [name for name in COUNTERS if any(name in row[3] for row in rows)]
    return {
        "port": key[0],
        "queue": key[1],
        "t_us": [row[0] for row in rows],
        "received_us": [row[1] for row in rows],
        "depth_bytes": [row[2] for row in rows],
        **{name: [row[3].get(name) for row in rows] for name in names},
    }
