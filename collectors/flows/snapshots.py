"""When is a table sent whole, and when only what has changed? A fold over the snapshots of one table.

Rules, in this order: a snapshot that was cut short is never whole (``complete`` false); the first, one asked for by an
anomaly, one in which rows have vanished, one of a table of at most ``small`` rows, and each ``whole_every``-th is sent
whole (a reader learns only from whole ones that rows are gone, and that a table is no older than the other one of its
host); of others only rows that are new, or whose next hop, offload or path has changed, or whose packet counter went
down (made anew). Nothing changed: nothing is sent. Memory: one small tuple a row.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from schemas.telemetry import FlowEntry

Key = tuple[str, str]
Mark = tuple[str | None, bool | None, str | None, str | None, str | None, int | None]


class Policy(Struct, frozen=True):
    """How often tables are sent whole."""

    small: int = 512
    whole_every: int = 6


class Diff(Struct, frozen=True):
    """What is to be sent; ``rows`` of a whole snapshot are all of them."""

    complete: bool
    rows: tuple[FlowEntry, ...]


class History:
    """What was sent of one table."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._known: dict[Key, Mark] = {}
        self._since_whole = policy.whole_every

    def step(self, rows: Sequence[FlowEntry], cut: bool, asked: bool) -> Diff | None:
        """What to send of a snapshot; None: nothing."""
        marks = {(row.flow, row.at): _mark(row) for row in rows}
        vanished = not cut and any(key not in marks for key in self._known)
        whole = asked or vanished or len(rows) <= self.policy.small or self._since_whole >= self.policy.whole_every
        changed = tuple(row for row in rows if _changed(self._known.get((row.flow, row.at)), row))
        self._known = {**self._known, **marks} if cut else marks
        if cut:
            return Diff(False, tuple(rows) if asked else changed) if rows else None
        if whole:
            self._since_whole = 1
            return Diff(True, tuple(rows))
        self._since_whole += 1
        return Diff(False, changed) if changed else None


def _mark(row: FlowEntry) -> Mark:
    return row.next, row.offloaded, row.path, row.src, row.dst, row.packets


def _changed(before: Mark | None, row: FlowEntry) -> bool:
    if before is None:
        return True
    now = _mark(row)
    anew = before[-1] is not None and row.packets is not None and row.packets < before[-1]
    return anew or before[:-1] != now[:-1]
