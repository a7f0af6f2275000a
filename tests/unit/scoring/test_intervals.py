"""Confidence intervals against published values and against what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skeletonhunter.scoring.intervals import mean_interval, rate_interval, share_interval
from skeletonhunter.scoring.summaries import delays_of, rate_of, share_of


def test_wilson_interval_of_known_cases() -> None:
    assert share_interval(9, 10) == pytest.approx((0.5958, 0.9821), abs=5e-5)
    assert share_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=5e-5)
    assert share_interval(10, 10) == pytest.approx((0.7225, 1.0), abs=5e-5)


def test_poisson_interval_of_known_cases() -> None:
    assert rate_interval(0, 1.0) == pytest.approx((0.0, 3.6889), abs=5e-5)
    assert rate_interval(10, 2.0) == pytest.approx((4.7954 / 2, 18.3904 / 2), abs=5e-5)


@given(st.integers(1, 5000).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_share_lies_within_its_interval(case: tuple[int, int]) -> None:
    hits, of = case
    low, high = share_interval(hits, of)
    assert 0.0 <= low <= hits / of <= high <= 1.0


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=40))
def test_mean_interval_ignores_order_and_encloses_within_the_range(values: list[float]) -> None:
    interval = mean_interval(values)
    assert interval == mean_interval(values[::-1])
    assert interval is not None
    assert min(values) - 1e-6 <= interval.low <= interval.high <= max(values) * (1 + 1e-9) + 1e-6


def test_mean_interval_covers_the_mean_as_often_as_it_says() -> None:
    draws = np.random.default_rng(5).exponential(8.0, size=(200, 40))
    covered = 0
    for draw in draws:
        interval = mean_interval(list(draw))
        assert interval is not None
        covered += interval.low <= 8.0 <= interval.high
    assert 170 <= covered <= 199  # percentile bootstrap of 40 skewed values: about 92 %


@pytest.mark.parametrize(("hits", "of"), [(-1, 5), (6, 5), (0, 0)])
def test_impossible_share_is_refused(hits: int, of: int) -> None:
    with pytest.raises(ValueError, match="a share needs"):
        share_interval(hits, of)


def test_rate_without_exposure_is_refused_by_the_interval_and_null_in_the_summary() -> None:
    with pytest.raises(ValueError, match="a rate needs"):
        rate_interval(1, 0.0)
    assert rate_of(3, 0.0).per_hour is None


def test_summaries_leave_out_what_was_not_judged() -> None:
    share = share_of([True, None, False, True])
    assert (share.hits, share.of) == (2, 3)
    assert share_of([None]).share is None
    delays = delays_of([3.0, None, 1.0])
    assert (delays.n, delays.mean_s, delays.median_s, delays.max_s) == (2, 2.0, 2.0, 3.0)
    assert delays_of([]).mean_s is None
    assert (delays_of([4.0]).mean_s, delays_of([4.0]).low_s) == (4.0, None)
