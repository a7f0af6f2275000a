"""What a queue's samples say is what a plain list of them says, whatever was read, and after old ones were dropped."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from localization.queues import COUNTERS, Series
from schemas.telemetry import QueueColumns

Entry = tuple[int, tuple[int | None, ...]]


class Plain:
    """Every sample and every reading by itself."""

    def __init__(self) -> None:
        self.samples: list[tuple[int, int | None]] = []
        self.entries: list[Entry] = []

    def add(self, column: QueueColumns) -> None:
        self.samples += zip(column.t_us, column.depth_bytes, strict=True)
        columns = [getattr(column, name) for name in COUNTERS]
        if any(each is not None for each in columns):
            self.entries.append((column.t_us[-1], tuple(each[-1] if each else None for each in columns)))

    def trim(self, before_us: int) -> None:
        self.samples = [each for each in self.samples if each[0] >= before_us]
        self.entries = [each for each in self.entries if each[0] >= before_us]

    def depths(self, start_us: int, end_us: int) -> list[int]:
        return [depth for t_us, depth in self.samples if start_us < t_us <= end_us and depth is not None]

    def pairs(self, start_us: int, end_us: int) -> list[tuple[Entry, Entry]]:
        return list(pairwise([each for each in self.entries if start_us < each[0] <= end_us]))

    def grown(self, start_us: int, end_us: int) -> dict[str, int]:
        found: dict[str, int] = {}
        for (_, earlier), (_, later) in self.pairs(start_us, end_us):
            for name, old, new in zip(COUNTERS, earlier, later, strict=True):
                if old is not None and new is not None and new > old:
                    found[name] = found.get(name, 0) + new - old
        return found

    def marking(self, start_us: int, end_us: int, least: float) -> tuple[int, int]:
        quiet = marked = 0
        for (begin_us, earlier), (until_us, later) in self.pairs(start_us, end_us):
            old, new = earlier[0], later[0]
            if old is not None and new is not None and new >= old:
                marked += new > old
                quiet += new == old and any(depth >= least for depth in self.depths(begin_us, until_us))
        return quiet, marked


def message(draw: np.random.Generator, t_us: int, counters: list[int]) -> QueueColumns:
    """Two samples, one in eight of them null; counters that mostly stand still, are sometimes null, and begin anew."""
    counters[:] = [
        0 if draw.random() < 0.02 else each + int(draw.integers(1, 9)) * (draw.random() < 0.2) for each in counters
    ]
    depths = tuple(None if draw.random() < 0.125 else int(draw.integers(0, 2000)) for _ in range(2))
    told = {
        name: (None if draw.random() < 0.1 else value,) * 2
        for name, value in zip(COUNTERS, counters, strict=True)
        if draw.random() < 0.8
    }
    return QueueColumns(port="1", queue=0, t_us=(t_us - 1, t_us), depth_bytes=depths, **told)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(8))
def test_a_series_says_what_a_plain_list_says(seed: int) -> None:
    draw = np.random.default_rng(seed)
    series, plain, counters = Series(), Plain(), [0] * len(COUNTERS)
    for number in range(200):
        t_us = 10 * number + (40 if draw.random() < 0.05 else 0)  # some come in disorder
        column = message(draw, t_us + 1, counters)
        series.add(column)
        plain.add(column)
        if draw.random() < 0.05:
            series.trim(t_us - 300)
            plain.trim(t_us - 300)
        begin, end = sorted(draw.integers(t_us - 400, t_us + 10, 2).tolist())
        assert series.depths(begin, end).tolist() == plain.depths(begin, end)
        assert series.grown(begin, end) == plain.grown(begin, end)
        assert series.marking(begin, end, 1500.0) == plain.marking(begin, end, 1500.0)


def test_a_depth_that_no_queue_has_is_taken_as_the_deepest() -> None:
    series = Series()
    series.add(QueueColumns(port="1", queue=0, t_us=(1, 2), depth_bytes=(5, 2**64 - 1)))
    assert series.depths(0, 2).tolist() == [5, 2**63 - 1]
