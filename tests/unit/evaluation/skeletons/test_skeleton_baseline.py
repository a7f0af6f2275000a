"""The plain method that ours is put beside: it must do well where its assumptions hold, or the comparison is unfair."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from benchmarks.skeleton_baseline import (
    FEATURES,
    Features,
    Samples,
    bytes_per_second,
    equal_groups,
    find_period,
    infer,
    silhouette,
)

SECOND = 1_000_000


def pulses(shift_s: int, seed: int, seconds: int = 300) -> Samples:
    """A burst of three seconds every 20 s, of slightly varying size."""
    noise = np.random.default_rng(seed)
    moved = np.where((np.arange(seconds) - shift_s) % 20 < 3, 1e9 * (1 + 0.01 * noise.standard_normal(seconds)), 1e6)
    total = np.concatenate([[5e9], 5e9 + np.cumsum(moved)])
    return Samples([n * SECOND for n in range(seconds + 1)], [int(value) for value in total])


@pytest.mark.parametrize("features", FEATURES)
def test_clear_stages_in_rank_order_are_found(features: Features) -> None:
    names = [f"c{n}" for n in range(8)]
    samples = [pulses(0 if n < 4 else 7, seed=n) for n in range(8)]
    answer = infer(samples, names, {0: list(range(8))}, features)
    if features == "corr":  # the magnitude of an STFT hides the shift that tells these stages apart
        assert sorted(sorted(group) for group in answer.groups) == [names[:4], names[4:]]
        assert len(answer.edges) == 6 + 6 + 4
        assert {(chain[0], chain[1]) for chain in answer.chains} == {(f"c{n}", f"c{n + 4}") for n in range(4)}
    assert (answer.state, answer.period_s) == ("trusted", 20.0)


def test_noise_is_not_trusted() -> None:
    draw = np.random.default_rng(1)
    totals = np.cumsum(draw.integers(0, 10**9, (4, 300)), axis=1)
    samples = [Samples([n * SECOND for n in range(300)], row.tolist()) for row in totals]
    assert infer(samples, list("abcd"), {0: [0, 1, 2, 3]}, "corr").state == "forming"


def test_a_reset_is_no_traffic() -> None:
    rates = bytes_per_second([Samples([0, SECOND, 2 * SECOND, 3 * SECOND], [100, 200, 5, 105])])
    assert rates.tolist() == [[100.0, 0.0]]


def test_no_rhythm_has_no_period() -> None:
    assert find_period(np.ones(50)) == (None, 0.0)


def test_silhouette_of_two_clear_groups_is_near_1() -> None:
    points = np.array([[0.0], [0.1], [10.0], [10.1]])
    labels = np.array([1, 1, 2, 2])
    assert silhouette(squareform(pdist(points)), labels) == pytest.approx(1 - 0.1 / 10.0, abs=0.002)
    assert equal_groups(pdist(points), 4).tolist() in ([1, 1, 2, 2], [2, 2, 1, 1])
