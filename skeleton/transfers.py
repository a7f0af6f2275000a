"""Which bursts of a rail may be compared? All of its endpoints in one table, as far as everybody's are known.

Columns by burst; classes of size by steps: bytes that form a chain of steps of less than ``CLASS_STEP`` are one class.
Edge cases: a burst from before the thinning of anybody's bursts of its class (``bursts``), or later than the least that
all have reported, is left out. Cost: O(m log m) for m bursts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skeleton.bursts import BurstSeries

CLASS_STEP = 0.05
"""Sizes that differ by less belong to one class: the same operation moves a little more in a longer step."""


@dataclass(frozen=True, slots=True)
class BurstTable:
    """Bursts of a rail in columns: row of the endpoint, start, end, bytes, class of size."""

    row: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    size: NDArray[np.float64]
    kind: NDArray[np.int64]

    def select(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> BurstTable:
        """The chosen bursts."""
        return BurstTable(self.row[chosen], self.start[chosen], self.end[chosen], self.size[chosen], self.kind[chosen])


def gather_bursts(series: Sequence[BurstSeries], since_us: int) -> tuple[BurstTable, NDArray[np.bool_]]:
    """All bursts between the instants from and up to which everybody's bursts of their class are known;
    which were sent.
    """
    row = np.concatenate([np.full(len(one.start_us), number) for number, one in enumerate(series)])
    start = np.concatenate([one.start_us for one in series])
    end = np.concatenate([one.end_us for one in series])
    size = np.concatenate([one.size for one in series]).astype(np.float64)
    sent = np.concatenate([one.sent for one in series])
    table = BurstTable(row, start, end, size, _classes(size))
    known = (end <= min(one.heard_us for one in series)) & (start >= since_us)
    complete = np.zeros(int(table.kind.max()) + 1, np.int64)
    np.maximum.at(complete, table.kind, np.concatenate([one.complete_since() for one in series]))
    known &= start >= complete[table.kind]
    return table.select(known), sent[known]


def _classes(size: NDArray[np.float64]) -> NDArray[np.int64]:
    """A number per burst: sizes that form a chain of small steps are one class."""
    order = np.argsort(size, kind="stable")
    ordered = np.maximum(size[order], 1.0)
    steps = np.concatenate([[0], np.cumsum(ordered[1:] > ordered[:-1] * (1.0 + CLASS_STEP))])
    kinds = np.empty(len(size), dtype=np.int64)
    kinds[order] = steps
    return kinds
