"""Which hops does each probed flow cross, there and back? A table of routes that grows as flows appear.

The topology changes when a switch dies and its neighbours have noticed (``epochs``): from then on routes avoid it. A
flow has one row per epoch. Cost: one dictionary look-up per train, a route per new flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import orjson

from skeletonhunter.testbed.fabric import NO_NODES, Fabric
from skeletonhunter.testbed.members import Member

MAX_HOPS = 8
NONE = -1
"""Fills rows that are shorter than ``MAX_HOPS``."""


@dataclass(frozen=True)
class Epoch:
    """From ``start_s`` on routes avoid ``dead`` nodes."""

    start_s: float
    dead: frozenset[str] = NO_NODES


@dataclass
class PathTable:
    """Rows of (source, destination, source port, epoch). ``there`` and ``back``: hops, shape (rows, MAX_HOPS)."""

    fabric: Fabric
    members: Sequence[Member]
    epochs: tuple[Epoch, ...] = (Epoch(-np.inf),)
    there: np.ndarray = field(default_factory=lambda: np.full((1024, MAX_HOPS), NONE, dtype=np.int32))
    back: np.ndarray = field(default_factory=lambda: np.full((1024, MAX_HOPS), NONE, dtype=np.int32))
    json: list[bytes] = field(default_factory=list)
    """The path as a JSON list of link ids, per row."""
    rows: dict[tuple[int, int, int, int], int] = field(default_factory=dict)

    def epoch_at(self, second: float) -> int:
        """The epoch that holds at ``second``."""
        return max(n for n, epoch in enumerate(self.epochs) if epoch.start_s <= second)

    def look_up(self, src: np.ndarray, dst: np.ndarray, sport: np.ndarray, epoch: int) -> np.ndarray:
        """Row numbers of flows, given as columns."""
        rows = self.rows
        keys = zip(src.tolist(), dst.tolist(), sport.tolist(), strict=True)
        return np.array(
            [row if (row := rows.get((*key, epoch))) is not None else self._add(*key, epoch) for key in keys], dtype=int
        )

    def _add(self, src: int, dst: int, sport: int, epoch: int) -> int:
        row = len(self.json)
        if row == len(self.there):
            self.there = np.vstack([self.there, np.full_like(self.there, NONE)])
            self.back = np.vstack([self.back, np.full_like(self.back, NONE)])
        a, b = self.members[src].address, self.members[dst].address
        dead = self.epochs[epoch].dead
        forward, reverse = self.fabric.route(a, b, sport, dead), self.fabric.route(b, a, sport, dead)
        self.there[row, : len(forward)] = forward
        self.back[row, : len(reverse)] = reverse
        self.json.append(orjson.dumps([self.fabric.links[hop // 2].id for hop in forward]))
        self.rows[src, dst, sport, epoch] = row
        return row


def edge_port(src: int, dst: int) -> int:
    """The source port of the job's own flow between two members, the same at every time."""
    return 49152 + (src * 7919 + dst * 104_729) % 16_384
