"""Which ranks talk to each other? Roles, groups and edges of a job's ranks, by its degrees of parallelism.

Ranks count tp fastest, then ep, pp, dp: rank = ((dp * PP + pp) * EP + ep) * TP + tp. Tensor parallelism stays inside
the host (NVLink). Edges over the fabric, each once with ascending ranks: ``dp`` = clique over the replicas of a
(pp, ep, tp); ``pp`` = adjacent stages of the same (dp, ep, tp), without wrap-around; ``ep`` = clique over the experts
of a (dp, pp, tp). Source: the paper's Figure 9.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

RankEdge = tuple[int, int, str]


@dataclass(frozen=True)
class Degrees:
    """Degrees of parallelism; their product is the number of ranks."""

    tp: int
    pp: int = 1
    dp: int = 1
    ep: int = 1

    @property
    def ranks(self) -> int:
        """How many ranks there are."""
        return self.tp * self.pp * self.dp * self.ep

    def grid(self) -> np.ndarray:
        """Rank numbers in an array of shape (dp, pp, ep, tp)."""
        return np.arange(self.ranks).reshape(self.dp, self.pp, self.ep, self.tp)

    def stage_of(self) -> np.ndarray:
        """The pipeline stage of each rank."""
        return np.arange(self.ranks) // (self.ep * self.tp) % self.pp


def rank_groups(degrees: Degrees, kind: str) -> list[list[int]]:
    """Ranks that play one role together: ``dp``, ``pp`` (chains), ``ep``, or ``position`` (all of a stage).

    Raises:
        KeyError: another kind.
    """
    grid = degrees.grid()
    if kind == "position":
        return [sorted(grid[:, stage].ravel().tolist()) for stage in range(degrees.pp)]
    axis = {"dp": 0, "pp": 1, "ep": 2}[kind]
    rows = np.moveaxis(grid, axis, -1).reshape(-1, grid.shape[axis])
    return sorted(rows.tolist())


def rank_edges(degrees: Degrees) -> list[RankEdge]:
    """All edges, in ascending order. A pair that is in two kinds of groups stands there twice."""
    return sorted(set(_edges(degrees)))


def _edges(degrees: Degrees) -> Iterator[RankEdge]:
    for kind in ("dp", "ep"):
        for group in rank_groups(degrees, kind):
            yield from ((a, b, kind) for a, b in combinations(sorted(group), 2))
    for chain in rank_groups(degrees, "pp"):
        yield from ((a, b, "pp") for a, b in pairwise(chain))
