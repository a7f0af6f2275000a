"""Period and regularity of made-up activities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skeleton.periodicity import find_period, job_activity, regularities


def pulses(period_s: float, seconds: int, width_s: float = 1.5, jitter_s: float = 0.0, seed: int = 0) -> np.ndarray:
    """Bytes per second of a burst of ``width_s`` once a period, from its exact cumulative."""
    draw = np.random.default_rng(seed)
    starts = np.arange(0.3, seconds, period_s) + jitter_s * draw.standard_normal(len(np.arange(0.3, seconds, period_s)))
    at = np.arange(seconds + 1, dtype=float)
    return np.diff(np.clip((at[:, None] - starts) / width_s, 0.0, 1.0).sum(axis=1))


@pytest.mark.parametrize("period_s", [3.6, 7.275, 11.41, 20.0, 46.63])
def test_periods_between_samples_are_found_to_a_percent(period_s: float) -> None:
    found = find_period(pulses(period_s, 300))
    assert found is not None
    assert found.period_s == pytest.approx(period_s, rel=0.01)
    assert found.regularity > 0.8
    assert found.cycles == pytest.approx(300 / period_s, rel=0.01)


def test_jitter_costs_regularity_but_not_the_period() -> None:
    sharp, jittered = find_period(pulses(9.0, 300)), find_period(pulses(9.0, 300, jitter_s=0.5))
    assert sharp is not None and jittered is not None
    assert jittered.period_s == pytest.approx(9.0, rel=0.03)
    assert jittered.regularity < sharp.regularity


def test_holes_are_left_out_not_filled() -> None:
    activity = pulses(12.5, 300)
    activity[40:70] = np.nan
    activity[200:211] = np.nan
    found = find_period(activity)
    assert found is not None
    assert found.period_s == pytest.approx(12.5, rel=0.01)
    assert found.regularity > 0.8


@pytest.mark.parametrize(
    "activity",
    [np.zeros(300), np.ones(300), np.full(300, np.nan), np.arange(5.0), np.empty(0)],
    ids=["silent", "constant", "unknown", "short", "empty"],
)
def test_nothing_repeats(activity: np.ndarray) -> None:
    assert find_period(activity) is None


def test_two_repetitions_are_a_coincidence() -> None:
    activity = pulses(100.0, 250)
    found = find_period(activity)
    assert found is None or found.regularity < 0.4


def test_noise_is_not_regular() -> None:
    found = find_period(np.random.default_rng(3).random(600))
    assert found is None or found.regularity < 0.4


def test_lag_zero_is_one_and_no_lag_is_more() -> None:
    lags = regularities(pulses(9.3, 200)[None], 60)[0]
    assert lags[0] == pytest.approx(1.0, abs=1e-3)
    assert lags.max() < 1.05


@given(st.integers(1, 10**12), st.integers(0, 200))
@settings(max_examples=25, deadline=None)
def test_scale_and_phase_do_not_matter(scale: int, phase: int) -> None:
    one, other = find_period(pulses(13.7, 400)[:200]), find_period(scale * pulses(13.7, 400)[phase : phase + 200])
    assert one is not None and other is not None
    assert other.period_s == pytest.approx(one.period_s, rel=0.02)


def test_activity_weighs_endpoints_equally_and_skips_unknowns() -> None:
    sent = np.array([[1.0, np.nan, 1.0, 1.0], [100.0, 100.0, 100.0, np.nan], [0.0, 0.0, 0.0, 0.0]])
    assert job_activity(sent) == pytest.approx([1.0, 1.0, 1.0, 1.0])
    assert np.isnan(job_activity(np.array([[np.nan, 1.0]]))[0])
