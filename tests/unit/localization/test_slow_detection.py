"""Short and long windows: what the fast tests cannot see is found, and nothing of what every long run brings."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from benchmarks.detection_streams import BEGIN_US, NOISE, PairStream, losses
from localization.anomalies import Finding
from localization.factors import local_outlier_factors
from localization.shortterm import features_of
from localization.tails import StepTails, decays, learn_steps
from schemas.instants import SECOND_US

PAIRS, ILL = 40, 10
NEAR = float(np.log(13.0))
"""A level at which the floor of the fast test, 4 us, is larger than the spread."""
Shift = Callable[[int], float]
"""Second -> what is added to ln RTT of the ill pairs."""


def watch(
    seconds: int, shift: Shift, level: float = float(np.log(60.0)), sigma: float = 0.3, every_s: int = 1, ill: int = ILL
) -> tuple[PairStream, list[tuple[int, Finding]]]:
    """Runs a job in which the first ``ill`` pairs suffer; returns (second, finding)."""
    draw, stream, found = np.random.default_rng(11), PairStream(PAIRS), []
    at_s, lost = np.full((PAIRS, 1), 0.5), np.zeros((PAIRS, 1), np.int64)
    while stream.second < seconds:
        log_rtt = level + sigma * draw.standard_normal((PAIRS, 3))
        log_rtt[:ill] += shift(stream.second)
        found += [(stream.second, each) for each in stream.take(log_rtt, lost, 100, at_s, every_s)]
    return stream, found


def rows(found: list[tuple[int, Finding]], detector: str) -> list[int]:
    return sorted(finding.row for _, finding in found if finding.detector == detector)


def plain_factor(reference: np.ndarray, query: np.ndarray, k: int) -> float:
    """The definition, point by point."""
    points = [*reference, query]
    distance = [[float(np.linalg.norm(a - b)) for b in points] for a in points]
    known = range(len(reference))

    def near(point: int) -> list[int]:
        return sorted((other for other in known if other != point), key=lambda other: distance[point][other])[:k]

    def reach(point: int) -> float:
        return float(np.mean([max(distance[point][o], distance[o][near(o)[-1]]) for o in near(point)]))

    last = len(reference)
    return float(np.mean([reach(last) / reach(other) for other in near(last)]))


def test_factors_are_those_of_the_definition() -> None:
    draw = np.random.default_rng(3)
    reference, query = draw.standard_normal((6, 10, 7)), 2.0 * draw.standard_normal((6, 7))
    expected = [plain_factor(reference[n], query[n], 4) for n in range(6)]
    assert local_outlier_factors(reference, query, 4, 0.0) == pytest.approx(expected)
    assert local_outlier_factors(np.zeros((1, 5, 2)), np.full((1, 2), 0.1), 3, 1.0) == pytest.approx([1.0])
    with pytest.raises(ValueError, match="k is 10, but a set of 10 points has neighbours 1 to 9"):
        local_outlier_factors(reference, query, 10, 0.0)


def test_features_are_of_the_values_there_are() -> None:
    values = np.random.default_rng(4).standard_normal((2, 30)).astype(np.float32)
    some = values[1, :12]
    ordered = np.sort(some)
    expected = [ordered[3], ordered[6], ordered[8], some.min(), some.mean(), some.std(), some.max()]
    assert features_of(values, np.array([30, 12]))[1] == pytest.approx(expected, rel=1e-5)


def test_a_shift_too_small_for_the_fast_test_is_an_outlier_after_two_windows() -> None:
    _, found = watch(700, lambda second: 0.27 if second >= 600 else 0.0, NEAR)
    assert rows(found, "rtt-outlier") == [finding.row for _, finding in found] == list(range(ILL))
    assert {second for second, _ in found} == {661}
    assert {finding.onset_us for _, finding in found} == {BEGIN_US + 600 * SECOND_US}
    one = found[0][1]
    assert one.baseline.rtt_us == pytest.approx(13.0, rel=0.1)
    assert one.observed.rtt_us == pytest.approx(17.0, rel=0.1)


def test_one_odd_window_is_no_anomaly_and_an_outlier_is_over_when_two_are_well_again() -> None:
    assert watch(800, lambda second: 0.27 if 600 <= second < 630 else 0.0, NEAR)[1] == []
    stream, found = watch(900, lambda second: 0.27 if 600 <= second < 720 else 0.0, NEAR)
    assert rows(found, "rtt-outlier") == list(range(ILL))
    assert stream.judge.trends.book.open == {}


def test_now_and_then_a_very_slow_second_is_an_outlier() -> None:
    _, found = watch(900, lambda second: 2.3 if second >= 600 and second % 10 == 0 else 0.0)
    assert set(rows(found, "rtt-outlier")) == set(range(ILL))


@pytest.mark.parametrize(("sigmas", "anomaly"), [(0.24, False), (1.5, True), (2.5, True)])
def test_the_three_windows_of_figure_14_fall_on_the_right_side(sigmas: float, anomaly: bool) -> None:
    # The figure: ln RTT with mean 4.848 and standard deviation 0.14, windows of half an hour. The change takes an hour.
    def shift(second: int) -> float:
        return 0.14 * sigmas * float(np.clip((second - 7_500) / 3_600, 0.0, 1.0))

    _, found = watch(12_900, shift, level=4.848, sigma=0.14, every_s=4)
    assert {finding.row for _, finding in found} == (set(range(ILL)) if anomaly else set())


def test_a_slow_drift_is_found_within_90_minutes_of_its_beginning() -> None:
    begin = 7_500
    stream, found = watch(begin + 5_400, lambda s: 0.225 * float(np.clip((s - begin) / 3_600, 0, 1)), every_s=3)
    assert rows(found, "rtt-drift") == sorted(finding.row for _, finding in found) == list(range(ILL))
    onsets = [(finding.onset_us - BEGIN_US) / SECOND_US - begin for _, finding in found]
    assert 600 <= min(onsets) <= max(onsets) <= 3_600, "about where half of the drift has happened"
    assert len(stream.judge.trends.book.open) == ILL


def test_a_drift_is_over_when_two_blocks_are_well_again_and_does_not_come_back() -> None:
    def shift(second: int) -> float:
        return 0.4 * float(np.interp(second, [7_500, 11_100, 13_200, 13_500], [0.0, 1.0, 1.0, 0.0]))

    stream, found = watch(16_500, shift, every_s=3)
    assert rows(found, "rtt-drift") == list(range(ILL))
    assert max(second for second, _ in found) < 13_200
    assert stream.judge.trends.book.open == {}
    references = stream.judge.pairs.columns.long_reference[:PAIRS, 1]
    assert references[:ILL].mean() == pytest.approx(references[ILL:].mean(), abs=0.02), "bad blocks are not learned"


def test_what_all_pairs_share_is_no_drift() -> None:
    def load(second: int) -> float:
        return 0.225 * float(np.clip((second - 7_500) / 3_600, 0.0, 1.0))

    assert watch(12_900, load, every_s=3, ill=PAIRS)[1] == []


def test_the_reference_follows_what_changes_over_a_day() -> None:
    day = 86_400
    assert watch(day, lambda second: 0.225 * second / day, every_s=20)[1] == []


def tails_of(draws: Iterator[np.ndarray]) -> StepTails:
    tails, before = StepTails(4.0), np.zeros(500)
    for _ in range(400):
        now = next(draws)
        learn_steps([tails], np.zeros(500, np.int64), now, before, np.ones(500, np.bool_))
        before = now
    return tails


def test_the_threshold_of_latency_follows_tails_and_memory() -> None:
    draw = np.random.default_rng(5)

    def normal() -> Iterator[np.ndarray]:
        while True:
            yield draw.standard_normal(500)

    def tailed() -> Iterator[np.ndarray]:
        while True:
            yield draw.standard_t(4, 500) / np.sqrt(2.0)

    def lasting() -> Iterator[np.ndarray]:
        state = np.zeros(500)
        while True:
            state = 0.5 * state + np.sqrt(0.75) * draw.standard_normal(500)
            yield state

    assert decays([StepTails(4.0)], 1.0)[0] == pytest.approx(2.0, abs=0.02)
    assert decays([tails_of(normal())], 1.0)[0] == pytest.approx(2.0, abs=0.05)
    assert decays([tails_of(tailed())], 1.0)[0] < 1.7
    # Of a sum of such steps the variance is (1 + 0.5) / (1 - 0.5) times that of independent ones (the prior counts).
    assert decays([tails_of(lasting())], 1.0)[0] == pytest.approx(2.0 / 3.0, rel=0.15)


@pytest.mark.parametrize("kind", NOISE)
def test_noise_of_any_kind_raises_nothing_in_three_hundred_pair_hours(kind: str) -> None:
    draw = np.random.default_rng(6)
    stream = PairStream(600)
    assert stream.healthy(NOISE[kind](draw, 600, 3), 60.0, 1_800, losses(draw, 600, 1e-4)) == []
