"""When does each training step begin and end, given how well the network serves the job?

A step's work is its usual duration; work is done at a pace between 0 and 1 that depends on the network: +10 us of RTT
on the slowest pair costs 20 % of the speed, lost packets are sent again, and a pair that hears nothing for
``TIMEOUT_S`` makes the collective time out, after which the job hangs until all pairs answer again and ``restart_s``
more. Source of these figures: the paper; the cost of loss is go-back-N on windows of ``WINDOW`` packets. Step durations
vary as in real jobs: 0.5 % (steady) to 7 % (data-dependent), fitted to the ByteDance traces and Fig. 7.
Times are seconds; the pace is given on a grid of ``GRID_S``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

GRID_S = 0.5
TIMEOUT_S = 4.0
WINDOW = 64
DEAD = 0.5
"""A pair that loses this share of its packets makes no progress."""


@dataclass(frozen=True)
class Step:
    """One step: ``stretch`` = its duration over the usual one; a step that was cut off ends when the job hung."""

    number: int
    start_s: float
    end_s: float
    stretch: float
    finished: bool


@dataclass(frozen=True)
class Rhythm:
    """Usual step duration, its spread (share), and how long a restart takes after a hang."""

    period_s: float
    spread: float = 0.014
    restart_s: float = 20.0


def pace_of(drop: np.ndarray, delay_us: np.ndarray) -> np.ndarray:
    """Pace on the grid, of the worst pair's share of lost packets and added RTT; a hang is pace 0."""
    slowdown = 1.0 + np.minimum(delay_us, 300.0) * 0.02
    resend = 1.0 + np.minimum(drop, DEAD) * WINDOW / 2.0
    pace: np.ndarray = np.where(drop >= DEAD, 0.0, 1.0 / (slowdown * resend))
    return pace


def hang(pace: np.ndarray, restart_s: float) -> np.ndarray:
    """The pace after time-outs: once it was 0 for ``TIMEOUT_S`` it stays 0 until ``restart_s`` after it is not."""
    held = pace.copy()
    patience, rest = round(TIMEOUT_S / GRID_S), round(restart_s / GRID_S)
    silent, waiting = 0, 0
    for n, value in enumerate(pace.tolist()):
        silent = silent + 1 if value == 0.0 else 0
        if silent > patience:
            waiting = rest
        elif waiting:
            waiting -= 1
            held[n] = 0.0
    return held


def schedule(
    rhythm: Rhythm, span_s: tuple[float, float], pace: np.ndarray, rng: np.random.Generator, first: int = 0
) -> list[Step]:
    """The steps from ``span_s[0]`` on; ``pace`` is on the grid from second 0; before it the pace is 1."""
    begin_s, end_s = span_s
    progress = _Progress(pace)
    steps = []
    at, number = begin_s, first
    while at < end_s:
        usual = rhythm.period_s * float(np.exp(rng.normal(0.0, rhythm.spread)))
        until, finished = progress.after(at, usual, end_s)
        steps.append(Step(number, at, until, (until - at) / usual, finished))
        number += 1
        at = until if finished else progress.resumes(until, end_s)
    return steps


class _Progress:
    """Work done along the grid."""

    def __init__(self, pace: np.ndarray) -> None:
        self.pace = pace
        self.knots = np.arange(len(pace) + 1) * GRID_S
        self.work = np.concatenate([[0.0], np.cumsum(pace) * GRID_S])

    def after(self, at: float, usual: float, end_s: float) -> tuple[float, bool]:
        """When work of ``usual`` seconds from ``at`` on is done; or when the job hung before that."""
        before = min(0.0, at)
        target = float(np.interp(at, self.knots, self.work)) + before + usual
        hangs_s = self._hangs(at)
        if target > self.work[-1]:
            done = self.knots[-1] + target - self.work[-1] if self.pace[-1] > 0 else np.inf
        else:
            done = target if target < 0.0 else float(np.interp(target, self.work, self.knots))
        if done > hangs_s:
            return hangs_s, False
        return (float(done), True) if done < end_s + usual else (end_s, False)

    def _hangs(self, at: float) -> float:
        """Start of the next standstill of more than ``TIMEOUT_S`` after ``at``."""
        silent = 0
        for n in range(max(0, int(at / GRID_S)), len(self.pace)):
            silent = silent + 1 if self.pace[n] == 0.0 else 0
            if silent * GRID_S > TIMEOUT_S:
                return max(at, (n + 1 - silent) * GRID_S)
        return np.inf

    def resumes(self, at: float, end_s: float) -> float:
        """When the pace is above 0 again."""
        moving = np.flatnonzero((self.pace > 0.0) & (self.knots[:-1] > at))
        return float(self.knots[moving[0]]) if len(moving) else end_s
