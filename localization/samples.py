"""The lossy trains of a window as input of the search, with numbers of their own for suspects, and what is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from localization.arrays import Floats, Ints
from localization.modes import Modes


@dataclass(frozen=True, slots=True)
class Gains:
    """Per suspect the best gain; by suspect and mode the gains (``by_mode``) and first seconds (``since``)."""

    best: Floats
    since: Ints
    by_mode: Floats


@dataclass(frozen=True, slots=True)
class LastGains:
    """What the suspects ``tried`` gained over what ``p`` explained."""

    tried: Ints
    modes: Modes
    p: Floats
    found: Gains


@dataclass(frozen=True, slots=True)
class Pick:
    """A blamed suspect: its mode (``at``) and loss, first second, gain (nats over leaving it out), nats without its
    strongest pair, pairs and seconds with losses on it, and suspects that would explain nearly as much in its place.
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

    @property
    def erratic(self) -> bool:
        """Whether it hits some trains at will."""
        return self.hit < 1.0


@dataclass(slots=True)
class Rows:
    """What is kept of one sample: lossy trains by suspect (``order``, ``starts``), worked out when first asked for, and
    what ``gains`` (``last``) and ``fit`` (``fits``) found last.
    """

    order: Ints | None = None
    starts: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    last: LastGains | None = None
    fits: dict[tuple[int, int, int], tuple[Floats, Pick]] = field(default_factory=dict)

    def of(self, members: Ints, suspect: int) -> Ints:
        """Rows of ``members`` that hold a suspect, ascending."""
        if self.order is None:
            flat = members.ravel()
            held = np.flatnonzero(flat >= 0)
            held = held[np.argsort(flat[held], kind="stable")]
            self.starts = np.searchsorted(flat[held], np.arange(int(flat.max(initial=-1)) + 2))
            self.order = held // max(members.shape[1], 1)
        if suspect + 1 >= len(self.starts):
            return self.order[:0]
        return self.order[self.starts[suspect] : self.starts[suspect + 1]]


@dataclass(frozen=True, slots=True)
class Sample:
    """Trains of a window. Of the L lossy ones: ``second``, ``members`` (L x width, -1 = none), ``route``, ``pair``,
    ``sent``, ``lost``, ``base`` (background loss). Of those without a loss: ``against`` (seconds x suspects x
    modes, nats). ``expected``: lost packets that the background predicts for all. ``prior``: nats per suspect.
    ``echo``: gives, per lossy train, the chance that its replies cross a suspect; None: that of no train.
    ``flown``: gives the number of trains on each of some routes from a second on. ``whole``: per suspect, the one that
    is the same cable in both directions (itself, if it is no direction).
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
    index: Rows = field(default_factory=Rows, init=False)


def crossing(sample: Sample, suspect: int, since: int, until: int | None = None) -> Ints:
    """The lossy trains that cross a suspect from a second on (until another one), ascending."""
    rows = sample.index.of(sample.members, suspect)
    second = sample.second[rows]
    return rows[(second >= since) if until is None else (second >= since) & (second < until)]
