"""Do these parts of pipelines belong together, or could they be exchanged?

Take the stages i..j out of every pipeline of a rail. What a replica's part has received, its rest has sent, so the
balances of the two, part_a(t) and rest_a(t), add up to nearly zero, and the right way to put R parts into R rests is
the assignment with the least sum over t of (rest + part)^2, that is with the least sum of the products <rest_a,
part_b>. Part by part this mends pipelines that were put together from several replicas.

Whether a part is *certain* is a matter of evidence. With n = rest + part of each pipeline (noise, if the parts are
right) and d = part_b - part_a, exchanging the parts of a and b would add, in interval t,

    x(t) = 2 d(t)^2 + 2 d(t) (n_a(t) - n_b(t)),

of which only the second half is noise. The part is certain against this exchange when

    sum x / (2 sqrt(sum d^2 ((n_a - n_b)^2 + 2 e^2)))  >=  CERTAIN,

e being the bytes that clocks may misplace. With exact samples one interval is enough, with noisy ones it takes many;
replicas in step have d = 0 and never get there. What may be exchanged leaves both its ends in *doubt*: the links from
the stage before it and to the stage after it.

Endpoints polled at the same instants fit together better than others, whoever they belong to. So a joint is never
certain against an exchange that would mix more poll clocks than it does.

Cost: O(R^2 T) for each of the P^2 / 2 parts, and the assignment's O(R^3), in each round.
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


def certain_joints(chains: Sequence[Rows]) -> Joints:
    """The pipelines as they are, nothing in doubt."""
    alone = tuple((number,) for number in range(len(chains)))
    return Joints(tuple(chains), (alone,) * (len(chains[0]) - 1))


def join(balance: FloatArray, chains: Sequence[Rows], clocks: Sequence[int], misplaced: float) -> Joints:
    """The pipelines ``chains`` of (n, T) balances (NaN unknown), mended, and where they may be exchanged.

    ``clocks``: number of each row's poll clock. ``misplaced``: bytes that errors of clocks may move between intervals.
    """
    known = ~np.isnan(balance).any(axis=0)
    usable = balance[:, known] if 2 * known.sum() >= balance.shape[1] else np.nan_to_num(balance)
    mended = _mend(usable, [tuple(chain) for chain in chains])
    stages = len(mended[0])
    doubtful = np.zeros((stages - 1, len(mended), len(mended)), dtype=bool)
    for first, last in _spans(stages):
        rest, part = _parts(usable, mended, first, last)
        sides = [[{clocks[row] for row in rows} for rows in rows_of] for rows_of in _take_out(mended, first, last)]
        certain = np.array([_certainty(rest, part, row, misplaced) for row in range(len(mended))]) >= CERTAIN
        unsure = ~(certain & certain.T & _fair(*sides))
        doubtful[first - 1] |= unsure
        if last + 1 < stages:
            doubtful[last] |= unsure
    return Joints(tuple(mended), tuple(_groups(unsure) for unsure in doubtful))


def _spans(stages: int) -> list[tuple[int, int]]:
    """First and last stage of every part; the first stage of all stays, since exchanging the rest is the same."""
    return [(first, last) for first in range(1, stages) for last in range(first, stages)]


def _fair(rests: Sequence[set[int]], parts: Sequence[set[int]]) -> NDArray[np.bool_]:
    """Whether exchanging the parts of two pipelines would mix no more poll clocks than there are mixed now, (R, R)."""
    mixed = np.array([[len(rest | part) for part in parts] for rest in rests])
    own = np.diag(mixed)
    return np.asarray(mixed + mixed.T <= own[:, None] + own[None, :])


def _mend(balance: FloatArray, chains: list[Rows]) -> list[Rows]:
    from scipy.optimize import linear_sum_assignment

    for _ in range(ROUNDS):
        changed = False
        for first, last in _spans(len(chains[0])):
            rest, part = _parts(balance, chains, first, last)
            products = rest @ part.T
            _, partner = linear_sum_assignment(products)
            straight = float(np.trace(products))
            if float(products[np.arange(len(chains)), partner].sum()) < straight - 1e-9 * abs(straight):
                chains = [
                    chain[:first] + chains[int(other)][first : last + 1] + chain[last + 1 :]
                    for chain, other in zip(chains, partner, strict=True)
                ]
                changed = True
        if not changed:
            break
    return chains


def _take_out(chains: Sequence[Rows], first: int, last: int) -> tuple[list[Rows], list[Rows]]:
    """What is left of all pipelines without the stages ``first`` to ``last``, and those."""
    return [chain[:first] + chain[last + 1 :] for chain in chains], [chain[first : last + 1] for chain in chains]


def _parts(balance: FloatArray, chains: Sequence[Rows], first: int, last: int) -> tuple[FloatArray, FloatArray]:
    """Balances of the rests and parts of all pipelines, (R, T) each."""
    rests, parts = _take_out(chains, first, last)
    rest = np.array([balance[list(rows)].sum(axis=0) for rows in rests])
    part = np.array([balance[list(rows)].sum(axis=0) for rows in parts])
    return rest, part


def _groups(unsure: NDArray[np.bool_]) -> tuple[Rows, ...]:
    """Groups of pipelines that may be exchanged with one another, each pipeline in one group."""
    groups: list[set[int]] = []
    for row in range(len(unsure)):
        near = {row, *(int(other) for other in np.nonzero(unsure[row])[0])}
        touching = [group for group in groups if group & near]
        groups = [group for group in groups if not group & near]
        groups.append(near.union(*touching))
    return tuple(sorted(tuple(sorted(group)) for group in groups))


def _certainty(rest: FloatArray, part: FloatArray, row: int, misplaced: float) -> FloatArray:
    """How certain the part of pipeline ``row`` is against an exchange with each other one; infinite against itself."""
    noise = rest + part
    apart, unlike = part - part[row], noise[row] - noise
    added = 2.0 * (apart * (apart + unlike)).sum(axis=1)
    spread = 2.0 * np.sqrt((apart**2 * (unlike**2 + 2.0 * misplaced**2)).sum(axis=1))
    certainty = added / np.maximum(spread, 1e-9)
    certainty[row] = np.inf
    return np.asarray(certainty)
