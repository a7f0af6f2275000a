"""How much speaks against each suspect? The CUSUM of its evidence: suspects x modes, nats, never below 0.

Nearly all suspects of a large fabric have nothing against them in any mode: only the others are worked out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from localization.arrays import Floats, Ints
from localization.history import Second
from localization.modes import MODES
from localization.routes import RouteTable, sums_by_suspect


def suspected(score: Floats) -> Ints:
    """The suspects that anything speaks against."""
    return np.flatnonzero(score @ np.ones(score.shape[1]) > 0.0)  # a third of what ``any`` takes; none is negative


def add_second(score: Floats, second: Second, table: RouteTable, explained: Callable[[Second], Floats]) -> None:
    """Adds what a second's trains say over the loss that is ``explained`` of each, in place."""
    lossy = second.only(second.lossy())
    members = table.members[lossy.route]
    met = np.unique(members)
    met = met[met >= 0]
    suspects = np.union1d(suspected(score), met)
    gain = second.acquittal(table).of(suspects)
    if len(met):
        lost, sent = lossy.lost.astype(np.float64), lossy.sent.astype(np.float64)
        said = MODES.say(lost, sent - lost, explained(lossy))
        own = np.where(members < 0, -1, np.searchsorted(met, members))
        gain[np.searchsorted(suspects, met)] += sums_by_suspect(own, said, len(met))
    score[suspects] = np.maximum(0.0, score[suspects] + gain)


def most_evidence(score: Floats, prior: Floats, least_loss: float) -> float:
    """Nats of the suspect that most speaks against, ``prior`` by suspect included, for losses of ``least_loss`` on."""
    if not len(score):
        return 0.0
    some = suspected(score)
    worth = (score[some] + MODES.prior)[:, MODES.at_least(least_loss)]
    most = (worth.max(axis=1, initial=-np.inf) + prior[some]).max(initial=-np.inf)
    return max(float(most), float(prior.max()))
