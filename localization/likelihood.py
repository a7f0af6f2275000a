"""Which few components explain the lost packets best? A robust likelihood over all trains, with known background
loss.
 Each packet of a train survives with (1 - p0) prod (1 - q_f) over the faults f that its route crosses from their
onset on; p0 is the background of the route, q_f the loss at fault f. A train of n packets of which k were lost
misfits a loss p by its deviance, n KL(k/n || p) nats, but by no more than ``MOST_NATS``: packets of one train are
not independent, and e^-10 is about how often one is lost, or gets through, for a reason that no model knows. The
gain of a suspect with loss q since second s is how much less the trains that cross it misfit with it than without
it, maximised over q (``GRID``) and s. What rests on a single pair of endpoints is never blamed: a suspect that no
second pair speaks against proves nothing (paper, Algorithm 1).

Cost: grid x (lossy trains x suspects per train + seconds x suspects); 5 to 30 ms for a 128-host fabric.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from localization.arrays import Flags, Floats, Ints

MOST_LOSS = 1.0 - 1e-7
"""A fault that lets nothing pass; not quite 1, so that a train that passes is a number and not infinite."""
GRID = np.append(np.append(5e-4 * 1.6 ** np.arange(16), 0.8), [0.97, MOST_LOSS])
"""Losses that are tried: steps of 1.6, which costs at most 0.03 nats per lost packet."""
MOST_NATS = 10.0
MOST_FAULTS = 32
BACKGROUND_LOSSES = 20.0
"""How many lost packets the background learned before is worth when its level in the window is fitted."""
BACKGROUND_RANGE = (0.5, 20.0)
SUPPORT_NATS = 3.0
TIE_NATS = 1e-6
ROUNDS = 2
EDGE_S = 2


@dataclass(frozen=True, slots=True)
class Sample:
    """Trains of a window. Of the L lossy ones: ``second``, ``members`` (L x width, -1 = none), ``pair``, ``sent``,
    ``lost``, ``base`` (background loss). Of those without a loss: ``against`` (seconds x suspects x grid, nats).
    ``expected``: lost packets that the background predicts for all. ``prior``: nats per suspect. ``grid``: losses.
    ``echo``: gives, per lossy train, the chance that its replies cross a suspect; None: that of no train.
    """

    second: Ints
    members: Ints
    pair: Ints
    sent: Floats
    lost: Floats
    base: Floats
    against: Floats
    expected: float
    prior: Floats
    grid: Floats
    echo: Callable[[int], Floats | None]


@dataclass(frozen=True, slots=True)
class Pick:
    """A blamed suspect: its loss (``at`` in the grid), first second, gain (nats over leaving it out), nats without
    its strongest pair, pairs with losses on it, and the suspects that would explain nearly as much in its place.
    """

    suspect: int
    at: int
    loss: float
    since: int
    gain: float
    support: float = 0.0
    pairs: int = 0
    rivals: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Gains:
    """Per suspect: best gain, the grid's place of its loss, first second; ``by_loss``: suspects x grid."""

    best: Floats
    at: Ints
    since: Ints
    by_loss: Floats


def nats_against(survived: Ints, grid: Floats) -> Floats:
    """What trains without a loss say against each loss of the grid, trains x grid, at least -``MOST_NATS``."""
    return np.maximum(survived[:, None] * np.log1p(-grid)[None, :], -MOST_NATS)


def misfit(lost: Floats, survived: Floats, p: Floats) -> Floats:
    """How badly a loss of ``p`` fits lossy trains, nats, at most ``MOST_NATS``."""
    share = lost / (lost + survived)
    kept = np.where(survived > 0, survived * (np.log1p(-np.minimum(share, MOST_LOSS)) - np.log1p(-p)), 0.0)
    return np.asarray(np.minimum(lost * np.log(share / p) + kept, MOST_NATS))


def nats_of(lost: Floats, survived: Floats, p: Floats, loss: float) -> Floats:
    """How much better lossy trains fit with a loss on top of ``p``, nats."""
    return misfit(lost, survived, p) - misfit(lost, survived, 1.0 - (1.0 - p) * (1.0 - loss))


def crossing(sample: Sample, suspect: int, since: int) -> Flags:
    """Which lossy trains cross a suspect from a second on."""
    return np.asarray((sample.members == suspect).any(axis=1) & (sample.second >= since))


def explained(sample: Sample, picks: list[Pick], level: float) -> Floats:
    """Loss of each lossy train that background (times ``level``) and picks explain. A fault begins within a second,
    and a second's messages reach back over the one before: what its trains lost in the ``EDGE_S`` seconds before
    its onset is its own as well, whatever the share. A train whose replies may cross the fault loses as much of
    them as it is likely to.
    """
    survives = 1.0 - np.minimum(sample.base * level, 0.5)
    for pick in picks:
        on = crossing(sample, pick.suspect, pick.since)
        edge = crossing(sample, pick.suspect, pick.since - EDGE_S) & ~on
        survives = np.where(on, survives * (1.0 - pick.loss), survives)
        survives = np.where(edge, np.minimum(survives, 1.0 - sample.lost / sample.sent * MOST_LOSS), survives)
        echo = sample.echo(pick.suspect)
        if echo is not None:
            late = (sample.second >= pick.since - EDGE_S) & ~on & ~edge
            survives = np.where(late, _by_echo(sample, survives, pick.loss, echo), survives)
    return np.asarray(np.clip(1.0 - survives, 1e-12, MOST_LOSS))


def _by_echo(sample: Sample, survives: Floats, loss: float, echo: Floats) -> Floats:
    lost, survived = sample.lost, sample.sent - sample.lost
    return survives_with_echo((lost, survived), survives, loss, echo)


def survives_with_echo(counts: tuple[Floats, Floats], survives: Floats, loss: float, echo: Floats) -> Floats:
    """Survival of lossy trains (``counts``: lost, survived) whose replies cross a fault with chance ``echo``."""
    lost, survived = counts
    with np.errstate(divide="ignore"):
        price = -np.log(echo)
    without = misfit(lost, survived, np.maximum(1.0 - survives, 1e-12))
    through = misfit(lost, survived, np.clip(1.0 - survives * (1.0 - loss), 1e-12, MOST_LOSS))
    return np.where(through + price < without, survives * (1.0 - loss), survives)


def worth_trying(sample: Sample) -> Ints:
    """Suspects on which more than one pair, in more than one second (if there are several), lost packets."""
    size, width = sample.against.shape[1], sample.members.shape[1]
    flat = sample.members.ravel()
    several = np.ones(size, np.bool_)
    for column in (sample.pair, sample.second)[: 2 if len(sample.against) > 1 else 1]:
        keys = np.unique(np.repeat(column, width) * (size + 1) + flat + 1) % (size + 1)
        several &= np.bincount(keys, minlength=size + 1)[1:] > 1
    return np.flatnonzero(several)


def gains(sample: Sample, p: Floats, tried: Ints) -> Gains:
    """Gains of the suspects ``tried`` over what ``p`` explains already; the others have none."""
    seconds, size = sample.against.shape[:2]
    place = np.zeros(size + 1, np.int64)
    place[tried + 1] = np.arange(1, len(tried) + 1)
    flat = (sample.second[:, None] * (len(tried) + 1) + place[sample.members + 1]).ravel()
    by_loss = np.zeros((size, len(sample.grid)))
    since = np.zeros((size, len(sample.grid)), np.int64)
    each, survived = np.arange(len(tried)), sample.sent - sample.lost
    for number, loss in enumerate(sample.grid.tolist()):
        said = np.repeat(nats_of(sample.lost, survived, p, loss), sample.members.shape[1])
        total = np.bincount(flat, said, seconds * (len(tried) + 1)).reshape(seconds, -1)[:, 1:]
        suffix = (total + sample.against[:, tried, number])[::-1].cumsum(axis=0)[::-1]
        first = suffix.argmax(axis=0)
        since[tried, number], by_loss[tried, number] = first, suffix[first, each]
    at = by_loss.argmax(axis=1)
    every = np.arange(size)
    return Gains(by_loss[every, at], at, since[every, at], by_loss)


def fit(sample: Sample, p: Floats, suspect: int, since: int) -> Pick:
    """The suspect with the loss that fits best from ``since`` on over ``p``, and what its trains say for it."""
    on = crossing(sample, suspect, since)
    lost, survived = sample.lost[on], (sample.sent - sample.lost)[on]
    said = np.stack([nats_of(lost, survived, p[on], loss) for loss in sample.grid.tolist()], axis=1)
    total = said.sum(axis=0) + sample.against[since:, suspect].sum(axis=0)
    at = int(total.argmax())
    pairs, place = np.unique(sample.pair[on], return_inverse=True)
    strongest = float(np.bincount(place, said[:, at]).max()) if len(pairs) else 0.0
    gain = float(total[at])
    return Pick(suspect, at, float(sample.grid[at]), since, gain, gain - max(strongest, 0.0), len(pairs))


def fit_level(sample: Sample, picks: list[Pick], level: float) -> float:
    """The background's level in the window: losses that the picks leave to it, over what was expected."""
    p = explained(sample, picks, level)
    left = float((sample.lost * np.minimum(1.0, sample.base * level / p)).sum())
    fitted = (BACKGROUND_LOSSES + left) / (BACKGROUND_LOSSES + sample.expected)
    return min(max(fitted, BACKGROUND_RANGE[0]), BACKGROUND_RANGE[1])


def refine(sample: Sample, picks: list[Pick], level: float) -> tuple[list[Pick], float]:
    """All picks fitted anew, each given the others, and the background's level."""
    for _ in range(ROUNDS):
        level = fit_level(sample, picks, level)
        for number, pick in enumerate(picks):
            others = explained(sample, picks[:number] + picks[number + 1 :], level)
            picks[number] = replace(fit(sample, others, pick.suspect, pick.since), rivals=pick.rivals)
    return picks, level
