"""What is remembered of each probed pair: one row per (src, dst) in columns, so that all pairs are judged at once.

Rows are handed out in the order in which pairs are first seen, which is the same on every replay. Pairs that were not
probed for long are dropped by ``forget``, so the table is as big as the plan, not as the job's history.
Memory: about 900 bytes a pair and its two names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from localization.arrays import Flags, Floats, Ints, Singles

Pair = tuple[str, str]
"""(source endpoint, destination endpoint)"""


def _flags() -> Flags:
    return np.zeros(0, np.bool_)


def _ints() -> Ints:
    return np.zeros(0, np.int64)


def _floats() -> Floats:
    return np.zeros(0, np.float64)


def _singles() -> Singles:
    return np.zeros(0, np.float32)


SHORT_VALUES, SHORT_WINDOWS, FEATURES = 30, 10, 7
"""Values in a short window, windows of look-back, features of one."""
BLOCKS, MOMENTS, REFERENCE = 6, 3, 4
"""Blocks in a long window, numbers kept of a block (count, mean, variance) and of the reference (see the columns)."""


@dataclass(slots=True)
class PairColumns:
    """Columns of length n, some of them n x ``_WIDTHS``. ``streak*``: fully lost trains in a row,
    their packets, the instant of the first. ``loss_sent``, ``loss_lost``: the pair's own background, packets.
    ``loss_score``, ``loss_since_us``: the sequential test per alternative. ``rtt_*``: baseline of ln RTT (windows,
    mean, variance), ``rtt_z``: the last window in these units; ``recent_*``: its last few windows; ``hops``: path
    length. ``moved``: the placement changed, so the pair learns its own baseline before it is judged.
    ``short_*``: number of the window that is filling, its values of ln RTT and how many, features of the last
    ``short_known`` windows (at most ten, a ring by ``short_next``), and whether the last one was an outlier.
    ``long_*``: the same for blocks of five minutes: ``long_sum`` (samples, their sum, their squares), ``long_past``
    (a ring), ``long_known``, ``long_reference`` (blocks, mean, variance, variance of block means), ``long_shift``
    (last seen against the reference, ln) and ``long_doubt``.
    """

    live: Flags = field(default_factory=_flags)
    moved: Flags = field(default_factory=_flags)
    seen_us: Ints = field(default_factory=_ints)
    streak: Ints = field(default_factory=_ints)
    streak_lost: Ints = field(default_factory=_ints)
    streak_since_us: Ints = field(default_factory=_ints)
    loss_sent: Floats = field(default_factory=_floats)
    loss_lost: Floats = field(default_factory=_floats)
    loss_score: Floats = field(default_factory=_floats)
    loss_since_us: Ints = field(default_factory=_ints)
    hops: Ints = field(default_factory=_ints)
    rtt_count: Floats = field(default_factory=_floats)
    rtt_mean: Floats = field(default_factory=_floats)
    rtt_var: Floats = field(default_factory=_floats)
    recent_count: Ints = field(default_factory=_ints)
    recent_mean: Floats = field(default_factory=_floats)
    recent_var: Floats = field(default_factory=_floats)
    rtt_score: Floats = field(default_factory=_floats)
    rtt_since_us: Ints = field(default_factory=_ints)
    rtt_z: Floats = field(default_factory=_floats)
    short_window: Ints = field(default_factory=_ints)
    short_count: Ints = field(default_factory=_ints)
    short_value: Singles = field(default_factory=_singles)
    short_past: Singles = field(default_factory=_singles)
    short_known: Ints = field(default_factory=_ints)
    short_next: Ints = field(default_factory=_ints)
    short_doubt: Flags = field(default_factory=_flags)
    long_block: Ints = field(default_factory=_ints)
    long_sum: Floats = field(default_factory=_floats)
    long_past: Singles = field(default_factory=_singles)
    long_known: Ints = field(default_factory=_ints)
    long_reference: Floats = field(default_factory=_floats)
    long_shift: Floats = field(default_factory=_floats)
    long_doubt: Flags = field(default_factory=_flags)

    @property
    def size(self) -> int:
        """Rows."""
        return len(self.live)

    def __getstate__(self) -> list[tuple[bytes, str, tuple[int, ...]]]:
        """By column its bytes, type and shape: written down in a third of the time that arrays of their own take."""
        columns = (getattr(self, spec.name) for spec in fields(self))
        return [(column.tobytes(), column.dtype.char, column.shape) for column in columns]

    def __setstate__(self, state: list[tuple[bytes, str, tuple[int, ...]]]) -> None:
        for spec, (raw, kind, shape) in zip(fields(self), state, strict=True):
            setattr(self, spec.name, np.frombuffer(raw, kind).reshape(shape).copy())


_WIDTHS: dict[str, tuple[int, ...]] = {
    "short_value": (SHORT_VALUES,),
    "short_past": (SHORT_WINDOWS, FEATURES),
    "long_sum": (MOMENTS,),
    "long_past": (BLOCKS, MOMENTS),
    "long_reference": (REFERENCE,),
}
_PER_ALTERNATIVE = ("loss_score", "loss_since_us")


@dataclass(slots=True)
class PairTable:
    """The pairs of one job. ``width``: number of loss alternatives. ``columns`` may be views (``localization.sheet``):
    their values are changed in place, and for another number of rows they are replaced as a whole."""

    width: int
    index: dict[Pair, int] = field(default_factory=dict)
    names: list[Pair] = field(default_factory=list)
    columns: PairColumns = field(default_factory=PairColumns)

    def rows(self, src: Sequence[str], dst: Sequence[str]) -> list[int]:
        """The rows of some sources and their targets, in their order; see ``row``."""
        index = self.index
        try:
            return [index[pair] for pair in zip(src, dst, strict=True)]
        except KeyError:
            return [self.row(pair) for pair in zip(src, dst, strict=True)]

    def row(self, pair: Pair) -> int:
        """The row of ``pair``, a new one if it was never seen; call ``grow`` before columns are used."""
        row = self.index.get(pair)
        if row is None:
            row = self.index[pair] = len(self.names)
            self.names.append(pair)
        return row

    def grow(self) -> None:
        """Makes the columns as long as the list of pairs, in steps so that the cost per pair stays constant."""
        size = self.columns.size
        if size >= len(self.names):
            return
        more, grown = max(64, size // 2, len(self.names) - size), PairColumns()
        for spec in fields(PairColumns):
            column = getattr(self.columns, spec.name)
            width = (self.width,) if spec.name in _PER_ALTERNATIVE else _WIDTHS.get(spec.name, ())
            shape = (more, *width)
            old = column.reshape((size, *shape[1:]))
            fill = np.ones(shape, np.bool_) if spec.name == "live" else np.zeros(shape, column.dtype)
            setattr(grown, spec.name, np.concatenate([old, fill]))
        self.columns = grown

    def forget(self, before_us: int, keep: set[int]) -> dict[int, int] | None:
        """Drops pairs last probed before ``before_us`` unless in ``keep``; returns new rows by old (None: none)."""
        count = len(self.names)
        kept = [row for row in range(count) if row in keep or self.columns.seen_us[row] >= before_us]
        if len(kept) == count:
            return None
        left = PairColumns()
        for spec in fields(PairColumns):
            setattr(left, spec.name, getattr(self.columns, spec.name)[kept])
        self.columns = left
        self.names = [self.names[row] for row in kept]
        self.index = {pair: row for row, pair in enumerate(self.names)}
        return {old: new for new, old in enumerate(kept)}

    def reset(self, rows: list[int]) -> None:
        """Forgets what was learned of pairs whose placement changed."""
        for spec in fields(PairColumns):
            if spec.name not in ("live", "seen_us"):
                getattr(self.columns, spec.name)[rows] = 0
        self.columns.moved[rows] = True
