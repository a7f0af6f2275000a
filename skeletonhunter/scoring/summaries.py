"""Shares, delays and rates with 95 % confidence intervals, as typed values; null where there was nothing to count."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from skeletonhunter.scoring.intervals import mean_interval, rate_interval, share_interval


class Share(Struct, frozen=True, kw_only=True):
    """``hits`` of ``of``, with Wilson's interval [low, high]."""

    hits: int
    of: int
    share: float | None = None
    low: float | None = None
    high: float | None = None


class Delays(Struct, frozen=True, kw_only=True):
    """Seconds; [low_s, high_s] is the bootstrap interval of the mean."""

    n: int
    mean_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    median_s: float | None = None
    p90_s: float | None = None
    p99_s: float | None = None
    max_s: float | None = None


class Rate(Struct, frozen=True, kw_only=True):
    """Events per hour of exposure, with the exact Poisson interval [low, high]."""

    events: int
    hours: float
    per_hour: float | None = None
    low: float | None = None
    high: float | None = None


def share_of(outcomes: Iterable[bool | None]) -> Share:
    """The share of true ones; null outcomes were not judged and are not counted."""
    counted = [outcome for outcome in outcomes if outcome is not None]
    hits, of = sum(counted), len(counted)
    if not of:
        return Share(hits=0, of=0)
    interval = share_interval(hits, of)
    return Share(hits=hits, of=of, share=hits / of, low=interval.low, high=interval.high)


def delays_of(values: Iterable[float | None]) -> Delays:
    """Summary of delays; null ones did not happen and are not counted."""
    sample = sorted(value for value in values if value is not None)
    if not sample:
        return Delays(n=0)
    interval = mean_interval(sample)
    median, p90, p99 = (float(quantile) for quantile in np.quantile(sample, [0.5, 0.9, 0.99]))
    return Delays(
        n=len(sample),
        mean_s=sum(sample) / len(sample),
        low_s=interval.low if interval else None,
        high_s=interval.high if interval else None,
        median_s=median,
        p90_s=p90,
        p99_s=p99,
        max_s=sample[-1],
    )


def rate_of(events: int, hours: float) -> Rate:
    """Events per hour."""
    if hours <= 0:
        return Rate(events=events, hours=hours)
    interval = rate_interval(events, hours)
    return Rate(events=events, hours=hours, per_hour=events / hours, low=interval.low, high=interval.high)
