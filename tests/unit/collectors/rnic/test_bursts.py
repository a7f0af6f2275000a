"""Bursts found on byte counters: exact bytes, edges within one interval, nothing invented."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.rnic.bursts import BurstDetector, Found, Sensing
from tests.unit.collectors.rnic.trees import T0

MS = 1_000
INTERVAL = 50 * MS
Transfer = tuple[int, int, int]
"""Start, end (us), bytes."""


def moved(transfers: list[Transfer], at_us: int, background_s: float = 400_000.0) -> int:
    """The counter at an instant: transfers at a constant rate each, and some background."""
    total = background_s * at_us / 1e6
    for start, end, size in transfers:
        total += size * min(max((at_us - start) / (end - start), 0.0), 1.0)
    return int(total)


def detect(transfers: list[Transfer], instants: list[int], sensing: Sensing | None = None) -> list[Found]:
    detector = BurstDetector(sensing or Sensing())
    for at_us in instants:
        detector.sample(T0 + at_us, at_us, moved(transfers, at_us), moved([], at_us))
    return detector.take()


def grid(end_us: int, phase_us: int = 0, step_us: int = INTERVAL) -> list[int]:
    return list(range(phase_us + 1, end_us, step_us))


def test_a_long_transfer_has_its_bytes_and_its_edges_to_the_millisecond() -> None:
    transfer = (1_017 * MS, 1_533 * MS, 10**10)
    (found,) = detect([transfer], grid(3_000 * MS))
    assert abs(found.bytes - transfer[2]) < 0.001 * transfer[2]
    assert abs(found.start_us - T0 - transfer[0]) < MS
    assert abs(found.end_us - T0 - transfer[1]) < MS
    assert found.direction == "tx"


def test_silence_and_background_are_no_bursts() -> None:
    assert detect([], grid(10_000 * MS)) == []


def test_acknowledgements_of_received_traffic_are_no_bursts_of_sent_traffic() -> None:
    detector = BurstDetector(Sensing())
    received = [(500 * MS, 900 * MS, 20 * 10**9)]
    acknowledged = [(500 * MS, 900 * MS, 100 * 10**6)]
    for at_us in grid(2_000 * MS):
        detector.sample(T0 + at_us, at_us, moved(acknowledged, at_us), moved(received, at_us))
    assert [found.direction for found in detector.take()] == ["rx"]


def test_a_value_that_could_not_be_read_lengthens_the_interval_and_loses_no_byte() -> None:
    transfer = (1_000 * MS, 1_400 * MS, 10**10)
    detector = BurstDetector(Sensing())
    for at_us in grid(3_000 * MS):
        unread = 1_150 * MS < at_us < 1_260 * MS
        detector.sample(T0 + at_us, at_us, None if unread else moved([transfer], at_us), moved([], at_us))
    (found,) = detector.take()
    assert abs(found.bytes - transfer[2]) < 0.001 * transfer[2]


def test_a_reset_ends_the_burst_and_invents_nothing() -> None:
    transfer = (1_000 * MS, 2_000 * MS, 10**10)
    detector = BurstDetector(Sensing())
    for at_us in grid(3_000 * MS):
        value = moved([transfer], at_us)
        detector.sample(T0 + at_us, at_us, value if at_us < 1_500 * MS else value - moved([transfer], 1_500 * MS), None)
    found = detector.take()
    assert len(found) == 2
    assert 0.9 * transfer[2] < sum(one.bytes for one in found) <= 1.001 * transfer[2]


def test_a_starved_agent_gives_blunt_edges_and_all_bytes() -> None:
    transfer = (1_000 * MS, 1_400 * MS, 10**10)
    instants = [at_us for at_us in grid(4_000 * MS) if not 900 * MS < at_us < 1_800 * MS]
    (found,) = detect([transfer], instants)
    assert abs(found.bytes - transfer[2]) < 0.01 * transfer[2]
    assert found.start_us - T0 <= transfer[0] and found.end_us - T0 >= transfer[1]


def test_a_clock_that_is_set_does_not_stretch_a_burst() -> None:
    transfer = (1_000 * MS, 1_400 * MS, 10**10)
    detector = BurstDetector(Sensing())
    for at_us in grid(3_000 * MS):
        wall = T0 + at_us - (30_000_000 if at_us > 1_200 * MS else 0)
        detector.sample(wall, at_us, moved([transfer], at_us), moved([], at_us))
    (found,) = detector.take()
    assert abs(found.end_us - found.start_us - 400 * MS) < 2 * MS


def test_a_driver_that_refreshes_seldom_does_not_break_a_transfer_into_needles() -> None:
    transfers = [(n * 10_000_000 + 2_000 * MS, n * 10_000_000 + 5_000 * MS, 3 * 12_000_000_000) for n in range(6)]
    detector = BurstDetector(Sensing(line_bytes_s=12.5e9))
    for at_us in grid(60_000 * MS):
        refreshed = at_us // (400 * MS) * (400 * MS)
        detector.sample(T0 + at_us, at_us, moved(transfers, refreshed), 0)
    late = [found for found in detector.take() if found.start_us > T0 + 10_000_000]
    assert len(late) == 5
    for found, (start, end, size) in zip(late, transfers[1:], strict=True):
        assert abs(found.bytes - size) < 0.01 * size
        assert abs(found.start_us - T0 - start) <= 450 * MS and abs(found.end_us - T0 - end) <= 450 * MS
    assert detector.tx.resolution_us >= 350 * MS


def test_a_counter_that_is_refreshed_often_again_is_trusted_again() -> None:
    detector, value, coarsest = BurstDetector(Sensing(line_bytes_s=1e9)), 0, 0
    for n in range(200):
        value += 1 if n == 3 else 0 if n < 20 else 10**9 if n == 20 else 40_000
        detector.sample(T0 + n * INTERVAL, n * INTERVAL, value, 0)
        coarsest = max(coarsest, detector.tx.resolution_us)
    assert coarsest > 500 * MS
    assert detector.tx.resolution_us == 0


def test_an_endless_transfer_is_told_in_parts() -> None:
    transfer = (0, 100_000_000, 10**12)
    found = detect([transfer], grid(70_000 * MS), Sensing(longest_us=10_000_000))
    assert len(found) == 6
    assert all(abs(one.end_us - one.start_us - 10_000_000) <= 2 * INTERVAL for one in found)
    assert [abs(b.start_us - a.end_us) <= INTERVAL for a, b in pairwise(found)] == [True] * 5


def _laid_out(parts: list[tuple[int, int, float]]) -> list[Transfer]:
    """Transfers one after the other, with pauses of at least two intervals."""
    at, laid = 500 * MS, []
    for pause_ms, length_ms, rate in parts:
        start = at + pause_ms * MS
        at = start + length_ms * MS
        laid.append((start, at, int(rate * length_ms / 1e3)))
    return laid


transfers = st.lists(
    st.tuples(st.integers(120, 900), st.integers(5, 700), st.floats(2e9, 5e10)), min_size=1, max_size=8
).map(_laid_out)


@settings(deadline=None)
@given(transfers, st.integers(0, INTERVAL - 1), st.lists(st.integers(-3 * MS, 3 * MS), min_size=1, max_size=20))
def test_every_transfer_is_one_burst_with_its_bytes_and_edges_within_an_interval(
    laid: list[Transfer], phase_us: int, jitter: list[int]
) -> None:
    instants = [
        at_us + 3 * MS + jitter[n % len(jitter)] for n, at_us in enumerate(grid(laid[-1][1] + 500 * MS, phase_us))
    ]
    found = detect(laid, instants)
    assert len(found) == len(laid)
    for one, (start, end, size) in zip(found, laid, strict=True):
        assert abs(one.bytes - size) <= 0.01 * size + 100_000
        assert abs(one.start_us - T0 - start) <= INTERVAL + 6 * MS
        assert abs(one.end_us - T0 - end) <= INTERVAL + 6 * MS


@given(st.lists(st.tuples(st.integers(-5, 200), st.none() | st.integers(0, 2**64 - 1), st.none() | st.integers(0, 9))))
def test_any_samples_give_sane_bursts(samples: list[tuple[int, int | None, int | None]]) -> None:
    detector, mono = BurstDetector(Sensing(line_bytes_s=1e9)), 1_000_000
    for step, tx, rx in samples:
        mono += step * MS
        detector.sample(T0 + mono, max(mono, 0), tx, rx)
    detector.forget()
    for one in detector.take():
        assert 0 <= one.start_us <= one.end_us
        assert one.bytes >= 0
