"""Which links do the planned probes cross, how often, and which single failures could they tell apart?

Two links are told apart when different sets of probes cross them. A set is kept as the sum (modulo 2^64) of a mixed
number per member, so adding and taking out a probe costs O(links of its path), and two links with different sets have
equal sums with a chance of 2^-64. The same sums over all ways that pairs *could* take say what any choice of paths
could tell apart at best (its ``classes``): no plan separates two cables in series.

``able``: pairs that could cross a link, so more than that many probe paths are not asked for. Arrays by link number;
the last entry takes the padding (-1) of paths. Cost: 20 ns per link of a path.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from probe_planner.hashing import Ints
from schemas.probing import PathCoverage

Sums = npt.NDArray[np.uint64]


@dataclass(slots=True)
class Crossings:
    """See the module."""

    crossed: Ints
    able: Ints
    taken: Sums
    takable: Sums

    def add(self, paths: Ints, numbers: Sums, sign: int = 1) -> None:
        """Probe paths, shape (probes, links), and a number for each probe."""
        np.add.at(self.crossed, paths, np.int64(sign))
        np.add.at(self.taken, paths, (numbers if sign > 0 else -numbers)[:, None])
        self._clear_padding()

    def add_one(self, path: Ints, number: np.uint64, sign: int) -> None:
        """One probe path; quicker than ``add``."""
        links = path[path >= 0]
        self.crossed[links] += sign
        if sign > 0:
            self.taken[links] += number
        else:
            self.taken[links] -= number

    def allow(self, ways: Ints, numbers: Sums, sign: int = 1) -> None:
        """Ways that pairs could take, shape (pairs, ways, links), and a number for each pair."""
        flat = np.sort(ways.reshape(len(ways), -1), axis=1)
        first = np.ones(flat.shape, dtype=bool)
        first[:, 1:] = flat[:, 1:] != flat[:, :-1]
        self.able += sign * np.bincount(flat[first] % len(self.able), minlength=len(self.able))
        each = mix(numbers[:, None] + np.arange(ways.shape[1], dtype=np.uint64)[None, :])
        np.add.at(self.takable, ways, (each if sign > 0 else -each)[:, :, None])
        self._clear_padding()

    def _clear_padding(self) -> None:
        for column in (self.crossed, self.able, self.taken, self.takable):
            column[-1] = 0

    def wanted(self, alpha: int) -> Ints:
        """How many probe paths each link should be crossed by."""
        return np.minimum(self.able, alpha)

    def short(self, alpha: int) -> Ints:
        """Links that are crossed by too few."""
        return np.flatnonzero(self.crossed < self.wanted(alpha))

    def confused(self) -> Ints:
        """Pairs of links, shape (n, 2), that could be told apart and are crossed by the same probes."""
        links = np.flatnonzero((self.able > 0) & (self.crossed > 0))
        sums = np.sort(self.taken[links])
        if not (sums[1:] == sums[:-1]).any():
            return np.zeros((0, 2), dtype=np.int64)
        order = links[np.lexsort((links, self.takable[links], self.taken[links]))]
        one, two = order[:-1], order[1:]
        same = (self.taken[one] == self.taken[two]) & (self.takable[one] != self.takable[two])
        return np.stack([one[same], two[same]], axis=1)

    def summary(self, alpha: int, most_per_slot: int) -> PathCoverage:
        """Coverage by paths that are known."""
        links = self.able > 0
        return PathCoverage(
            method="hash",
            alpha=alpha,
            links=int(links.sum()),
            crossed=int((links & (self.crossed > 0)).sum()),
            crossed_alpha=int((links & (self.crossed >= self.wanted(alpha))).sum()),
            classes=_distinct(self.takable[links]),
            told_apart=_distinct(self.taken[links & (self.crossed > 0)]),
            confidence=1.0,
            most_per_slot=most_per_slot,
        )


def no_crossings(links: int) -> Crossings:
    """Nothing planned yet over that many links."""
    whole, sums = np.zeros((2, links + 1), dtype=np.int64), np.zeros((2, links + 1), dtype=np.uint64)
    return Crossings(whole[0], whole[1], sums[0], sums[1])


def _distinct(sums: Sums) -> int:
    """How many different ones; sorting is faster than ``np.unique`` here."""
    ordered = np.sort(sums)
    return int((ordered[1:] != ordered[:-1]).sum()) + min(1, len(sums))


def mix(numbers: Sums) -> Sums:
    """Numbers to numbers without visible pattern (the finalizer of splitmix64)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def flow_numbers(source: Ints, target: Ints, port: Ints) -> Sums:
    """A number for each flow: RNIC, RNIC, port."""
    ends = mix((source.astype(np.uint64) << np.uint64(32)) + target.astype(np.uint64))
    return mix(ends + port.astype(np.uint64))
