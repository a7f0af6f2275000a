"""No byte is lost or counted twice between jittered polls and the common grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.instants import SECOND_US
from skeleton.bursts import BurstLog, BurstSeries
from skeleton.counters import CounterLog, CounterSeries
from skeleton.resampling import cumulative, resample

ORIGIN_US = 1_753_000_000 * SECOND_US


def log_of(t_s: list[float], tx: list[float]) -> CounterLog:
    t_us = np.array([ORIGIN_US + round(t * SECOND_US) for t in t_s], np.int64)
    sent = np.array([np.nan, *tx], np.float32)
    return CounterLog({"e": CounterSeries(t_us=t_us, tx=sent, rx=2 * sent)})


@given(st.lists(st.tuples(st.floats(0.5, 2.5), st.integers(0, 10**6)), min_size=3, max_size=60))
@settings(max_examples=60, deadline=None)
def test_bytes_between_whole_seconds_are_conserved(samples: list[tuple[float, int]]) -> None:
    t_s = np.cumsum([0.0, *(step for step, _ in samples)]).tolist()
    traffic = resample(log_of(t_s, [float(size) for _, size in samples]), BurstLog(), ("e",), 0, gap_s=3.5)
    assert traffic is not None
    assert not np.isnan(traffic.tx).any()
    total = np.interp([0.0, traffic.seconds], t_s, np.cumsum([0, *(size for _, size in samples)]))
    assert traffic.tx.sum() == pytest.approx(total[1] - total[0], rel=1e-5, abs=1.0)
    assert traffic.rx == pytest.approx(2 * traffic.tx, rel=1e-5)
    assert (traffic.tx >= 0).all()


def test_a_hole_is_unknown_and_only_the_hole() -> None:
    traffic = resample(log_of([0, 1, 2, 7.5, 8, 9, 10], [5, 5, 50, 5, 5, 5]), BurstLog(), ("e",), 0, gap_s=3.5)
    assert traffic is not None
    assert np.isnan(traffic.tx[0]).tolist() == [False, False, *[True] * 6, False, False]
    assert traffic.tx[0, [0, 1, 8, 9]] == pytest.approx([5, 5, 5, 5])


def test_a_reset_is_unknown() -> None:
    traffic = resample(log_of([0, 1, 2, 3, 4], [5, np.nan, 5, 5]), BurstLog(), ("e",), 0, gap_s=3.5)
    assert traffic is not None
    assert np.isnan(traffic.tx[0]).tolist() == [False, True, False, False]


def test_without_counters_bursts_are_spread_over_their_time() -> None:
    bursts = BurstSeries(
        start_us=np.array([ORIGIN_US + 500_000], np.int64),
        length_us=np.array([2_000_000], np.int32),
        size=np.array([400.0], np.float32),
        sent=np.array([True]),
        first_us=ORIGIN_US,
        heard_us=ORIGIN_US + 5 * SECOND_US,
    )
    traffic = resample(CounterLog(), BurstLog({"e": bursts}), ("e",), 0, gap_s=3.5)
    assert traffic is not None
    assert traffic.tx[0] == pytest.approx([100, 200, 100, 0, 0])
    assert traffic.rx[0] == pytest.approx([0, 0, 0, 0, 0])


def test_nothing_observed_is_no_traffic() -> None:
    assert resample(CounterLog(), BurstLog(), ("e",), 0, gap_s=3.5) is None


def test_evidence_before_the_demanded_instant_does_not_count() -> None:
    since_us = ORIGIN_US + 4 * SECOND_US
    traffic = resample(log_of(list(range(11)), [1.0] * 10), BurstLog(), ("e",), since_us, gap_s=3.5)
    assert traffic is not None
    assert (traffic.start_us, traffic.seconds) == (since_us, 6)


@pytest.mark.parametrize("since_s", [0, 3.5, 6, 8, 14])
def test_the_newest_of_a_log_is_the_end_of_the_whole(since_s: float) -> None:
    """Jitter, a hole, a reset and a sample on the edge: what came before the grid begins does not matter."""
    t_s, tx = [0, 1.2, 2, 3.4, 4, 8, 9.1, 10, 11, 12.7, 14, 15.5], [7, 5, np.nan, 50, 5, 400, 5, np.nan, 9, 3, 8]
    whole = resample(log_of(t_s, tx), BurstLog(), ("e",), 0, gap_s=3.5)
    newest = resample(log_of(t_s, tx), BurstLog(), ("e",), ORIGIN_US + round(since_s * SECOND_US), gap_s=3.5)
    assert whole is not None and newest is not None
    assert np.isnan(whole.tx[0]).sum() > 3
    for new, old in ((newest.tx, whole.tx), (newest.rx, whole.rx)):
        np.testing.assert_allclose(new[0], old[0, -newest.seconds :])


def test_overlapping_bursts_add_up() -> None:
    grid = np.arange(0, 5 * SECOND_US, SECOND_US)
    start, end = np.array([0, SECOND_US]), np.array([2 * SECOND_US, 3 * SECOND_US])
    assert np.diff(cumulative(start, end, np.array([20.0, 40.0]), grid)) == pytest.approx([10, 30, 20, 0])
