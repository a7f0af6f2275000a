"""Token buckets: never more than rate and burst allow, whatever the clock does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.probing.pacing import Fairness, TokenBucket


@given(
    rate=st.floats(0.1, 1e4),
    burst=st.floats(1.0, 100.0),
    steps=st.lists(st.integers(0, 500_000), min_size=1, max_size=200),
)
def test_never_more_than_rate_and_burst(rate: float, burst: float, steps: list[int]) -> None:
    bucket, now_us, taken = TokenBucket(rate, burst), 0, 0
    for step in steps:
        now_us += step
        taken += bucket.take(now_us)
    assert taken <= burst + rate * now_us / 1e6 + 1e-6


def test_it_fills_up_again() -> None:
    bucket = TokenBucket(10.0, 2.0)
    assert [bucket.take(0) for _ in range(3)] == [True, True, False]
    assert bucket.take(100_000)
    assert not bucket.take(100_000)
    assert not bucket.take(50_000)  # a clock that goes back makes no tokens
    bucket.put_back()
    assert bucket.take(50_000)


def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        TokenBucket(0.0, 1.0)


def test_one_asker_cannot_use_up_everything_and_memory_is_bounded() -> None:
    limits = Fairness(100.0, 5.0, most=10)
    assert sum(limits.take("greedy", 0) for _ in range(100)) == 5
    assert all(limits.take(f"asker {n}", 0) for n in range(50))
    assert len(limits._each) == 10
