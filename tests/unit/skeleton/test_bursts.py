"""Bursts are kept within bounds, and what was dropped is remembered."""

from __future__ import annotations

import numpy as np

from schemas.telemetry import Burst
from skeleton.bursts import AFTER_THINNING, KEPT, MOST, BurstLog, BurstSeries


def burst(start_us: int, size: int = 1_000_000, direction: str = "tx", length_us: int = 100) -> Burst:
    return Burst(start_us=start_us, end_us=start_us + length_us, bytes=size, direction=direction)  # type: ignore[arg-type]


def settled(bursts: list[Burst], before_us: int = 0) -> BurstSeries:
    series = BurstSeries(first_us=0)
    log = BurstLog({"c/r": series})
    for first in range(0, len(bursts), 50):
        series.waiting.extend(bursts[first : first + 50])
        log.settle(None, before_us)
    return series


def test_many_small_ones_do_not_drive_out_the_few_large_ones() -> None:
    small = [burst(1000 * index) for index in range(5000)]
    large = [burst(500_000 * index, size=2_000_000_000, direction="rx") for index in range(10)]
    series = settled(sorted(small + large, key=lambda one: one.end_us))
    assert (series.size > 1e9).sum() == 10
    assert KEPT <= (series.size < 1e9).sum() <= MOST
    assert len(series.size) <= MOST


def test_what_was_dropped_is_remembered() -> None:
    series = settled([burst(1000 * index) for index in range(5000)])
    since_us = series.complete_since()
    assert (since_us > 0).all()
    assert (series.end_us >= since_us).all()
    kept = np.sort(series.start_us)
    assert kept.tolist() == list(range(int(kept[0]), 5_000_000, 1000)), "from there on none is missing"


def test_nothing_is_dropped_below_the_bound() -> None:
    series = settled([burst(1000 * index) for index in range(MOST)])
    assert len(series.size) == MOST
    assert (series.complete_since() == 0).all()


def test_bursts_of_all_sizes_stay_within_bounds() -> None:
    series = settled([burst(1000 * index, size=1000 + index * index) for index in range(3000)])
    assert len(series.size) <= MOST
    assert len(series.complete) <= 2000
    assert AFTER_THINNING <= MOST


def test_old_bursts_are_forgotten() -> None:
    series = settled([burst(1000 * index) for index in range(100)], before_us=50_000)
    assert series.end_us.min() >= 50_000
    assert series.first_us == 50_000
