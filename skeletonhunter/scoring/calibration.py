"""Does a confidence of 0.8 mean that four of five are right? Reliability of the alarms that name a component.

A false alarm is wrong; alarms that are not judged (set aside, single links of a faulty switch) are left out.
Brier score: mean of (confidence - right)^2, 0 is best, 0.25 is a coin. Expected calibration error: mean over alarms
of |mean confidence - share right| of their bin. Ten equal bins (low, high]. Source: Brier (1950); Naeini et al. (2015).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from skeletonhunter.scoring.intervals import share_interval
from skeletonhunter.scoring.verdicts import AlarmVerdict

BINS = 10


class ConfidenceBin(Struct, frozen=True, kw_only=True):
    """Alarms with a confidence in (low, high]; the first bin holds 0 too. The interval is of ``share_right``, 95 %."""

    low: float
    high: float
    alarms: int
    mean_confidence: float
    share_right: float
    right_low: float
    right_high: float


class Calibration(Struct, frozen=True, kw_only=True):
    """Bins that are not empty, in ascending order; the scores are null without alarms."""

    bins: tuple[ConfidenceBin, ...] = ()
    brier: float | None = None
    expected_error: float | None = None


def calibrate(alarms: Sequence[AlarmVerdict]) -> Calibration:
    """Reliability of the network faults that were called."""
    pairs = sorted(pair for alarm in alarms for pair in _judged(alarm))
    if not pairs:
        return Calibration()
    grouped: dict[int, list[tuple[float, bool]]] = {}
    for confidence, right in pairs:
        grouped.setdefault(_bin_of(confidence), []).append((confidence, right))
    bins = tuple(_bin(index, grouped[index]) for index in sorted(grouped))
    return Calibration(
        bins=bins,
        brier=sum((confidence - right) ** 2 for confidence, right in pairs) / len(pairs),
        expected_error=sum(b.alarms * abs(b.mean_confidence - b.share_right) for b in bins) / len(pairs),
    )


def _judged(alarm: AlarmVerdict) -> list[tuple[float, bool]]:
    if alarm.kind != "network_fault" or alarm.component is None:
        return []
    if alarm.standing == "false":
        return [(alarm.confidence, False)]
    return [] if alarm.named is None else [(alarm.confidence, alarm.named)]


def _bin_of(confidence: float) -> int:
    return max(0, min(BINS - 1, -int(-confidence * BINS // 1) - 1))


def _bin(index: int, pairs: Sequence[tuple[float, bool]]) -> ConfidenceBin:
    right = sum(right for _, right in pairs)
    interval = share_interval(right, len(pairs))
    return ConfidenceBin(
        low=index / BINS,
        high=(index + 1) / BINS,
        alarms=len(pairs),
        mean_confidence=sum(confidence for confidence, _ in pairs) / len(pairs),
        share_right=right / len(pairs),
        right_low=interval.low,
        right_high=interval.high,
    )
