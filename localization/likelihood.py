"""Which few components explain the lost packets best? A robust likelihood over all trains, with known background
loss.
 Each packet of a train survives with (1 - p0) prod (1 - q_f) over the faults f that its route crosses from their
onset on; p0 is the background of the route, q_f the loss at fault f. The gain of a suspect since second s, losing
packets in one of the ``localization.modes``, is how much less the trains that cross it misfit with it than without
it, maximised over modes and s. What rests on a single pair of endpoints is never blamed: a suspect that no second
pair speaks against proves nothing (paper, Algorithm 1).

Cost: modes x (lossy trains x suspects per train + seconds x suspects); 5 to 30 ms for a 128-host fabric. What is the
same as the last time is not worked out again (``gains``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np

from localization.arrays import Floats, Ints
from localization.modes import MOST_LOSS, freedom, misfit
from localization.samples import Echoed, Gains, Pick, Sample, crossing
from localization.weighing import BACKGROUND_RANGE

MOST_FAULTS = 32
BACKGROUND_LOSSES = 20.0
"""How many lost packets the background learned before is worth when its level in the window is fitted."""
LEAST_STEP = 1.1
"""A level that is less far from what was taken for it stays: then one fault more changes nothing for other trains."""
SUPPORT_NATS = 3.0
TIE_NATS = 1e-6
ROUNDS = 2
HEAVY_HIT = 0.3
HEAVY = 0.5
"""A train that nothing happened to contradicts a steady loss of so much."""
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


def explained(sample: Sample, picks: list[Pick], level: float) -> Floats:
    """Loss of each lossy train that background (times ``level``) and picks explain. A fault begins within a second,
    and a second's messages reach back over the one before: what its trains lost in the ``EDGE_S`` seconds before
    its onset is its own as well, whatever the share, and so is everything that an erratic fault's trains have lost.
    A train whose replies may cross the fault loses by it to the degree that this fits it better; over a link that loses
    both ways it may lose twice.
    """
    survives = left_by_background(sample, level)
    for pick in picks:
        add_loss(sample, survives, pick)
    return loss_of(survives)


def left_by_background(sample: Sample, level: float) -> Floats:
    """Share of each lossy train that survives the background."""
    return np.asarray(1.0 - np.where(sample.base < 0.5, np.minimum(sample.base * level, 0.5), sample.base))


def loss_of(survives: Floats) -> Floats:
    """Loss where a share survives."""
    return np.asarray(np.clip(1.0 - survives, 1e-12, MOST_LOSS))


def add_loss(sample: Sample, survives: Floats, pick: Pick) -> None:
    """Lets a share survive the pick as well, in place."""
    on = crossing(sample, pick.suspect, pick.since)
    own = crossing(sample, pick.suspect, pick.since - EDGE_S, None if pick.erratic else pick.since)
    survives[on] *= 1.0 - pick.loss
    _survive_echo(sample, survives, pick, own)
    survives[own] = 1.0 - sample.lost[own] / sample.sent[own] * MOST_LOSS


def _survive_echo(sample: Sample, survives: Floats, pick: Pick, own: Ints) -> None:
    """Adds the pick's share in what routes lose that only their replies may lead over it."""
    known = _echoed_rows(sample, pick, own)
    if known is None:
        return
    late, route, chance = known
    lost, before = sample.lost[late], survives[late]
    by_fault, nats = echoed((lost, sample.sent[late] - lost), before, pick)
    odds = chance * np.exp(np.clip(np.bincount(route, nats)[route], -50.0, 50.0))
    survives[late] = before + odds / (1.0 + odds) * (by_fault - before)


def _echoed_rows(sample: Sample, pick: Pick, own: Ints) -> Echoed | None:
    """The trains that may have met the pick by their replies only, since shortly before its onset; None: no train."""
    key, echo = (pick.suspect, pick.since, pick.erratic), sample.echo(pick.suspect)
    if echo is not None and key not in sample.index.echoed:
        some = (echo > 0.0) & (sample.second >= pick.since - EDGE_S)
        some[own] = False
        late = np.flatnonzero(some)
        chance = np.minimum(echo[late], MOST_LOSS)
        route = np.unique(sample.route[late], return_inverse=True)[1]
        sample.index.echoed[key] = Echoed(late, route, chance / (1.0 - chance))
    return None if echo is None else sample.index.echoed[key]


def echo_gain(sample: Sample, p: Floats, pick: Pick) -> Floats:
    """Nats, by pair, that routes add which lose packets although only their replies may lead over the suspect.

    An erratic one could explain any stray packet that way, so it has to take much of the trains that it hits, and each
    train of the route that lost nothing says no.
    """
    echo, pairs = sample.echo(pick.suspect), sample.index.pairs_in(sample.pair)
    if echo is None or (pick.erratic and pick.loss < HEAVY_HIT):
        return np.zeros(pairs)
    some = (sample.second >= pick.since) & (echo > 0.0)
    some[crossing(sample, pick.suspect, pick.since)] = False
    others = np.flatnonzero(some)
    if not len(others):
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


def fit_best(sample: Sample, p: Floats, suspect: int, found: Gains) -> Pick:
    """The suspect in its best steady or erratic mode, each from the second on that suits it best."""
    ways = sample.modes.best(found.by_mode[suspect])
    begins = dict.fromkeys(int(found.since[suspect, at]) for at in ways)
    best = max((fit(sample, p, suspect, since) for since in begins), key=lambda pick: pick.gain)
    return _begun_within(sample, p, best)


def _begun_within(sample: Sample, p: Floats, pick: Pick) -> Pick:
    """A heavy fault of more than one cable, from the second on in which it was there from the beginning, if that suits
    it better.

    Until then some trains still passed unharmed. These would speak against whatever has more of them: against a card
    in favour of one of its links.
    """
    if sample.several is None or not sample.several[pick.suspect]:
        return pick
    for since in range(pick.since + 1, min(pick.since + EDGE_S + 1, len(sample.against))):
        if pick.erratic or pick.loss < HEAVY:
            break
        later = fit(sample, p, pick.suspect, since)
        if later.gain > pick.gain and not later.erratic:
            pairs, seconds = max(pick.pairs, later.pairs), max(pick.seconds, later.seconds)
            pick = replace(later, pairs=pairs, seconds=seconds)
    return pick


def fit(sample: Sample, p: Floats, suspect: int, since: int) -> Pick:
    """The suspect in the mode that fits best from ``since`` on over ``p``, and what its trains say for it.

    Asked for again while the same is explained of all trains that may have to do with it, it is as it was.
    """
    echo, known = sample.echo(suspect), sample.index.fits.get((suspect, since, sample.modes.size))
    seen = p[crossing(sample, suspect, since - EDGE_S)]
    if echo is not None:
        seen = np.concatenate([seen, p[echo > 0.0]])
    if known is None or not np.array_equal(known[0], seen):
        known = sample.index.fits[suspect, since, sample.modes.size] = seen, _fit(sample, p, suspect, since)
    return known[1]


def _fit(sample: Sample, p: Floats, suspect: int, since: int) -> Pick:
    on = crossing(sample, suspect, since)
    lost, sent = sample.lost[on], sample.sent[on]
    said = sample.modes.say(lost, sent - lost, p[on])
    total = said.sum(axis=0) + sample.against[since:, suspect].sum(axis=0) + sample.modes.prior
    pair, size = sample.pair[on], sample.index.pairs_in(sample.pair)
    pairs = int(np.count_nonzero(np.bincount(pair)))
    seconds = int(np.count_nonzero(np.bincount(sample.second[on])))
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
    edge = crossing(sample, suspect, since - EDGE_S, since)
    lost, sent = sample.lost[edge], sample.sent[edge]
    nats = misfit(lost, sent - lost, p[edge])
    return np.asarray(np.bincount(sample.pair[edge], nats, sample.index.pairs_in(sample.pair)), np.float64)


def fit_level(sample: Sample, picks: list[Pick], level: float) -> float:
    """The background's level in the window: losses that the picks leave to it, over what was expected."""
    p = explained(sample, picks, level)
    left = float((sample.lost * np.minimum(1.0, sample.base * level / p)).sum())
    fitted = (BACKGROUND_LOSSES + left) / (BACKGROUND_LOSSES + sample.expected)
    fitted = min(max(fitted, BACKGROUND_RANGE[0]), BACKGROUND_RANGE[1])
    return level if max(fitted / level, level / fitted) < LEAST_STEP else fitted


def refine(sample: Sample, picks: list[Pick], level: float) -> tuple[list[Pick], float]:
    """All picks fitted anew, each given the others, and the background's level."""
    before: tuple[list[tuple[int, float, float, int]], float] | None = None
    for _ in range(ROUNDS):
        level = fit_level(sample, picks, level)
        taken = [(pick.suspect, pick.loss, pick.hit, pick.since) for pick in picks]
        if before == (taken, level):
            break  # all take the same of each other's trains as before: each would be fitted as it was
        before, survives = (taken, level), left_by_background(sample, level)
        for number, pick in enumerate(picks):
            others = survives.copy()
            for other in picks[number + 1 :]:
                add_loss(sample, others, other)
            picks[number] = replace(fit(sample, loss_of(others), pick.suspect, pick.since), rivals=pick.rivals)
            add_loss(sample, survives, picks[number])
    return picks, level
