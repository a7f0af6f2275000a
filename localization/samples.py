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


@dataclass(slots=True)
class Rows:
    """Lossy trains by suspect, worked out when first asked for; of other ``members`` anew. ``last``: see ``gains``."""

    members: Ints | None = None
    order: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    starts: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    last: LastGains | None = None

    def of(self, members: Ints, suspect: int) -> Ints:
        """Rows of ``members`` that hold a suspect, ascending."""
        if self.members is not members:
            flat = members.ravel()
            held = np.flatnonzero(flat >= 0)
            held = held[np.argsort(flat[held], kind="stable")]
            self.starts = np.searchsorted(flat[held], np.arange(int(flat.max(initial=-1)) + 2))
            self.last = None
            self.members, self.order = members, held // max(members.shape[1], 1)
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
    index: Rows = field(default_factory=Rows)


def crossing(sample: Sample, suspect: int, since: int, until: int | None = None) -> Ints:
    """The lossy trains that cross a suspect from a second on (until another one), ascending."""
    rows = sample.index.of(sample.members, suspect)
    second = sample.second[rows]
    return rows[(second >= since) if until is None else (second >= since) & (second < until)]
