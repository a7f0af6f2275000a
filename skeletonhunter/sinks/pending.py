"""What has been read and not yet written: rows by table, and how far reading has come."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from skeletonhunter.sinks.kafka_source import Place, Positions
from skeletonhunter.sinks.rows import Frames


@dataclass(slots=True)
class Pending:
    """Rows to be inserted, and the offsets to be committed once they are. ``since_s``: monotonic time of the first."""

    tables: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    positions: dict[Place, int] = field(default_factory=dict)
    rows: int = 0
    since_s: float | None = None

    def pass_by(self, positions: Positions, now_s: float) -> None:
        """Notes how far reading has come."""
        self.positions.update(positions)
        if positions and self.since_s is None:
            self.since_s = now_s

    def add(self, tables: Frames) -> None:
        """Takes rows in."""
        for name, frame in tables.items():
            if frame.height:
                self.tables.setdefault(name, []).append(frame)
                self.rows += frame.height

    def merged(self) -> Frames:
        """All rows, one frame per table."""
        return {name: pl.concat(frames) for name, frames in self.tables.items()}

    def is_due(self, rows: int, age_s: float, now_s: float) -> bool:
        """Whether there are ``rows`` of them, or the first has waited ``age_s``."""
        return self.since_s is not None and (self.rows >= rows or now_s - self.since_s >= age_s)
