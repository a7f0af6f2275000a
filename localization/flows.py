"""What do virtual switches and RNICs hold? The newest rows of every flow table, and how each row changed.
 Rows are keyed by (flow, at). A complete snapshot that lacks a row ends its presence; a partial one says nothing
about what it lacks. Only changes are kept (present, offloaded, path, next), the last ``CHANGES`` of each row, so
memory goes with the number of flows, not with the number of snapshots: about 1 kB a row. Cost: 1 us a row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import msgspec

from schemas.telemetry import FlowEntry, FlowTables

CHANGES = 16
NUMBERS = 32
AROUND_US = 1_000_000
MOST_HOLES = 0.25
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """From ``t_us`` on (a snapshot's time) a row was like this."""

    t_us: int
    present: bool
    offloaded: bool | None = None
    path: str | None = None
    next: str | None = None


@dataclass(slots=True)
class Row:
    """A row of a table: as last seen, when, and its changes, oldest first.

    ``renewed_us``: snapshots in which its packet counter had gone down, so the flow had been made anew.
    """

    entry: FlowEntry
    seen_us: int
    changes: list[Change]
    renewed_us: list[int] = field(default_factory=list)

    @property
    def present(self) -> bool:
        """Whether the newest snapshot holds it."""
        return self.changes[-1].present

    def renewals(self, since_us: int) -> set[int]:
        """Snapshots after an instant in which the flow had been offloaded or made anew."""
        pairs = pairwise(self.changes)
        anew = {b.t_us for a, b in pairs if _is_held(b) and not _is_held(a)}
        return {t_us for t_us in anew | set(self.renewed_us) if t_us > since_us}


def _is_held(change: Change) -> bool:
    return change.present and change.offloaded is not False


class _Dump(msgspec.Struct, frozen=True, array_like=True):
    """A table as a checkpoint holds it: bytes that are made in one go, since a fabric has a million rows."""

    seen_us: int
    complete_us: int
    gap_us: int
    rows: list[Row]


_DUMP = msgspec.msgpack.Decoder(_Dump)


@dataclass(slots=True)
class Table:
    """One table of one host; ``complete_us``, ``seen_us``: newest (complete) snapshot; ``gap_us``: time between two.

    ``by_flow`` and ``by_pair`` are indices, made when a pass asks for the first time after a snapshot.
    """

    seen_us: int = 0
    complete_us: int = 0
    gap_us: int = 0
    rows: dict[tuple[str, str], Row] = field(default_factory=dict)
    by_flow: dict[str, list[Row]] | None = None
    by_pair: dict[tuple[str | None, str | None], dict[str, None]] | None = None

    def __getstate__(self) -> bytes:
        return msgspec.msgpack.encode(_Dump(self.seen_us, self.complete_us, self.gap_us, list(self.rows.values())))

    def __setstate__(self, state: bytes) -> None:
        dump = _DUMP.decode(state)
        self.seen_us, self.complete_us, self.gap_us = dump.seen_us, dump.complete_us, dump.gap_us
        self.rows = {(row.entry.flow, row.entry.at): row for row in dump.rows}
        self.by_flow = self.by_pair = None

    def take(self, value: FlowTables) -> None:
        """Follows a snapshot."""
        t_us = value.t_us
        self.by_flow = self.by_pair = None
        if self.seen_us and t_us > self.seen_us:
            self.gap_us = t_us - self.seen_us
        self.seen_us = max(self.seen_us, t_us)
        for entry in value.flows:
            self._see(entry, t_us)
        if value.complete:
            self.complete_us = max(self.complete_us, t_us)
            for row in self.rows.values():
                if row.seen_us < t_us and row.present:
                    _note(row, Change(t_us, False))

    def _see(self, entry: FlowEntry, t_us: int) -> None:
        key = entry.flow, entry.at
        row = self.rows.get(key)
        if row is None:
            change = Change(t_us, True, entry.offloaded, entry.path, entry.next)
            self.rows[key] = Row(entry, t_us, [change])
            return
        last = row.changes[-1]
        if entry.packets is not None and row.entry.packets is not None and entry.packets < row.entry.packets:
            row.renewed_us = [*row.renewed_us[1 - CHANGES :], t_us]
        row.entry, row.seen_us = entry, t_us
        if (True, entry.offloaded, entry.path, entry.next) != (last.present, last.offloaded, last.path, last.next):
            _note(row, Change(t_us, True, entry.offloaded, entry.path, entry.next))

    def of_flow(self, flow: str) -> list[Row]:
        """Rows of a flow, present or not, in order of place."""
        return self._by_flow().get(flow, [])

    def of_pair(self, pair: Pair) -> list[Row]:
        """Rows of a pair's flow in that direction, present or not, in order of flow and place."""
        return [row for flow in sorted(self._flows_of(pair)) for row in self.of_flow(flow) if _pair_of(row) == pair]

    def chain(self, pair: Pair) -> dict[str, Row]:
        """A pair's present rows by where they stand; rows whose pair is not resolved count by their flow id."""
        return {
            row.entry.at: row
            for flow in self._flows_of(pair)
            for row in self.of_flow(flow)
            if row.present and _pair_of(row) in (pair, (None, None))
        }

    def _by_flow(self) -> dict[str, list[Row]]:
        if self.by_flow is None:
            self.by_flow = {}
            for (flow, _), row in sorted(self.rows.items()):
                self.by_flow.setdefault(flow, []).append(row)
        return self.by_flow

    def _flows_of(self, pair: Pair) -> dict[str, None]:
        """Flows with a row of that pair, in the order in which they were first seen."""
        if self.by_pair is None:
            self.by_pair = {}
            for row in self.rows.values():
                self.by_pair.setdefault(_pair_of(row), {})[row.entry.flow] = None
        return self.by_pair.get(pair, {})

    def forget(self, before_us: int) -> None:
        """Drops rows that were last seen before an instant."""
        self.rows = {key: row for key, row in self.rows.items() if row.seen_us >= before_us}
        self.by_flow = self.by_pair = None


def _pair_of(row: Row) -> tuple[str | None, str | None]:
    return row.entry.src, row.entry.dst


def _note(row: Row, change: Change) -> None:
    row.changes.append(change)
    del row.changes[:-CHANGES]


@dataclass(slots=True)
class Numbers:
    """The newest sequence numbers of one producer since its start, each with its snapshot's time."""

    boot: str
    seen: dict[int, int] = field(default_factory=dict)

    def lacks(self, t_us: int) -> bool:
        """Whether a number is missing between a snapshot up to ``t_us`` and one from then on: a message was lost.

        Nothing is known of a producer that leaves out numbers all the time.
        """
        pairs = list(pairwise(sorted(self.seen)))
        holes = [(self.seen[a], self.seen[b]) for a, b in pairs if b > a + 1]
        if len(holes) > MOST_HOLES * len(pairs):
            return False
        return any(before_us - AROUND_US <= t_us <= after_us + AROUND_US for before_us, after_us in holes)


@dataclass(slots=True)
class FlowStore:
    """Tables by (host, rnic); rnic is None for the virtual switch. ``numbers``: by host and producer."""

    keep_us: int
    tables: dict[tuple[str, str | None], Table] = field(default_factory=dict)
    numbers: dict[str, dict[str, Numbers]] = field(default_factory=dict)

    def take(self, value: FlowTables) -> None:
        """Follows a snapshot."""
        key = value.host, value.rnic if value.table == "rnic" else None
        self.tables.setdefault(key, Table()).take(value)
        producers = self.numbers.setdefault(value.host, {})
        known = producers.get(value.producer.id)
        if known is None or known.boot != value.producer.boot:
            known = producers[value.producer.id] = Numbers(value.producer.boot)
        known.seen[value.producer.seq] = value.t_us
        if len(known.seen) > NUMBERS:
            del known.seen[min(known.seen)]

    def is_lost(self, host: str, t_us: int) -> bool:
        """Whether messages of a host's tables of about that time were lost on the way, as their numbers show."""
        return any(each.lacks(t_us) for each in self.numbers.get(host, {}).values())

    def vswitch(self, host: str) -> Table | None:
        """The virtual switch's table of a host, None: never dumped."""
        return self.tables.get((host, None))

    def rnic(self, host: str, rnic: str) -> Table | None:
        """An RNIC's own table, None: never dumped."""
        return self.tables.get((host, rnic))

    def trim(self, t_us: int) -> None:
        """Keeps memory bounded."""
        for table in self.tables.values():
            table.forget(t_us - self.keep_us)
