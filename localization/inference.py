"""The search over sets of suspects: add the best, fit, swap links for their switch, prune what is no longer needed.
 Suspects are added while the best one's gain (``localization.likelihood``) exceeds ``penalty`` less its prior;
after each, the others and the level of the background are fitted anew. A switch that can replace several of its
links for less does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from localization.arrays import Floats, Ints
from localization.likelihood import (
    MOST_FAULTS,
    SUPPORT_NATS,
    TIE_NATS,
    explained,
    fit,
    fit_best,
    fit_level,
    refine,
)
from localization.samples import Gains, Pick, Sample
from localization.weighing import gains, worth_trying

RIVAL_NATS = 3.0
FINALISTS = 8
WHOLE_NATS, WHOLE_SHARE = 10.0, 0.03
Rank = Callable[[int], tuple[int, str]]
"""Order among suspects that explain the same trains equally well: the smaller one first, then by name."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The faults found, the level of the background, what every suspect would still add (suspects x modes), and
    the best suspect that was left out, with its gain."""

    picks: list[Pick]
    level: float
    left: Floats
    runner_up: Pick | None


def infer(sample: Sample, penalty: float, rank: Rank, known: Sequence[Pick] = ()) -> Explanation:
    """The faults that a window of trains shows; each is worth ``penalty`` nats less its prior.

    One suspect that touches much and hits at will can claim what several plain ones would explain better: what was
    found has to stand against what is found if single parts that lose steadily are taken first.

    ``known``: what the search begins with instead of finding it again; it keeps its rivals and its lead.
    """
    tried = worth_trying(sample, penalty - RIVAL_NATS)
    begun = _fitted(sample, known, penalty)
    picks, level, worth = _collect(sample, (penalty, set()), rank, tried, begun)
    old = {pick.suspect: pick for pick in known}
    if any(_is_wide(sample, pick) for pick in picks if pick.suspect not in old):
        plain = replace(sample, modes=sample.modes.steady, against=sample.against[:, :, : len(sample.modes.loss)])
        wide = set(np.flatnonzero(sample.prior < 0.0).tolist())
        begun = _fitted(plain, [pick for pick in known if not _is_wide(sample, pick)], penalty)
        first, _, first_worth = _collect(plain, (penalty, wide), rank, tried, begun)
        others, other_level, other_worth = _collect(sample, (penalty, set()), rank, tried, (first, first_worth))
        if other_worth > worth:
            picks, level = others, other_level
    for number, pick in enumerate(picks):
        before = old.get(pick.suspect)
        if before is None:
            picks[number] = with_rivals(sample, picks, number, (level, tried, penalty))
        else:
            picks[number] = replace(pick, rivals=before.rivals, lead=before.lead)
    p = explained(sample, picks, level)
    found = gains(sample, p, np.arange(sample.against.shape[1]))
    runner_up = _runner_up(sample, found, p, {pick.suspect for pick in picks})
    return Explanation(picks, level, found.by_mode, runner_up)


def _is_wide(sample: Sample, pick: Pick) -> bool:
    """Whether a pick could claim what several plain ones explain."""
    return pick.erratic or sample.prior[pick.suspect] < 0.0


def _fitted(sample: Sample, known: Sequence[Pick], penalty: float) -> tuple[list[Pick], float]:
    """What is known already, each fitted given the others, and what all are worth."""
    p = explained(sample, [], 1.0)
    picks, _ = refine(sample, [fit(sample, p, pick.suspect, pick.since) for pick in known], 1.0)
    return picks, sum(pick.gain + float(sample.prior[pick.suspect]) - penalty for pick in picks)


def _collect(
    sample: Sample, bar: tuple[float, set[int]], rank: Rank, tried: Ints, begun: tuple[list[Pick], float]
) -> tuple[list[Pick], float, float]:
    """A set of faults, the best first, without the suspects that are barred; its background level, and its worth.

    ``begun``: picks that are taken already, and what they were worth.
    """
    (penalty, barred), (picks, worth) = (bar[0], set(bar[1])), begun
    level = fit_level(sample, picks, 1.0)
    while len(picks) < MOST_FAULTS:
        p = explained(sample, picks, level)
        found = gains(sample, p, tried, penalty)
        pick = _best(sample, found, p, (penalty, barred | {pick.suspect for pick in picks}), rank)
        if pick is None:
            break
        added = _add(sample, picks, pick, (level, penalty))
        if added is None:
            barred.add(pick.suspect)
            continue
        worth += added[1]
        picks, level = refine(sample, added[0], level)
    picks, level = _prune(sample, picks, level, penalty)
    return picks, level, worth


def _add(sample: Sample, picks: list[Pick], pick: Pick, bar: tuple[float, float]) -> tuple[list[Pick], float] | None:
    """The picks with a new one, and what it is worth; None: it is of a cable that is picked, and adds nothing to that.

    A cable is never two faults: if one direction is picked, the whole takes its place if it explains more than the one
    direction, or than both. ``bar``: level of the background, and penalty.
    """
    level, penalty = bar
    whole = int(sample.whole[pick.suspect])
    kin = [other for other in picks if sample.whole[other.suspect] == whole]
    worth = pick.gain + float(sample.prior[pick.suspect]) - penalty
    if not kin:
        return [*picks, pick], worth
    if any(other.suspect == whole for other in kin):
        return None
    rest = [other for other in picks if other not in kin]
    p = explained(sample, rest, level)
    both = fit_best(sample, p, whole, gains(sample, p, np.array([whole])))
    before = sum(other.gain + float(sample.prior[other.suspect]) - penalty for other in kin)
    opposite = pick.suspect != whole
    together = both.gain + float(sample.prior[whole]) - penalty
    if together > before + (worth if opposite else 0.0):
        return [*rest, both], together - before
    return ([*picks, pick], worth) if opposite else None


def _best(sample: Sample, found: Gains, p: Floats, bar: tuple[float, set[int]], rank: Rank) -> Pick | None:
    """The best suspect that more than its strongest pair, in more than one second, speaks against.

    Among the first ``FINALISTS`` also those losses count that only replies can explain. Where replies get lost as well,
    the way to an RNIC and the RNIC itself are to blame for the same trains: then it is the whole.
    """
    penalty, barred = bar
    worth = found.best + sample.prior
    worth[sorted(barred)] = -np.inf
    finalists: list[tuple[float, Pick]] = []
    while len(worth) and worth.max() >= penalty and len(finalists) < FINALISTS:
        suspect = min(np.flatnonzero(worth >= worth.max() - TIE_NATS).tolist(), key=rank)
        pick = fit_best(sample, p, suspect, found)
        if _stands(sample, pick):
            finalists.append((pick.gain + float(sample.prior[suspect]), pick))
        worth[suspect] = -np.inf
    most = max((total for total, _ in finalists), default=0.0)
    first = next((pick for total, pick in finalists if total >= most - TIE_NATS), None)
    enough = most - WHOLE_NATS - WHOLE_SHARE * most
    alike = [
        pick for total, pick in finalists if first and total >= enough and pick.suspect == sample.whole[first.suspect]
    ]
    return alike[0] if alike else first


def _stands(sample: Sample, pick: Pick) -> bool:
    """Whether more than one pair, in more than one second if there are several, speaks against a suspect."""
    lasting = pick.seconds > 1 or len(sample.against) == 1
    return pick.support >= SUPPORT_NATS and pick.pairs > 1 and lasting


def _prune(sample: Sample, picks: list[Pick], level: float, penalty: float) -> tuple[list[Pick], float]:
    """Without the picks that others have made needless, the weakest first."""
    while picks:
        worth = [pick.gain + float(sample.prior[pick.suspect]) for pick in picks]
        weakest = min(range(len(picks)), key=lambda number: (worth[number], picks[number].suspect))
        if worth[weakest] >= penalty:
            break
        picks, level = refine(sample, picks[:weakest] + picks[weakest + 1 :], level)
    return picks, level


def merge_links(sample: Sample, picks: list[Pick], whole: dict[int, list[int]], penalty: float) -> list[Pick]:
    """Picks in which a switch stands for its links where that explains more. ``whole``: links of switch suspects."""
    level = fit_level(sample, picks, 1.0)
    for switch, links in sorted(whole.items()):
        own = [pick for pick in picks if pick.suspect in links]
        others = [pick for pick in picks if pick.suspect not in links and pick.suspect != switch]
        if len(own) < 2 or len(own) + len(others) != len(picks):
            continue
        p = explained(sample, others, level)
        found = gains(sample, p, np.array([switch]))
        pick = fit_best(sample, p, switch, found)
        if pick.gain + sample.prior[switch] - penalty > _worth(sample, others, own, level) - penalty * len(own):
            picks, level = refine(sample, [*others, pick], level)
    return picks


def _worth(sample: Sample, others: list[Pick], own: list[Pick], level: float) -> float:
    total, known = 0.0, list(others)
    for pick in own:
        p = explained(sample, known, level)
        total += fit(sample, p, pick.suspect, pick.since).gain + float(sample.prior[pick.suspect])
        known.append(pick)
    return total


def with_rivals(sample: Sample, picks: list[Pick], number: int, known: tuple[float, Ints, float]) -> Pick:
    """The pick with the suspects that would explain nearly as much in its place, and its lead over all others.

    ``known``: level of the background, suspects to be tried, penalty.
    """
    level, tried, penalty = known
    pick = picks[number]
    p = explained(sample, picks[:number] + picks[number + 1 :], level)
    found = gains(sample, p, tried, penalty)
    if np.count_nonzero(found.best + sample.prior >= penalty) < FINALISTS:
        found = gains(sample, p, tried)
    near = np.argsort(-(found.best + sample.prior), kind="stable")[:FINALISTS].tolist()
    near = [suspect for suspect in near if sample.whole[suspect] != sample.whole[pick.suspect]]
    others = [each for suspect in near if _stands(sample, each := fit_best(sample, p, suspect, found))]
    total = pick.gain + float(sample.prior[pick.suspect])
    worth = [(each, each.gain + float(sample.prior[each.suspect])) for each in others]
    rivals = [(each.suspect, each.gain) for each, nats in worth if nats >= total - RIVAL_NATS]
    lead = total - max((nats for _, nats in worth), default=0.0)
    return replace(pick, rivals=tuple(sorted(rivals, key=lambda rival: (-rival[1], rival[0]))), lead=lead)


def _runner_up(sample: Sample, found: Gains, p: Floats, chosen: set[int]) -> Pick | None:
    rest = found.best.copy()
    rest[sorted(chosen)] = -np.inf
    if not len(rest) or not np.isfinite(rest.max()):
        return None
    suspect = int(rest.argmax())
    return fit_best(sample, p, suspect, found)
