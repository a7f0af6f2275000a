"""Which few components explain the lost packets best? A robust likelihood over all trains, with known background
loss.
 Each packet of a train survives with (1 - p0) prod (1 - q_f) over the faults f that its route crosses from their
onset on; p0 is the background of the route, q_f the loss at fault f. The gain of a suspect since second s, losing
packets in one of the ``localization.modes``, is how much less the trains that cross it misfit with it than without
it, maximised over modes and s. What rests on a single pair of endpoints is never blamed: a suspect that no second
pair speaks against proves nothing (paper, Algorithm 1).

Cost: modes x (lossy trains x suspects per train + seconds x suspects); 5 to 30 ms for a 128-host fabric.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from localization.arrays import Flags, Floats, Ints
from localization.modes import MOST_LOSS, Modes, freedom, misfit

MOST_FAULTS = 32
BACKGROUND_LOSSES = 20.0
"""How many lost packets the background learned before is worth when its level in the window is fitted."""
BACKGROUND_RANGE = (0.5, 20.0)
SUPPORT_NATS = 3.0
TIE_NATS = 1e-6
ROUNDS = 2
HEAVY_HIT = 0.3
EDGE_S = 2


class Losing(Protocol):
    """What loses packets: a pick or a known fault."""

    @property
    def loss(self) -> float:
        """Share of packets lost (of an erratic one: of the trains that it hit)."""

    @property
    def hit(self) -> float:
        """Share of the trains that it hits, 1 unless it is erratic."""

    @property
    def erratic(self) -> bool:
        """Whether it hits some trains at will."""


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


@dataclass(frozen=True, slots=True)
class Gains:
    """Per suspect the best gain; by suspect and mode the gains (``by_mode``) and first seconds (``since``)."""

    best: Floats
    since: Ints
    by_mode: Floats


def crossing(sample: Sample, suspect: int, since: int) -> Flags:
    """Which lossy trains cross a suspect from a second on."""
    return np.asarray((sample.members == suspect).any(axis=1) & (sample.second >= since))


def explained(sample: Sample, picks: list[Pick], level: float) -> Floats:
    """Loss of each lossy train that background (times ``level``) and picks explain. A fault begins within a second,
    and a second's messages reach back over the one before: what its trains lost in the ``EDGE_S`` seconds before
    its onset is its own as well, whatever the share, and so is everything that an erratic fault's trains have lost.
    A train whose replies may cross the fault loses by it to the degree that this fits it better; over a link that loses
    both ways it may lose twice.
    """
    survives = 1.0 - np.where(sample.base < 0.5, np.minimum(sample.base * level, 0.5), sample.base)
    for pick in picks:
        on = crossing(sample, pick.suspect, pick.since)
        edge = crossing(sample, pick.suspect, pick.since - EDGE_S) & ~on
        own = edge | on if pick.erratic else edge
        survives = np.where(on, survives * (1.0 - pick.loss), survives)
        survives = _survives_echo(sample, survives, pick, own)
        survives = np.where(own, 1.0 - sample.lost / sample.sent * MOST_LOSS, survives)
    return np.asarray(np.clip(1.0 - survives, 1e-12, MOST_LOSS))


def _survives_echo(sample: Sample, survives: Floats, pick: Pick, own: Flags) -> Floats:
    """Survival with the pick's share in what routes lose that only their replies may lead over it."""
    echo = sample.echo(pick.suspect)
    if echo is None:
        return survives
    late = (sample.second >= pick.since - EDGE_S) & ~own
    counts = sample.lost, sample.sent - sample.lost
    by_fault, nats = echoed(counts, survives, pick)
    chance = np.minimum(echo, MOST_LOSS)
    of_route = np.bincount(sample.route, np.where(late, nats, 0.0))[sample.route]
    odds = chance / (1.0 - chance) * np.exp(np.clip(of_route, -50.0, 50.0))
    return np.where(late, survives + odds / (1.0 + odds) * (by_fault - survives), survives)


def echo_gain(sample: Sample, p: Floats, pick: Pick) -> Floats:
    """Nats, by pair, that routes add which lose packets although only their replies may lead over the suspect.

    An erratic one could explain any stray packet that way, so it has to take much of the trains that it hits, and each
    train of the route that lost nothing says no.
    """
    echo, pairs = sample.echo(pick.suspect), int(sample.pair.max(initial=-1)) + 1
    if echo is None or (pick.erratic and pick.loss < HEAVY_HIT):
        return np.zeros(pairs)
    others = (sample.second >= pick.since) & ~crossing(sample, pick.suspect, pick.since) & (echo > 0.0)
    if not others.any():
        return np.zeros(pairs)
    counts = sample.lost[others], (sample.sent - sample.lost)[others]
    nats = echoed(counts, 1.0 - p[others], pick)[1]
    routes, first, place = np.unique(sample.route[others], return_index=True, return_inverse=True)
    price = np.zeros(len(routes))
    price[place] = np.log(echo[others])
    if pick.erratic:
        clean = sample.flown(routes, pick.since) - np.bincount(place)
        price += np.maximum(clean, 0) * float(np.log1p(-pick.hit))
    worth = np.maximum(np.bincount(place, nats) + price, 0.0)
    return np.asarray(np.bincount(sample.pair[others][first], worth, pairs), np.float64)


def echoed(counts: tuple[Floats, Floats], survives: Floats, fault: Losing) -> tuple[Floats, Floats]:
    """Survival of lossy trains (``counts``: lost, survived) if replies cross a fault, and how much better that fits."""
    lost, survived = counts
    by_fault = survived / (lost + survived) if fault.erratic else survives * (1.0 - fault.loss)
    without = misfit(lost, survived, np.clip(1.0 - survives, 1e-12, MOST_LOSS))
    through = misfit(lost, survived, np.clip(1.0 - by_fault, 1e-12, MOST_LOSS))
    free = freedom(lost + survived) if fault.erratic else 0.0
    return np.asarray(by_fault), without - through - free + float(np.log(fault.hit))


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
    by_mode = np.zeros((size, sample.modes.size))
    since = np.zeros((size, sample.modes.size), np.int64)
    each, said = np.arange(len(tried)), sample.modes.say(sample.lost, sample.sent - sample.lost, p)
    for number in range(sample.modes.size):
        spread = np.repeat(said[:, number], sample.members.shape[1])
        total = np.bincount(flat, spread, seconds * (len(tried) + 1)).reshape(seconds, -1)[:, 1:]
        suffix = (total + sample.against[:, tried, number])[::-1].cumsum(axis=0)[::-1]
        first = suffix.argmax(axis=0)
        since[tried, number], by_mode[tried, number] = first, suffix[first, each] + sample.modes.prior[number]
    return Gains(by_mode.max(axis=1), since, by_mode)


def fit_best(sample: Sample, p: Floats, suspect: int, found: Gains) -> Pick:
    """The suspect in its best steady or erratic mode, each from the second on that suits it best."""
    ways = sample.modes.best(found.by_mode[suspect])
    begins = dict.fromkeys(int(found.since[suspect, at]) for at in ways)
    return max((fit(sample, p, suspect, since) for since in begins), key=lambda pick: pick.gain)


def fit(sample: Sample, p: Floats, suspect: int, since: int) -> Pick:
    """The suspect in the mode that fits best from ``since`` on over ``p``, and what its trains say for it."""
    on = crossing(sample, suspect, since)
    lost, sent = sample.lost[on], sample.sent[on]
    said = sample.modes.say(lost, sent - lost, p[on])
    total = said.sum(axis=0) + sample.against[since:, suspect].sum(axis=0) + sample.modes.prior
    pair, pairs = sample.pair[on], len(np.unique(sample.pair[on]))
    size = int(sample.pair.max(initial=-1)) + 1
    seconds = len(np.unique(sample.second[on]))
    before = _edge_gain(sample, p, suspect, since)
    best: list[Pick] = []
    for at in sample.modes.best(total):
        hit = sample.modes.hit_of(at)
        loss = float(lost.sum() / max(sent.sum(), 1.0)) if hit < 1.0 else float(sample.modes.loss[at])
        pick = Pick(suspect, at, min(loss, MOST_LOSS), hit, since, float(total[at]), 0.0, pairs, seconds)
        more = echo_gain(sample, p, pick) + (0.0 if pick.erratic else before)
        gain = pick.gain + float(more.sum())
        strongest = float((np.bincount(pair, said[:, at], size) + more).max(initial=0.0))
        best.append(replace(pick, gain=gain, support=gain - strongest))
    return max(best, key=lambda pick: pick.gain)


def _edge_gain(sample: Sample, p: Floats, suspect: int, since: int) -> Floats:
    """Nats, by pair, of what trains lost just before an onset: the fault's own, whatever the share (``explained``)."""
    edge = crossing(sample, suspect, since - EDGE_S) & (sample.second < since)
    lost, sent = sample.lost[edge], sample.sent[edge]
    nats = misfit(lost, sent - lost, p[edge])
    return np.asarray(np.bincount(sample.pair[edge], nats, int(sample.pair.max(initial=-1)) + 1), np.float64)


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
