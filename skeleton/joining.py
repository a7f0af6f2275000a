"""Do these parts of pipelines belong together, or could they be exchanged?

Cut all pipelines of a rail after their k-th stage. The front of a replica has sent what its back has received, so the
balances of its two parts, front_a(t) and back_a(t), add up to nearly zero, and the right way to join R fronts with R
backs is the assignment with the least sum over t of (front + back)^2, that is with the least sum of the products
<front_a, back_b>. Cut by cut this mends pipelines that were put together from parts of several replicas.

Whether a joint is *certain* is a matter of evidence: exchanging the backs of a and b would add, in interval t,

    x(t) = (front_a + back_b)^2 + (front_b + back_a)^2 - (front_a + back_a)^2 - (front_b + back_b)^2

and the joint is certain against this exchange when sum x / sqrt(sum x^2) is at least ``CERTAIN``: of n intervals that
speak for it, each about as loud, that is sqrt(n). Replicas in step speak in few intervals or, with noise, for both
sides. Replicas that may be exchanged at a cut form a *doubt* there.

Endpoints polled at the same instants fit together better than others, whoever they belong to. So a joint is never
certain against an exchange that would mix more poll clocks than it does.

Cost: O(R^2 T) per cut and round, and the assignment's O(R^3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Rows = tuple[int, ...]

CERTAIN = 4.0
ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Joints:
    """Pipelines as rows, first stage first, and per cut the groups of pipeline numbers that may be exchanged there."""

    chains: tuple[Rows, ...]
    doubts: tuple[tuple[Rows, ...], ...]

    def links(self) -> tuple[tuple[int, int], ...]:
        """Pairs of rows of neighbouring stages that may be one pipeline's."""
        found = set()
        for cut, groups in enumerate(self.doubts):
            for group in groups:
                found |= {(self.chains[a][cut], self.chains[b][cut + 1]) for a in group for b in group}
        return tuple(sorted(found))

    def end_links(self) -> tuple[tuple[int, int], ...]:
        """Pairs of rows of the first and last stage that may be one pipeline's."""
        together = np.eye(len(self.chains), dtype=bool)
        for groups in self.doubts:
            step = np.zeros_like(together)
            for group in groups:
                step[np.ix_(group, group)] = True
            together = together @ step
        return tuple((self.chains[a][0], self.chains[b][-1]) for a, b in zip(*np.nonzero(together), strict=True))


def join(balance: FloatArray, chains: Sequence[Rows], clocks: Sequence[int]) -> Joints:
    """The pipelines ``chains`` of (n, T) balances (NaN unknown), mended, and where they may be exchanged.

    ``clocks``: number of each row's poll clock.
    """
    known = ~np.isnan(balance).any(axis=0)
    usable = balance[:, known] if 2 * known.sum() >= balance.shape[1] else np.nan_to_num(balance)
    mended = _mend(usable, [tuple(chain) for chain in chains])
    doubts = []
    for cut in range(1, len(mended[0])):
        fair = _fair(
            [{clocks[row] for row in chain[:cut]} for chain in mended],
            [{clocks[row] for row in chain[cut:]} for chain in mended],
        )
        doubts.append(_doubts(*_parts(usable, mended, cut), fair))
    return Joints(tuple(mended), tuple(doubts))


def _fair(fronts: Sequence[set[int]], backs: Sequence[set[int]]) -> NDArray[np.bool_]:
    """Whether exchanging the backs of two pipelines would mix no more poll clocks than there are mixed now, (R, R)."""
    mixed = np.array([[len(front | back) for back in backs] for front in fronts])
    own = np.diag(mixed)
    return np.asarray(mixed + mixed.T <= own[:, None] + own[None, :])


def _mend(balance: FloatArray, chains: list[Rows]) -> list[Rows]:
    from scipy.optimize import linear_sum_assignment

    for _ in range(ROUNDS):
        changed = False
        for cut in range(1, len(chains[0])):
            front, back = _parts(balance, chains, cut)
            products = front @ back.T
            _, partner = linear_sum_assignment(products)
            straight = float(np.trace(products))
            if float(products[np.arange(len(chains)), partner].sum()) < straight - 1e-9 * abs(straight):
                chains = [chain[:cut] + chains[int(other)][cut:] for chain, other in zip(chains, partner, strict=True)]
                changed = True
        if not changed:
            break
    return chains


def _parts(balance: FloatArray, chains: Sequence[Rows], cut: int) -> tuple[FloatArray, FloatArray]:
    """Balances of the fronts and backs of all pipelines, (R, T) each."""
    front = np.array([balance[list(chain[:cut])].sum(axis=0) for chain in chains])
    back = np.array([balance[list(chain[cut:])].sum(axis=0) for chain in chains])
    return front, back


def _doubts(front: FloatArray, back: FloatArray, fair: NDArray[np.bool_]) -> tuple[Rows, ...]:
    """Groups of pipelines whose backs may be exchanged, each pipeline in one group."""
    certain = np.array([_certainty(front, back, row) for row in range(len(front))]) >= CERTAIN
    certain &= fair
    groups: list[set[int]] = []
    for row in range(len(front)):
        near = {row, *(int(other) for other in np.nonzero(~(certain[row] & certain[:, row]))[0])}
        touching = [group for group in groups if group & near]
        groups = [group for group in groups if not group & near]
        groups.append(near.union(*touching))
    return tuple(sorted(tuple(sorted(group)) for group in groups))


def _certainty(front: FloatArray, back: FloatArray, row: int) -> FloatArray:
    """How certain pipeline ``row`` is against an exchange with each other one; infinite against itself."""
    own = (front + back) ** 2
    exchanged = (front[row] + back) ** 2 + (front + back[row]) ** 2 - own[row] - own
    loudness = np.sqrt((exchanged**2).sum(axis=1))
    certainty = exchanged.sum(axis=1) / np.maximum(loudness, 1e-300)
    certainty[row] = np.inf
    return np.asarray(certainty)
