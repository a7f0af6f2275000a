"""The lossy trains of a window as input of the search, with numbers of their own for suspects, and what is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from localization.arrays import Flags, Floats, Ints
from localization.modes import Modes

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True)
class Gains:
    """Per suspect the best gain; by suspect and mode the gains (``by_mode``) and first seconds (``since``)."""

    best: Floats
    since: Ints
    by_mode: Floats


@dataclass(slots=True)
class LastGains:
    """What is known of the gains of the suspects ``tried`` over what ``p`` explains, in the modes at ``columns``.

    ``against``: that of the sample in these modes. ``said``: what each lossy train says, trains x columns, nats, unless
    that is ``late``: something else was explained of it then. ``bound``: by suspect, what it gains at most; that is
    what it gains (``found``) unless it is ``stale`` (of one more than there are suspects).
    """

    tried: Ints
    modes: Modes
    columns: Ints
    against: Floats
    p: Floats
    said: Floats
    late: Flags
    found: Gains
    bound: Floats
    stale: Flags


@dataclass(frozen=True, slots=True)
class Pick:
    """A blamed suspect: its mode (``at``) and loss, first second, gain (nats over leaving it out), nats without its
    strongest pair, pairs and seconds with losses on it, and suspects that would explain nearly as much in its place.
    ``lead``: nats, prior included, over the best of all that could take its place (its cable is no other).
    """

    suspect: int
    at: int
    loss: float
    hit: float
    since: int
    gain: float
    support: float = 0.0
    pairs: int = 0
    seconds: int = 0
    rivals: tuple[tuple[int, float], ...] = ()
    lead: float = 0.0

    @property
    def erratic(self) -> bool:
        """Whether it hits some trains at will."""
        return self.hit < 1.0


class Echoed(NamedTuple):
    """Lossy trains whose replies may cross a suspect: rows, their routes (numbered anew), and the odds that they do."""

    row: Ints
    route: Ints
    odds: Floats


@dataclass(slots=True)
class Rows:
    """What is kept of one sample: lossy trains by suspect (``order``, ``starts``), and by suspect in each second
    (``matrix``), worked out when first asked for; what ``gains`` (``last``) and ``fit`` (``fits``) found last; and rows
    that were asked for (``crossed``, ``echoed``).
    """

    order: Ints | None = None
    starts: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    last: LastGains | None = None
    fits: dict[tuple[int, int, int], tuple[Floats, Pick]] = field(default_factory=dict)
    crossed: dict[tuple[int, int, int | None], Ints] = field(default_factory=dict)
    echoed: dict[tuple[int, int, bool], Echoed] = field(default_factory=dict)
    matrix: csr_array | None = None
    pairs: int | None = None

    def pairs_in(self, pair: Ints) -> int:
        """One more than the greatest number of a pair."""
        if self.pairs is None:
            self.pairs = int(pair.max(initial=-1)) + 1
        return self.pairs

    def cells(self, members: Ints, second: Ints, shape: tuple[int, int]) -> csr_array:
        """The matrix of (second x suspects) x trains, 1 where a train crosses a suspect in a second."""
        if self.matrix is None:
            from scipy.sparse import csr_array as matrix_of  # slow to import, and most fabrics need none

            rows, columns = np.nonzero(members >= 0)
            cell = second[rows] * shape[1] + members[rows, columns]
            size = shape[0] * shape[1], len(members)
            self.matrix = matrix_of((np.ones(len(rows)), (cell, rows)), shape=size)
        return self.matrix

    def by_suspect(self, members: Ints) -> tuple[Ints, Ints]:
        """Rows of ``members`` by the suspects that they hold, ascending, and where those of each suspect begin."""
        if self.order is None:
            flat = members.ravel()
            held = np.flatnonzero(flat >= 0)
            held = held[np.argsort(flat[held], kind="stable")]
            self.starts = np.searchsorted(flat[held], np.arange(int(flat.max(initial=-1)) + 2))
            self.order = held // max(members.shape[1], 1)
        return self.order, self.starts

    def of(self, members: Ints, suspect: int) -> Ints:
        """Rows of ``members`` that hold a suspect, ascending."""
        order, starts = self.by_suspect(members)
        if suspect + 1 >= len(starts):
            return order[:0]
        return order[starts[suspect] : starts[suspect + 1]]


@dataclass(frozen=True, slots=True)
class Sample:
    """Trains of a window. Of the L lossy ones: ``second``, ``members`` (L x width, -1 = none), ``route``, ``pair`` (any
    numbers, best small ones), ``sent``, ``lost``, ``base`` (background loss). Of those without a loss: ``against``
    (seconds x suspects x modes, nats). ``expected``: lost packets that the background predicts for all. ``prior``: nats
    per suspect. ``echo``: gives, per lossy train, the chance that its replies cross a suspect; None: that of no train.
    ``flown``: gives the number of trains on each of some of ``route`` from a second on. ``whole``: per suspect, the one
    that is the same cable in both directions (itself, if it is no direction). ``several``: per suspect, whether it is
    more than one cable; None: no suspect is.
    """

    second: Ints
    members: Ints
    route: Ints
    pair: Ints
    sent: Floats
    lost: Floats
    base: Floats
    against: Floats
    expected: float
    prior: Floats
    modes: Modes
    echo: Callable[[int], Floats | None]
    flown: Callable[[Ints, int], Ints]
    whole: Ints
    several: Flags | None = None
    index: Rows = field(default_factory=Rows, init=False)


def crossing(sample: Sample, suspect: int, since: int, until: int | None = None) -> Ints:
    """The lossy trains that cross a suspect from a second on (until another one), ascending."""
    known = sample.index.crossed.get((suspect, since, until))
    if known is None:
        rows = sample.index.of(sample.members, suspect)
        second = sample.second[rows]
        known = rows[(second >= since) if until is None else (second >= since) & (second < until)]
        sample.index.crossed[suspect, since, until] = known
    return known
