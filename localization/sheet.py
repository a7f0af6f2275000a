"""Many tables as one, so that one NumPy call serves the pairs of all jobs: jobs are small, and a call costs as much.

The columns of each table are views of a stretch of the sheet's. A table that grew, shrank or came from a pickle has
columns of its own until it is laid again, behind the others; what it had before is a hole, closed when there is no more
room. So laying costs a comparison per table, and a copy only of what is new. A sheet remembers nothing that tables do
not have: without it, or with another, all is the same.
Memory: half as much again as the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from localization.pairs import PairColumns, PairTable

SPARE = 2
"""One in so many rows is kept free."""


@dataclass(slots=True)
class Sheet:
    """The columns of tables that were laid. ``places``: by identity, a table's columns and where they begin."""

    columns: PairColumns = field(default_factory=PairColumns)
    end: int = 0
    places: dict[int, tuple[PairColumns, int]] = field(default_factory=dict)

    def lay(self, tables: Sequence[PairTable]) -> tuple[PairColumns, list[int]]:
        """Columns with the rows of all tables in them, and the first row of each (of an empty one any).

        A single table stays where it is.
        """
        if len(tables) == 1:
            return tables[0].columns, [0]
        new = [table for table in tables if id(table.columns) not in self.places and table.columns.size]
        if new:
            room, needed = self.columns.size, sum(table.columns.size for table in tables)
            if self.end + sum(table.columns.size for table in new) > room or 4 * needed < room:
                self._begin_anew(new[0].columns, needed + needed // SPARE)
                new = [table for table in tables if table.columns.size]
            for table in new:
                self._put(table)
        return self.columns, [self.places[id(table.columns)][1] if table.columns.size else 0 for table in tables]

    def _begin_anew(self, like: PairColumns, room: int) -> None:
        self.columns, self.end, self.places = PairColumns(), 0, {}
        for spec in fields(PairColumns):
            column = getattr(like, spec.name)
            setattr(self.columns, spec.name, np.zeros((room, *column.shape[1:]), column.dtype))

    def _put(self, table: PairTable) -> None:
        begin, end = self.end, self.end + table.columns.size
        views = PairColumns()
        for spec in fields(PairColumns):
            view = getattr(self.columns, spec.name)[begin:end]
            view[:] = getattr(table.columns, spec.name)
            setattr(views, spec.name, view)
        table.columns = views
        self.places[id(views)] = views, begin
        self.end = end
