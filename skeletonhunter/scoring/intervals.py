"""How sure can one be of a figure from few cases? 95 % confidence intervals.

Shares: Wilson's score interval (E. B. Wilson, 1927), sensible also at 0 and 1. Rates of rare events: the exact Poisson
interval (F. Garwood, 1936). Means of delays: percentile bootstrap, 2,000 resamples, fixed seed, so equal samples give
equal intervals; null for fewer than two samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincinv

Z_95 = 1.959963984540054
RESAMPLES = 2000
SEED = 20250908


class Interval(NamedTuple):
    """Lower and upper end."""

    low: float
    high: float


def share_interval(hits: int, of: int) -> Interval:
    """Wilson's interval of the share ``hits / of``.

    Raises:
        ValueError: not 0 <= hits <= of with of > 0.
    """
    if not 0 <= hits <= of or of == 0:
        raise ValueError(f"a share needs 0 <= hits <= of and of > 0, got {hits} of {of}")
    share, z2 = hits / of, Z_95 * Z_95
    middle = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = Z_95 / (1 + z2 / of) * float(np.sqrt(share * (1 - share) / of + z2 / (4 * of * of)))
    return Interval(max(0.0, middle - half) if hits else 0.0, min(1.0, middle + half) if hits < of else 1.0)


def rate_interval(events: int, exposure: float) -> Interval:
    """Garwood's interval of the rate ``events / exposure``.

    Raises:
        ValueError: the exposure is not positive.
    """
    if exposure <= 0 or events < 0:
        raise ValueError(f"a rate needs a positive exposure and no negative count, got {events} in {exposure}")
    low = float(gammaincinv(events, 0.025)) if events else 0.0
    return Interval(low / exposure, float(gammaincinv(events + 1, 0.975)) / exposure)


def mean_interval(values: Sequence[float]) -> Interval | None:
    """Bootstrap interval of the mean; null for fewer than two values."""
    if len(values) < 2:
        return None
    sample = np.sort(np.asarray(values, dtype=float))
    draws = np.random.default_rng(SEED).integers(0, len(sample), size=(RESAMPLES, len(sample)))
    means = sample[draws].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(low), float(high))
