"""The search over sets of suspects: add the best, fit, swap links for their switch, prune what is no longer needed.

See ``localization.likelihood`` for the model and its cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from localization.arrays import Floats
from localization.likelihood import (
    MOST_FAULTS,
    SUPPORT_NATS,
    TIE_NATS,
    Gains,
    Pick,
    Sample,
    explained,
    fit_level,
    gain_of,
    gains,
    refine,
)

RIVAL_NATS = 3.0
Rank = Callable[[int], tuple[int, str]]
"""Order among suspects that explain the same trains equally well: the smaller one first, then by name."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The faults found, the level of the background, what every suspect would still add (suspects x grid), and
    the best suspect that was left out, with its gain."""

    picks: list[Pick]
    level: float
    left: Floats
    runner_up: tuple[int, float] | None


def infer(sample: Sample, penalty: float, rank: Rank) -> Explanation:
    """The faults that a window of trains shows; each is worth ``penalty`` nats less its prior."""
    picks: list[Pick] = []
    banned: set[int] = set()
    level = fit_level(sample, picks, 1.0)
    while True:
        p = explained(sample, picks, level)
        found = gains(sample, p)
        pick = _best(sample, found, p, (penalty, banned | {pick.suspect for pick in picks}), rank)
        if pick is None or len(picks) >= MOST_FAULTS:
            break
        if pick.support < SUPPORT_NATS or pick.pairs < 2:
            banned.add(pick.suspect)
            continue
        picks, level = refine(sample, [*picks, pick], level)
    picks = _prune(sample, picks, level, penalty)
    picks = [_with_rivals(sample, picks, number, level) for number in range(len(picks))]
    p = explained(sample, picks, level)
    found = gains(sample, p)
    return Explanation(picks, level, found.by_loss, _runner_up(found, {pick.suspect for pick in picks}))


def _best(sample: Sample, found: Gains, p: Floats, bar: tuple[float, set[int]], rank: Rank) -> Pick | None:
    penalty, barred = bar
    worth = found.best + sample.prior
    worth[sorted(barred)] = -np.inf
    top = float(worth.max()) if len(worth) else -np.inf
    if top < penalty:
        return None
    suspect = min(np.flatnonzero(worth >= top - TIE_NATS).tolist(), key=rank)
    loss, since = float(found.loss[suspect]), int(found.since[suspect])
    gain, support, pairs = gain_of(sample, p, suspect, loss, since)
    return Pick(suspect, loss, since, gain, support, pairs)


def _prune(sample: Sample, picks: list[Pick], level: float, penalty: float) -> list[Pick]:
    """Without the picks that others have made needless, the weakest first."""
    while picks:
        weakest = min(range(len(picks)), key=lambda number: (picks[number].gain, picks[number].suspect))
        if picks[weakest].gain + sample.prior[picks[weakest].suspect] >= penalty:
            break
        picks, level = refine(sample, picks[:weakest] + picks[weakest + 1 :], level)
    return picks


def merge_links(sample: Sample, picks: list[Pick], whole: dict[int, list[int]], penalty: float) -> list[Pick]:
    """Picks in which a switch stands for its links where that explains as much. ``whole``: links of switch suspects."""
    level = fit_level(sample, picks, 1.0)
    for switch, links in sorted(whole.items()):
        own = [pick for pick in picks if pick.suspect in links]
        others = [pick for pick in picks if pick.suspect not in links and pick.suspect != switch]
        if len(own) < 2 or len(own) + len(others) != len(picks):
            continue
        p = explained(sample, others, level)
        found = gains(sample, p)
        loss, since = float(found.loss[switch]), int(found.since[switch])
        gain, support, pairs = gain_of(sample, p, switch, loss, since)
        if gain + sample.prior[switch] - penalty > _worth(sample, others, own, level) - penalty * len(own):
            picks, level = refine(sample, [*others, Pick(switch, loss, since, gain, support, pairs)], level)
    return picks


def _worth(sample: Sample, others: list[Pick], own: list[Pick], level: float) -> float:
    total, known = 0.0, list(others)
    for pick in own:
        p = explained(sample, known, level)
        total += gain_of(sample, p, pick.suspect, pick.loss, pick.since)[0] + float(sample.prior[pick.suspect])
        known.append(pick)
    return total


def _with_rivals(sample: Sample, picks: list[Pick], number: int, level: float) -> Pick:
    pick = picks[number]
    others = picks[:number] + picks[number + 1 :]
    found = gains(sample, explained(sample, others, level))
    near = np.flatnonzero(found.best + sample.prior >= pick.gain + sample.prior[pick.suspect] - RIVAL_NATS)
    rivals = [(suspect, float(found.best[suspect])) for suspect in near.tolist() if suspect != pick.suspect]
    return replace(pick, rivals=tuple(sorted(rivals, key=lambda rival: (-rival[1], rival[0]))))


def _runner_up(found: Gains, chosen: set[int]) -> tuple[int, float] | None:
    rest = found.best.copy()
    rest[sorted(chosen)] = -np.inf
    if not len(rest) or not np.isfinite(rest.max()):
        return None
    return int(rest.argmax()), float(rest.max())
