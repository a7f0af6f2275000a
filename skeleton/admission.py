"""Is this the traffic of a training job at all? What must hold before a structure is sought, and where work began.

Refused are: silence; too little traffic; traffic that does not repeat, or not regularly; periods without the usual
work; a job of which part is idle. Chance makes short series look regular: the correlation of n independent samples has
the standard deviation 1 / sqrt(n), and many lags are tried. So a period l, seen for n seconds, counts as regular only
from a correlation of

    max(regular, CHANCE / sqrt(n - l))

on, which 200 s of traffic reach with the usual 0.4 and 30 s of it only with 0.65.

Evidence counts from the first burst on: an endpoint map often comes a minute before the first step, and idle time says
nothing about regularity. Units: bytes per second. Cost: O(endpoints x seconds).
"""

from __future__ import annotations

import numpy as np

from skeleton.parameters import SkeletonParameters
from skeleton.periodicity import FloatArray, Period, job_activity, steadiness
from skeleton.resampling import Traffic

LEAST_SHARE = 0.05
"""An endpoint with less than this share of the mean endpoint's bytes is idle."""

MOST_IDLE = 0.1

STEADY = 0.75
"""Share of the periods that must have the usual traffic; evaluations and checkpoints may fill the others."""

CHANCE = 3.0
"""Standard deviations of chance correlation that a period must exceed."""

BEGUN, IDLE_BYTES = 1e-4, 1e6
"""The job has begun to work in the first second with this share of the bytes of its busiest one, and with so many bytes
per endpoint: less than that is keep-alives and chatter."""


def since_first_burst(traffic: Traffic) -> Traffic:
    """The traffic without the idle seconds before the job's first burst."""
    moved = np.nansum(traffic.tx, axis=0)
    if not len(moved) or moved.max() <= 0:
        return traffic
    begun = moved >= max(BEGUN * float(moved.max()), IDLE_BYTES * len(traffic.tx))
    return traffic.since(int(np.argmax(begun))) if begun.any() else traffic


def without_stalls(traffic: Traffic, period_s: float | None) -> FloatArray:
    """The job's activity per second; unknown (NaN) while nobody sends for longer than a period: it waits or reloads."""
    activity = job_activity(traffic.tx)
    if period_s is None or not traffic.seconds:
        return activity
    moved = np.nansum(traffic.tx, axis=0)
    idle = np.concatenate([[False], moved < BEGUN * moved.max(), [False]])
    bounds = np.nonzero(np.diff(idle))[0].reshape(-1, 2)
    for begin, end in bounds[np.diff(bounds, axis=1)[:, 0] > period_s]:
        activity[begin:end] = np.nan
    return activity


def refusal(
    traffic: Traffic, activity: FloatArray, period: Period | None, parameters: SkeletonParameters
) -> tuple[str, str]:
    """Why this is no traffic to infer a skeleton from: code and words; ("", "") = it is. ``activity``: of the job."""
    moved = np.nansum(traffic.tx, axis=1)
    if not np.nansum(traffic.tx, axis=0).max(initial=0.0) > IDLE_BYTES * len(traffic.tx):
        return "silent", "no traffic"
    if traffic.seconds < parameters.least_s:
        return "young", f"less than {parameters.least_s:g} s of traffic"
    if period is None:
        return "aperiodic", "the traffic does not repeat"
    if period.regularity < least_regularity(traffic.seconds, period, parameters):
        return "irregular", "the traffic does not repeat regularly"
    if steadiness(activity, period.period_s) < STEADY:
        return "unsteady", "not every period has traffic"
    return ("partial", "part of the endpoints takes no part in the traffic") if _part_is_idle(moved) else ("", "")


def least_regularity(seconds: int, period: Period, parameters: SkeletonParameters) -> float:
    """The correlation from which on the traffic counts as regular."""
    return max(parameters.regular, CHANCE / float(np.sqrt(max(seconds - period.period_s, 1.0))))


def _part_is_idle(moved: FloatArray) -> bool:
    return bool((moved < LEAST_SHARE * float(moved.mean())).mean() > MOST_IDLE)
