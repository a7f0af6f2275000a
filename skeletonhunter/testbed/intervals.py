"""When does something hold? Sets of half-open intervals [start, end) of seconds, asked about many instants at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Intervals:
    """Disjoint intervals in ascending order, arrays of length n."""

    start_s: np.ndarray
    end_s: np.ndarray

    def __post_init__(self) -> None:
        if np.any(self.end_s < self.start_s) or np.any(self.start_s[1:] < self.end_s[:-1]):
            raise ValueError("intervals must be in ascending order and must not overlap")

    @property
    def first_s(self) -> float:
        """Start of the first one."""
        return float(self.start_s[0])

    @property
    def last_s(self) -> float:
        """End of the last one."""
        return float(self.end_s[-1])

    def holds(self, at_s: np.ndarray) -> np.ndarray:
        """For each instant, whether it lies in an interval."""
        place = np.searchsorted(self.start_s, at_s, side="right") - 1
        inside: np.ndarray = (place >= 0) & (np.asarray(at_s) < self.end_s[np.maximum(place, 0)])
        return inside

    def covered_s(self, until_s: np.ndarray) -> np.ndarray:
        """For each instant, how many seconds before it lie in intervals."""
        knots = np.column_stack([self.start_s, self.end_s]).ravel()
        lengths = self.end_s - self.start_s
        done = np.concatenate([[0.0], np.cumsum(lengths)])
        totals = np.column_stack([done[:-1], done[1:]]).ravel()
        covered: np.ndarray = np.interp(until_s, knots, totals, left=0.0, right=done[-1])
        return covered

    def share(self, from_s: np.ndarray, width_s: float) -> np.ndarray:
        """For each [from, from + width), the share of it that lies in intervals."""
        covered: np.ndarray = self.covered_s(np.asarray(from_s) + width_s) - self.covered_s(from_s)
        return covered / width_s

    def gaps(self, start_s: float, end_s: float) -> Intervals:
        """What lies between the intervals within [start, end)."""
        starts = np.concatenate([[start_s], self.end_s])
        ends = np.concatenate([self.start_s, [end_s]])
        kept = starts < ends
        return Intervals(starts[kept], ends[kept])


def always(start_s: float, end_s: float) -> Intervals:
    """One interval."""
    return Intervals(np.array([start_s]), np.array([end_s]))


def recurring(
    span_s: tuple[float, float], length_s: tuple[float, float], pause_s: tuple[float, float], rng: np.random.Generator
) -> Intervals:
    """Intervals that come and go within ``span_s``; lengths and pauses are log-uniform between their bounds."""
    starts, ends = [], []
    at = span_s[0]
    while at < span_s[1]:
        starts.append(at)
        ends.append(min(at + log_uniform(rng, *length_s), span_s[1]))
        at = ends[-1] + log_uniform(rng, *pause_s)
    return Intervals(np.array(starts), np.array(ends))


def log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    """A number whose logarithm is uniform between those of the bounds."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
