"""How heavy are the tails of healthy latency, and how long is its memory? The threshold of the latency test from both.

A CUSUM of steps s = clip(z) - k exceeds h about once in e^(w h) windows, where w > 0 solves E[e^(w s)] = 1 (Cramer and
Lundberg; for a normal z, w = 2k). Healthy steps of all pairs of the job are counted in bins, and w is solved for the
bins: heavy tails make it smaller. Steps that remember the one before (correlation r from one window to the next) make
sums of more variance, (1 + r) / (1 - r) times, and w smaller by as much. Never above the normal 2k, never below
``LEAST``, so that a pair of several spreads is always found. The prior is a normal z worth ``PRIOR`` windows.
Only windows of pairs whose score was low before are counted: an anomaly is no tail. Cost: 0.1 ms per second.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import erf, log, sqrt

import numpy as np

from localization.arrays import Flags, Floats

BINS = 64
PRIOR = 20_000.0
MEMORY = 2_000_000.0
"""Windows of all pairs after which old ones are forgotten."""
LEAST = 0.5
OVERSHOOT = 1.166


@dataclass(slots=True)
class StepTails:
    """Counts of clipped z in ``BINS`` equal bins from -clip to clip; sums of z z' and z^2 over successive windows."""

    clip: float
    counts: Floats = field(default_factory=lambda: np.zeros(BINS))
    product: float = 0.0
    square: float = PRIOR

    def centres(self) -> Floats:
        """The middle of each bin; what was clipped stands at the edges."""
        edges = np.linspace(-self.clip, self.clip, BINS + 1)
        centres = (edges[:-1] + edges[1:]) / 2.0
        centres[0], centres[-1] = edges[0], edges[-1]
        return np.asarray(centres)

    def learn(self, z: Floats, before: Floats, healthy: Flags) -> None:
        """Takes windows in; ``before``: the pair's z one window earlier, 0 = none."""
        chosen = healthy & ~np.isnan(z)
        now = np.clip(z[chosen], -self.clip, self.clip)
        place = np.minimum(((now + self.clip) * (BINS / (2.0 * self.clip))).astype(np.int64), BINS - 1)
        keep = min(1.0, MEMORY / max(float(self.counts.sum()) + len(now), 1.0))
        self.counts = (self.counts + np.bincount(place, minlength=BINS)) * keep
        known = before[chosen] != 0.0
        self.product = (self.product + float((now * before[chosen])[known].sum())) * keep
        self.square = (self.square + float((now[known] ** 2).sum())) * keep

    def decay(self, allowance: float) -> float:
        """w: by how much the chance of a score falls per unit, 1 / unit."""
        centres = self.centres()
        steps = centres - allowance
        weights = self.counts + PRIOR * _normal(centres, self.clip)
        weights = weights / weights.sum()
        low, high = 0.0, 2.0 * allowance
        for _ in range(40):
            middle = (low + high) / 2.0
            low, high = (middle, high) if float((weights * np.exp(middle * steps)).sum()) < 1.0 else (low, middle)
        memory = min(max(self.product / self.square, 0.0), 0.9)
        return max(low * (1.0 - memory) / (1.0 + memory), LEAST)


def _normal(centres: Floats, clip: float) -> Floats:
    edges = np.linspace(-clip, clip, len(centres) + 1).tolist()
    below = [0.0, *((1.0 + erf(edge / sqrt(2.0))) / 2.0 for edge in edges[1:-1]), 1.0]
    return np.diff(np.array(below))


def latency_threshold(allowance: float, windows: float, decay: float) -> float:
    """h for a mean of ``windows`` windows between false alarms, by fixed-point iteration of Siegmund's formula.

    ARL = (e^(w (h + 1.166)) - w (h + 1.166) - 1) / (2 k^2), Siegmund 1985 for a normal z, where w = 2 k.
    """
    reach = 1.0
    for _ in range(50):
        reach = log(2.0 * allowance**2 * windows + 1.0 + reach)
    return reach / decay - OVERSHOOT
