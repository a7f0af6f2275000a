"""What did the queues of a switch hold? Samples as columns of bytes, shared by all queues that were read together.

A switch has dozens of queues and tells of all of them in each message, mostly sampled at the same instants; nearly none
is ever looked at. So a message is appended as one block, and a queue's series is cut out when somebody asks. Memory: 8
bytes per sample and queue, and some 40 per message. Cost: 1 us per queue and message. Depths in bytes, instants by the
switch's clock.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from localization.arrays import Flags, Ints
from schemas.telemetry import QueueColumns

COUNTERS = ("ecn_marked", "dropped", "pfc_rx", "pfc_tx", "crc_errors")
NOT_READ, DEEPEST = -1, 2**63 - 1
Counts = tuple[int | None, ...]
"""In the order of ``COUNTERS``."""
NONE_READ: Counts = (None,) * len(COUNTERS)
Layout = tuple[tuple[str, int | str], ...]
"""(port, queue) of each column of a block."""


@dataclass(frozen=True, slots=True)
class Series:
    """Samples of one queue: instants and depths of n samples, ``NOT_READ`` where it was null; counters of m messages.

    ``told_us``: when the counters were read, once a message; ``counts``: their values then.
    """

    t_us: Ints
    depth: Ints
    told_us: Ints
    counts: Sequence[Counts]

    def depths(self, start_us: int, end_us: int) -> Ints:
        """Depths sampled in (start, end]."""
        inside: Ints = self.depth[(self.t_us > start_us) & (self.t_us <= end_us) & (self.depth != NOT_READ)]
        return inside

    def grown(self, start_us: int, end_us: int) -> dict[str, int]:
        """Counters that grew in (start, end]; a decrease is a reset and says nothing."""
        grown: dict[str, int] = {}
        for (_, earlier), (_, later) in pairwise(self._counts(start_us, end_us)):
            if earlier is later:
                continue
            for name, old, new in zip(COUNTERS, earlier, later, strict=True):
                if old is not None and new is not None and new > old:
                    grown[name] = grown.get(name, 0) + new - old
        return grown

    def marking(self, start_us: int, end_us: int, least_bytes: float) -> tuple[int, int]:
        """Intervals of (start, end] that were at least that deep and brought no mark, and those that brought marks."""
        unmarked = marked = 0
        for (begin_us, earlier), (until_us, later) in pairwise(self._counts(start_us, end_us)):
            old, new = earlier[0], later[0]
            if old is None or new is None or new < old:
                continue
            marked += new > old
            if new == old:
                unmarked += bool((self.depths(begin_us, until_us) >= least_bytes).any())
        return unmarked, marked

    def _counts(self, start_us: int, end_us: int) -> list[tuple[int, Counts]]:
        """Values of the counters that were told in (start, end], each with its instant."""
        inside = np.flatnonzero((self.told_us > start_us) & (self.told_us <= end_us)).tolist()
        told = [(int(self.told_us[at]), self.counts[at]) for at in inside]
        return [each for each in told if each[1] != NONE_READ]


class Piece(NamedTuple):
    """What one log has of a queue, and the number of the message that each sample, and each block, came with."""

    series: Series
    of_sample: Ints
    of_block: Ints


def _integers() -> array[int]:
    return array("q")


@dataclass(slots=True)
class QueueLog:
    """Blocks of samples of the same queues, those of ``layout``, one block per message.

    ``sizes``: samples of each queue in a block; ``numbers``: of its message; ``t_us``: instants, block after block;
    ``depth``: block after block, and in each queue after queue. ``runs``: of each queue, from which block on its
    counters had which values: most never change.
    """

    layout: Layout
    sizes: array[int] = field(default_factory=_integers)
    numbers: array[int] = field(default_factory=_integers)
    t_us: array[int] = field(default_factory=_integers)
    depth: array[int] = field(default_factory=_integers)
    runs: list[list[tuple[int, Counts]]] = field(default_factory=list)
    newest: list[int | None] = field(default_factory=list)

    def add(self, columns: Sequence[QueueColumns], number: int) -> None:
        """Appends the samples of message ``number``, which all have the instants of the first of them."""
        self._note_counters(columns)
        begin = len(self.depth)
        try:
            self.depth.extend(chain.from_iterable([column.depth_bytes for column in columns]))  # type: ignore[misc]
        except (TypeError, OverflowError):  # nearly always all are integers
            del self.depth[begin:]
            every = chain.from_iterable(column.depth_bytes for column in columns)
            self.depth.extend([NOT_READ if each is None else min(each, DEEPEST) for each in every])
        self.t_us.extend(columns[0].t_us)
        self.sizes.append(len(columns[0].t_us))
        self.numbers.append(number)

    def _note_counters(self, columns: Iterable[QueueColumns]) -> None:
        values = [
            each[-1] if each else None
            for column in columns
            for each in (column.ecn_marked, column.dropped, column.pfc_rx, column.pfc_tx, column.crc_errors)
        ]
        if values == self.newest:
            return
        self.runs = self.runs or [[] for _ in self.layout]
        for place, runs in enumerate(self.runs):
            begin = place * len(COUNTERS)
            counts = tuple(values[begin : begin + len(COUNTERS)])
            if not runs or runs[-1][1] != counts:
                runs.append((len(self.sizes), counts))
        self.newest = values

    def piece(self, place: int) -> Piece:
        """The samples of one queue, by its place in the layout."""
        sizes, t_us = np.array(self.sizes, np.int64), np.array(self.t_us, np.int64)
        ends = np.cumsum(sizes)
        skipped = (len(self.layout) - 1) * (ends - sizes) + place * sizes  # in ``depth``, beside what ``t_us`` has
        depth = np.array(self.depth, np.int64)[np.arange(len(t_us)) + np.repeat(skipped, sizes)]
        runs = self.runs[place]
        until = [at for at, _ in runs[1:]] + [len(sizes)]
        counts = [values for (at, values), end in zip(runs, until, strict=True) for _ in range(end - at)]
        numbers = np.array(self.numbers, np.int64)
        return Piece(Series(t_us, depth, t_us[ends - 1], counts), np.repeat(numbers, sizes), numbers)

    def trim(self, before_us: int) -> bool:
        """Drops blocks that are older; whether any is left."""
        sizes, t_us = np.array(self.sizes, np.int64), np.array(self.t_us, np.int64)
        begins = np.cumsum(sizes) - sizes
        kept = np.maximum.reduceat(t_us, begins) >= before_us
        if kept.all():
            return True
        self.t_us = _only(t_us, np.repeat(kept, sizes))
        self.depth = _only(np.array(self.depth, np.int64), np.repeat(kept, sizes * len(self.layout)))
        self.sizes, self.numbers = _only(sizes, kept), _only(np.array(self.numbers, np.int64), kept)
        places = [0, *np.cumsum(kept).tolist()]
        self.runs = [_moved(runs, places) for runs in self.runs]
        return bool(self.sizes)


def _moved(runs: list[tuple[int, Counts]], places: list[int]) -> list[tuple[int, Counts]]:
    """Runs among the blocks that are left, of which the n-th before is number ``places[n]``."""
    ends = [places[at] for at, _ in runs[1:]] + [places[-1]]
    moved = [(places[at], values) for at, values in runs]
    return [run for run, end in zip(moved, ends, strict=True) if run[0] < end]


def _only(column: Ints, kept: Flags) -> array[int]:
    return array("q", column[kept].tobytes())


def joined(pieces: Sequence[Piece]) -> Series:
    """One series of what several logs hold of a queue, message by message as they came."""
    if len(pieces) == 1:
        return pieces[0].series
    samples = np.argsort(np.concatenate([piece.of_sample for piece in pieces]), kind="stable")
    blocks = np.argsort(np.concatenate([piece.of_block for piece in pieces]), kind="stable")
    parts = [piece.series for piece in pieces]
    counts = [values for part in parts for values in part.counts]
    return Series(
        np.concatenate([part.t_us for part in parts])[samples],
        np.concatenate([part.depth for part in parts])[samples],
        np.concatenate([part.told_us for part in parts])[blocks],
        [counts[at] for at in blocks.tolist()],
    )
