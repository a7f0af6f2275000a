"""How long is a training step? Period and regularity of a job from the bytes its RNICs send.

Activity of the job: x(t) = mean over its endpoints of sqrt(sent bytes in second t / the endpoint's mean). The square
root keeps one huge all-reduce from drowning the rest. Regularity at lag l is the correlation of x(t) and x(t + l)
over all t at which both are known (holes are left out, not filled):

    r(l) = sum z(t) z(t+l) / sqrt(sum z(t)^2 m(t+l) * sum m(t) z(t+l)^2),   z = x - mean, m = 1 where known

computed by FFT and interpolated between whole seconds by zero-padding its spectrum, because a period of 11.41 s falls
between two samples. The period is the shortest lag whose peak reaches 80 % of the highest; its multiples are then
followed outwards, so that the error falls with the number of periods seen. Steps that vary by half a second hardly
correlate second by second, so the same is done with x smoothed over three seconds, and the more regular of both counts.
Lags beyond a third of the span are not looked at: three repetitions make a period, two a coincidence.

Edge cases: a constant or silent job has no period. Cost: O(n log n) for n seconds, about 2 ms for 15 minutes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

UPSAMPLING = 8
"""Lags are looked at in steps of an eighth of a second."""

SHORTEST_S = 2.0
"""Twice the sampling interval: what is faster can't be seen at 1 Hz."""

SHORTEST_SMOOTHED_S = 6.0
WEIGHTS = np.array([0.25, 0.5, 0.25])

PEAK_SHARE = 0.8
"""A peak this close to the highest counts as equally well supported; the shortest such lag is the period."""

LEAST_CYCLES = 2.8
"""Three repetitions make a period, two a coincidence; a little less than three, since a peak must be seen to fall."""

LEAST_ENERGY = 0.5
"""Where the overlap of series and lagged series holds less than this share of its due variance, r is held down: a lone
burst at the edge would otherwise correlate perfectly with nothing."""


@dataclass(frozen=True, slots=True)
class Period:
    """``period_s`` seconds; ``regularity`` = correlation with the traffic one period later, 0..1; ``cycles`` seen."""

    period_s: float
    regularity: float
    cycles: float


def job_activity(sent: FloatArray) -> FloatArray:
    """Activity of the job per second, (T,), NaN where no endpoint is known. ``sent``: (E, T) bytes, NaN unknown."""
    known = ~np.isnan(sent)
    filled = np.where(known, sent, 0.0)
    mean = filled.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    busy = mean > 0
    scaled = np.sqrt(filled[busy] / mean[busy, None])
    count = known[busy].sum(axis=0)
    return np.where(count > 0, scaled.sum(axis=0) / np.maximum(count, 1), np.nan)


def find_period(activity: FloatArray) -> Period | None:
    """Period of a series of one value per second, NaN unknown; None: nothing repeats."""
    span = len(activity)
    most = int(span / LEAST_CYCLES)
    if most <= SHORTEST_S:
        return None
    sharp, smooth = (_find(lags, span) for lags in regularities(np.stack([activity, smoothed(activity)]), most))
    if smooth is None or smooth.period_s < SHORTEST_SMOOTHED_S:
        return sharp
    return sharp if sharp is not None and sharp.regularity >= smooth.regularity else smooth


def smoothed(activity: FloatArray) -> FloatArray:
    """The series averaged over three seconds with weights 1, 2, 1; NaN stays NaN and weighs nothing."""
    known = ~np.isnan(activity)
    if len(activity) < len(WEIGHTS):
        return activity
    total = np.convolve(np.where(known, activity, 0.0), WEIGHTS, "same")
    weight = np.convolve(known.astype(np.float64), WEIGHTS, "same")
    return np.where(known, total / np.maximum(weight, WEIGHTS.min()), np.nan)


def _find(lags: FloatArray, span: int) -> Period | None:
    """The period that r(l) of a series of ``span`` seconds tells of."""
    peaks = _peaks(lags)
    if not peaks:
        return None
    highest = max(lags[peak] for peak in peaks)
    if highest <= 0:
        return None
    first = next(peak for peak in peaks if lags[peak] >= PEAK_SHARE * highest)
    period_s = _follow(lags, first) / UPSAMPLING
    return Period(period_s, float(min(lags[first], 1.0)), span / period_s)


def regularities(courses: FloatArray, longest_s: int) -> FloatArray:
    """r(l) of each series for l = 0, 1/8, 2/8 ... ``longest_s`` seconds; 0 where it can't be told.

    ``courses``: (k, T), NaN unknown, in the same seconds for all: so they take one transform of each kind together.
    """
    known, rows = ~np.isnan(courses[0]), len(courses)
    if not known.any():
        return np.zeros((rows, longest_s * UPSAMPLING + 1))
    centred = np.where(known, courses - np.array([[course[known].mean()] for course in courses]), 0.0)
    size = 1 << (2 * len(known) - 1).bit_length()
    spectra = np.fft.rfft(np.concatenate([centred, centred**2, known[None]]), size)
    series, power, mask = spectra[:rows], spectra[rows:-1], spectra[-1]
    energy = np.maximum(np.fft.irfft(np.concatenate([mask.conj() * power, power.conj() * mask]), size), 0.0)
    scale = np.sqrt(energy[:rows, : longest_s + 1] * energy[rows:, : longest_s + 1])
    covariance = np.fft.irfft(np.abs(series) ** 2, size * UPSAMPLING)[:, : longest_s * UPSAMPLING + 1] * UPSAMPLING
    fine_s, whole_s = np.arange(longest_s * UPSAMPLING + 1) / UPSAMPLING, np.arange(longest_s + 1)
    least = LEAST_ENERGY * (1.0 - fine_s / len(known)) * scale[:, :1]
    due = np.maximum(np.array([np.interp(fine_s, whole_s, row) for row in scale]), least)
    due[scale[:, 0] <= 0] = np.inf  # what is constant has no regularity
    return np.asarray(covariance / due)


def steadiness(activity: FloatArray, period_s: float) -> float:
    """Share of the whole periods in which as much was done as usual: between half and twice the median.

    Two bursts a minute apart correlate at a lag of one minute; only work that goes on period after period is steady.
    """
    total = np.concatenate([[0.0], np.cumsum(np.nan_to_num(activity))])
    known = np.concatenate([[0.0], np.cumsum(~np.isnan(activity))])
    bounds = np.arange(0.0, len(activity) + 1e-9, period_s)
    if len(bounds) < 2:
        return 0.0
    seconds = np.diff(np.interp(bounds, np.arange(len(known)), known))
    done = np.diff(np.interp(bounds, np.arange(len(total)), total))
    rate = done[seconds > 0.5 * period_s] / seconds[seconds > 0.5 * period_s]
    if not len(rate) or (usual := float(np.median(rate))) <= 0:
        return 0.0
    return float(((rate >= 0.5 * usual) & (rate <= 2.0 * usual)).mean())


def _peaks(lags: FloatArray) -> list[int]:
    """Indices of local maxima that stand out from the valley before them, in ascending order."""
    rises = np.diff(lags)
    tops = np.nonzero((rises[:-1] > 0) & (rises[1:] <= 0))[0] + 1
    found: list[int] = []
    for top in tops[tops >= SHORTEST_S * UPSAMPLING]:
        valley = lags[: top + 1].min() if not found else lags[found[-1] : top + 1].min()
        if lags[top] - valley >= 0.1:
            found.append(int(top))
    return found


def _follow(lags: FloatArray, first: int) -> float:
    """The period in upsampled steps, refined at its multiples as long as each has a peak near where it must be."""
    period = float(first)
    multiple = 2
    while (multiple + 0.5) * period < len(lags):
        near = round(multiple * period)
        reach = max(int(0.25 * period / multiple), UPSAMPLING // 2)
        window = lags[near - reach : near + reach + 1]
        top = near - reach + int(window.argmax())
        if lags[top] < 0.5 * lags[first]:
            break
        period = top / multiple
        multiple += 1
    return period
