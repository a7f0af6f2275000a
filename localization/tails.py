"""How heavy are the tails of healthy latency, and how long is its memory? The threshold of the latency test from both.

A CUSUM of steps s = clip(z) - k exceeds h about once in e^(w h) windows, where w > 0 solves E[e^(w s)] = 1 (Cramer and
Lundberg; for a normal z, w = 2k). Healthy steps of all pairs of the job are counted in bins, and w is solved for the
bins: heavy tails make it smaller. Steps that remember the one before (correlation r from one window to the next) make
sums of more variance, (1 + r) / (1 - r) times, and w smaller by as much. Never above the normal 2k, never below
``LEAST``, so that a pair of several spreads is always found. The prior is a normal z worth ``PRIOR`` windows.
Only windows of pairs whose score was low before are counted: an anomaly is no tail. Cost: 0.1 ms per second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from math import erf, log, sqrt
from typing import TypeVar

import numpy as np

from localization.arrays import Flags, Floats, Ints, sums_of_runs

Decay = TypeVar("Decay", float, Floats)
"""Of one job, or of several."""

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


def learn_steps(tails: Sequence[StepTails], job: Ints, z: Floats, before: Floats, healthy: Flags) -> None:
    """Takes windows in; ``job``: whose tails, in order; ``before``: the pair's z one window earlier, 0 = none."""
    chosen, clip, size = healthy & ~np.isnan(z), tails[0].clip, len(tails)
    now, owner, before = np.clip(z[chosen], -clip, clip), job[chosen], before[chosen]
    place = np.minimum(((now + clip) * (BINS / (2.0 * clip))).astype(np.int64), BINS - 1)
    fresh = np.bincount(owner * BINS + place, minlength=size * BINS).reshape(size, BINS)
    counts = np.stack([each.counts for each in tails])
    keep = np.minimum(1.0, MEMORY / np.maximum(counts.sum(axis=1) + fresh.sum(axis=1), 1.0))
    counts = (counts + fresh) * keep[:, None]
    known = before != 0.0
    runs = np.bincount(owner[known], minlength=size)
    product, square = sums_of_runs((now * before)[known], runs), sums_of_runs(now[known] ** 2, runs)
    for n, (each, kept) in enumerate(zip(tails, keep.tolist(), strict=True)):
        each.counts[:] = counts[n]
        each.product = (each.product + float(product[n])) * kept
        each.square = (each.square + float(square[n])) * kept


def decays(tails: Sequence[StepTails], allowance: float) -> Floats:
    """w of each: by how much the chance of a score falls per unit, 1 / unit."""
    centres, clip = tails[0].centres(), tails[0].clip
    steps = centres - allowance
    weights = np.stack([each.counts for each in tails]) + PRIOR * _normal(centres, clip)
    weights = weights / weights.sum(axis=1)[:, None]
    low, high = np.zeros(len(tails)), np.full(len(tails), 2.0 * allowance)
    for _ in range(40):
        middle = (low + high) / 2.0
        below = (weights * np.exp(middle[:, None] * steps)).sum(axis=1) < 1.0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    memory = np.array([min(max(each.product / each.square, 0.0), 0.9) for each in tails])
    return np.maximum(low * (1.0 - memory) / (1.0 + memory), LEAST)


def _normal(centres: Floats, clip: float) -> Floats:
    edges = np.linspace(-clip, clip, len(centres) + 1).tolist()
    below = [0.0, *((1.0 + erf(edge / sqrt(2.0))) / 2.0 for edge in edges[1:-1]), 1.0]
    return np.diff(np.array(below))


def latency_threshold(allowance: float, windows: float, decay: Decay) -> Decay:
    """h for a mean of ``windows`` windows between false alarms, by fixed-point iteration of Siegmund's formula.

    ARL = (e^(w (h + 1.166)) - w (h + 1.166) - 1) / (2 k^2), Siegmund 1985 for a normal z, where w = 2 k.
    """
    return _reach(allowance, windows) / decay - OVERSHOOT


@cache
def _reach(allowance: float, windows: float) -> float:
    """w (h + 1.166), whatever w is."""
    reach = 1.0
    for _ in range(50):
        reach = log(2.0 * allowance**2 * windows + 1.0 + reach)
    return reach
