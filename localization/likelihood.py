"""Which few components explain the lost packets best? Greedy maximum likelihood with known background loss.

Each packet of a train survives with (1 - p0) prod (1 - q_f) over the faults f that its route crosses from their onset
on; p0 is the background of the route, q_f the loss at fault f. For a suspect with loss q since second s the gain over
leaving it out is exactly
    sum over lossy trains: lost ln(1 + q (1 - p) / p)  +  ln(1 - q) x (packets of its trains that survived),
p = loss that is explained already. Suspects are added while the best one's gain, maximised over q (a grid, then one EM
step) and s, exceeds ``penalty`` less its prior; after each, the others and the level of the background are fitted anew.
A switch that can replace several of its links by fewer nats does so. What rests on a single pair of endpoints is never
blamed: a suspect that no second pair speaks against proves nothing (paper, Algorithm 1).

Cost: grid x (lossy trains x suspects per train + seconds x suspects) per fault; 10 to 50 ms for a 128-host fabric.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from localization.arrays import Flags, Floats, Ints

GRID = np.array([5e-4, 1e-3, 2e-3, 4e-3, 8e-3, 0.016, 0.03, 0.06, 0.12, 0.25, 0.5, 0.8, 0.97, 0.9995])
MOST_FAULTS = 32
BACKGROUND_LOSSES = 20.0
"""How many lost packets the background learned before is worth when its level in the window is fitted."""
BACKGROUND_RANGE = (0.5, 20.0)
SUPPORT_NATS = 3.0
TIE_NATS = 1e-6
ROUNDS = 2
MOST_LOSS = 1.0 - 1e-7
"""A fault that let nothing pass so far; not quite 1, so that one packet that passes is a number and not infinite."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Trains of a window. Of the L lossy ones: ``second``, ``members`` (L x width, -1 = none), ``pair``, ``sent``,
    ``lost``, ``base`` (background loss). Of all: ``alive`` (seconds x suspects, packets that survived), ``expected``
    (lost packets that the background predicts). ``prior``: nats per suspect. ``grid``: losses tried.
    """

    second: Ints
    members: Ints
    pair: Ints
    sent: Floats
    lost: Floats
    base: Floats
    alive: Floats
    expected: float
    prior: Floats
    grid: Floats


@dataclass(frozen=True, slots=True)
class Pick:
    """A blamed suspect: its loss, first second, gain (nats over leaving it out), nats without its strongest pair,
    pairs with losses on it, and the suspects that would explain nearly as much in its place, with their gains.
    """

    suspect: int
    loss: float
    since: int
    gain: float
    support: float = 0.0
    pairs: int = 0
    rivals: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Gains:
    """Per suspect: best gain, its loss and first second; ``by_loss``: gains of the best second, suspects x grid."""

    best: Floats
    loss: Floats
    since: Ints
    by_loss: Floats


def crossing(sample: Sample, suspect: int, since: int) -> Flags:
    """Which lossy trains cross a suspect from a second on."""
    return np.asarray((sample.members == suspect).any(axis=1) & (sample.second >= since))


def explained(sample: Sample, picks: list[Pick], level: float) -> Floats:
    """Loss of each lossy train that background (times ``level``) and picks explain."""
    survives = 1.0 - np.minimum(sample.base * level, 0.5)
    for pick in picks:
        survives = np.where(crossing(sample, pick.suspect, pick.since), survives * (1.0 - pick.loss), survives)
    return np.asarray(1.0 - survives)


def worth_trying(sample: Sample) -> Ints:
    """Suspects on which more than one pair, in more than one second (if there are several), lost packets."""
    size, width = sample.alive.shape[1], sample.members.shape[1]
    flat = sample.members.ravel()
    several = np.ones(size, np.bool_)
    for column in (sample.pair, sample.second)[: 2 if len(sample.alive) > 1 else 1]:
        keys = np.unique(np.repeat(column, width) * (size + 1) + flat + 1) % (size + 1)
        several &= np.bincount(keys, minlength=size + 1)[1:] > 1
    return np.flatnonzero(several)


def gains(sample: Sample, p: Floats, tried: Ints) -> Gains:
    """Gains of the suspects ``tried`` over what ``p`` explains already; the others have none."""
    seconds, size = sample.alive.shape
    place = np.zeros(size + 1, np.int64)
    place[tried + 1] = np.arange(1, len(tried) + 1)
    flat = (sample.second[:, None] * (len(tried) + 1) + place[sample.members + 1]).ravel()
    alive = sample.alive[:, tried]
    by_loss = np.zeros((size, len(sample.grid)))
    since = np.zeros((size, len(sample.grid)), np.int64)
    each = np.arange(len(tried))
    for number, loss in enumerate(sample.grid.tolist()):
        weight = np.repeat(sample.lost * np.log1p(loss * (1.0 - p) / p), sample.members.shape[1])
        total = np.bincount(flat, weight, seconds * (len(tried) + 1)).reshape(seconds, -1)[:, 1:]
        suffix = (total + np.log1p(-loss) * alive)[::-1].cumsum(axis=0)[::-1]
        first = suffix.argmax(axis=0)
        since[tried, number], by_loss[tried, number] = first, suffix[first, each]
    at = by_loss.argmax(axis=1)
    every = np.arange(size)
    return Gains(by_loss[every, at], sample.grid[at], since[every, at], by_loss)


def gain_of(sample: Sample, p: Floats, suspect: int, loss: float, since: int) -> tuple[float, float, int]:
    """Gain of one suspect, the part that remains without its strongest pair, and the number of pairs with losses."""
    on = crossing(sample, suspect, since)
    nats = sample.lost[on] * np.log1p(loss * (1.0 - p[on]) / p[on]) + np.log1p(-loss) * (sample.sent - sample.lost)[on]
    survivors = float(sample.alive[since:, suspect].sum() - (sample.sent - sample.lost)[on].sum())
    total = float(nats.sum()) + float(np.log1p(-loss)) * survivors
    pairs, place = np.unique(sample.pair[on], return_inverse=True)
    strongest = float(np.bincount(place, nats).max()) if len(pairs) else 0.0
    return total, total - max(strongest, 0.0), len(pairs)


def fit_loss(sample: Sample, others: Floats, pick: Pick) -> Pick:
    """The pick with its loss moved by one EM step and its gain over ``others`` (what all else explains)."""
    on = crossing(sample, pick.suspect, pick.since)
    together = 1.0 - (1.0 - others[on]) * (1.0 - pick.loss)
    lost = float((sample.lost[on] * pick.loss / together).sum())
    sent = float(sample.alive[pick.since :, pick.suspect].sum()) + float(sample.lost[on].sum())
    loss = min(max(lost / max(sent, 1.0), float(sample.grid[0]) / 2.0), MOST_LOSS)
    before = gain_of(sample, others, pick.suspect, pick.loss, pick.since)
    after = gain_of(sample, others, pick.suspect, loss, pick.since)
    if after[0] < before[0]:
        loss, after = pick.loss, before
    return replace(pick, loss=loss, gain=after[0], support=after[1], pairs=after[2])


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
        for number in range(len(picks)):
            others = explained(sample, picks[:number] + picks[number + 1 :], level)
            picks[number] = fit_loss(sample, others, picks[number])
    return picks, level
