"""How sure can we be that probes cross a link whose paths nobody can compute? A bound from the number of ports.

Where paths are only traced, each new source port takes one of a pair's equal-cost ways at random, all alike. A link
that all ways of a pair share is crossed for certain. Of the others, a probe crosses a link with probability p = share
of the ways that contain it, and with R ports per pair (over R turns) the number N of crossing probe paths has the
mean lambda = R sum(p). For independent draws P(N <= c) is at most the Poisson distribution's, where c <= lambda - 1
(Hoeffding 1956; Anderson and Samuels 1967). So a link counts as crossed by alpha when certain crossings suffice or
P(Poisson(lambda) < alpha - certain) <= 1 - confidence. For one pair and m ways this is the coupon collector's
problem, seen from one coupon. Cost: O(ways).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import pdtr

from probe_planner.hashing import Ints
from schemas.probing import PathCoverage

Floats = npt.NDArray[np.float64]
CERTAIN = 1.0 - 1e-9


@dataclass(slots=True)
class Odds:
    """By link number; the last entry takes the padding. ``chance``: sum of p below one; ``certain``: count of p = 1."""

    certain: Ints
    chance: Floats
    able: Ints

    def allow(self, ways: Ints, sign: int = 1) -> None:
        """Ways that pairs could take, shape (pairs, ways, links): one probe each."""
        links, pairs = len(self.able), len(ways)
        if not pairs:
            return
        keys = (np.arange(pairs)[:, None, None] * links + ways % links).ravel()
        key, count = np.unique(keys, return_counts=True)
        link, share = key % links, count / ways.shape[1]
        sure = share >= CERTAIN
        self.certain += sign * np.bincount(link[sure], minlength=links)
        self.chance += sign * np.bincount(link[~sure], weights=share[~sure], minlength=links)
        self.able += sign * np.bincount(link, minlength=links)
        for column in (self.certain, self.chance, self.able):
            column[-1] = 0

    def crossed(self, alpha: int, turns: int, confidence: float) -> npt.NDArray[np.bool_]:
        """Which links at least min(alpha, able) probe paths cross, with that confidence each."""
        missing = np.minimum(self.able, alpha) - self.certain
        enough: npt.NDArray[np.bool_] = (missing <= 0) & (self.able > 0)
        mean = turns * np.maximum(self.chance, 0.0)
        open_ = np.flatnonzero((missing > 0) & (missing <= mean))
        enough[open_] = pdtr(missing[open_] - 1, mean[open_]) <= 1.0 - confidence
        return enough

    def turns_needed(self, alpha: int, most: int, confidence: float) -> int:
        """The fewest turns after which as many links are crossed as after ``most``."""
        if self.crossed(alpha, 1, confidence).sum() == (self.able > 0).sum():
            return 1
        found = [int(self.crossed(alpha, turns, confidence).sum()) for turns in range(1, most + 1)]
        return found.index(max(found)) + 1

    def unsure(self, alpha: int, confidence: float) -> Ints:
        """Links that one turn does not cross with confidence."""
        return np.flatnonzero((self.able > 0) & ~self.crossed(alpha, 1, confidence))

    def summary(self, alpha: int, turns: int, confidence: float) -> PathCoverage:
        """Coverage with a probability."""
        return PathCoverage(
            method="probability",
            alpha=alpha,
            links=int((self.able > 0).sum()),
            crossed=int(self.crossed(1, turns, confidence).sum()),
            crossed_alpha=int(self.crossed(alpha, turns, confidence).sum()),
            classes=0,
            told_apart=None,
            confidence=confidence,
            most_per_slot=0,
        )


def no_odds(links: int) -> Odds:
    """Nothing planned yet over that many links."""
    return Odds(np.zeros(links + 1, dtype=np.int64), np.zeros(links + 1), np.zeros(links + 1, dtype=np.int64))
