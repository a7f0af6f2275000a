"""How near is an inferred skeleton to the true one? Pure; counts pairs on one rail only, as the basic list does.

- recall: true same-rail pairs that are among the edges; precision: edges that are true;
- ratio: edges / all same-rail pairs between hosts; ``true_ratio``: the same of the true pairs, so the least that can be
  probed with recall 1;
- ``dp_ari``: adjusted Rand index (Hubert and Arabie 1985) of the data-parallel groups, mean over rails;
  ``position_ari``: of the pipeline stages, over the whole job;
- ``period_error``: relative, to the nearest of the periods that are right;
- ``leaf_ari``: agreement of the groups with the leaf switches, mean over rails; near 0 = not grouped by leaf.
A figure is None where the truth does not say or nothing was inferred.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import comb

from msgspec import Struct

from schemas.skeletons import SkeletonState, SkeletonUpdate
from skeletonhunter.evaluation.skeletons.truths import Expectation, Pair, Seats, TrueSkeleton

GOOD_RECALL = 0.99
"""From this recall on a skeleton counts as right in the calibration of its confidence."""


class Answer(Struct, frozen=True, kw_only=True):
    """What a method says of a job, ours or another. ``chains``: endpoints in pipeline order."""

    state: SkeletonState
    confidence: float = 0.0
    period_s: float | None = None
    edges: frozenset[Pair] = frozenset()
    groups: tuple[tuple[str, ...], ...] = ()
    chains: tuple[tuple[str, ...], ...] = ()


class SkeletonScore(Struct, frozen=True, kw_only=True):
    """The figures of one answer."""

    expect: Expectation
    state: SkeletonState
    confidence: float
    period_s: float | None = None
    period_error: float | None = None
    true_ratio: float | None = None
    recall: float | None = None
    precision: float | None = None
    ratio: float | None = None
    dp_ari: float | None = None
    position_ari: float | None = None
    leaf_ari: float | None = None


def answer_of(update: SkeletonUpdate) -> Answer:
    """Our answer. Groups are those of collectives; where nothing is told apart, the rail is one group."""
    return Answer(
        state=update.state,
        confidence=update.confidence,
        period_s=update.period_s,
        edges=frozenset((a, b) for a, b, _ in update.edges),
        groups=tuple(group.members for group in update.groups if group.kind in ("dp", "unknown")),
        chains=tuple(group.members for group in update.groups if group.kind == "pp"),
    )


def score_skeleton(answer: Answer, truth: TrueSkeleton, seats: Seats) -> SkeletonScore:
    """All figures of an answer."""
    basic = seats.same_rail_pairs()
    true, found = truth.edges & basic, answer.edges & basic
    by_rail = _labels_by_rail(answer.groups, seats)
    return SkeletonScore(
        expect=truth.expect,
        state=answer.state,
        confidence=answer.confidence,
        period_s=answer.period_s,
        period_error=_period_error(answer.period_s, truth.periods_s),
        true_ratio=_share(len(true), len(basic)) if true else None,
        recall=_share(len(true & found), len(true)),
        precision=_share(len(true & found), len(found)) if true else None,
        ratio=_share(len(found), len(basic)) if found else None,
        dp_ari=_mean_ari(by_rail, _labels_by_rail(truth.dp, seats)) if truth.dp and found else None,
        position_ari=_position_ari(answer, truth) if truth.position and found else None,
        leaf_ari=_leaf_ari(by_rail, seats) if found else None,
    )


def adjusted_rand_index(one: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    """Agreement of two partitions, given as the label of each thing: 1 = equal, 0 = as by chance."""
    both = sum(comb(n, 2) for n in Counter(zip(one, other, strict=True)).values())
    first, second = (sum(comb(n, 2) for n in Counter(labels).values()) for labels in (one, other))
    pairs = comb(len(one), 2)
    expected = first * second / pairs if pairs else 0.0
    most = (first + second) / 2.0
    return 1.0 if most == expected else (both - expected) / (most - expected)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _period_error(found_s: float | None, right_s: Iterable[float]) -> float | None:
    errors = [abs(found_s - right) / right for right in right_s] if found_s is not None else []
    return min(errors, default=None)


def _labels_by_rail(groups: Iterable[Sequence[str]], seats: Seats) -> dict[int, dict[str, int]]:
    """Of each rail, the number of the group of each endpoint; who is in no group is alone."""
    labels = {name: -number for number, name in enumerate(sorted(seats.rails), start=1)}
    for number, group in enumerate(groups):
        labels.update({name: number for name in group if name in labels})
    found: dict[int, dict[str, int]] = {}
    for name, rail in seats.rails.items():
        found.setdefault(rail, {})[name] = labels[name]
    return found


def _mean_ari(found: Mapping[int, Mapping[str, int]], true: Mapping[int, Mapping[str, int]]) -> float:
    values = [
        adjusted_rand_index([found[rail][name] for name in sorted(names)], [names[name] for name in sorted(names)])
        for rail, names in true.items()
    ]
    return sum(values) / len(values)


def _position_ari(answer: Answer, truth: TrueSkeleton) -> float:
    true = {name: number for number, stage in enumerate(truth.position) for name in stage}
    found: dict[str, Hashable] = {name: name for name in true}
    for number, group in enumerate(answer.groups):
        found.update({name: ("group", number) for name in group})
    for chain in answer.chains:
        found.update({name: ("stage", place) for place, name in enumerate(chain)})
    names = sorted(true)
    return adjusted_rand_index([found[name] for name in names], [true[name] for name in names])


def _leaf_ari(by_rail: Mapping[int, Mapping[str, int]], seats: Seats) -> float | None:
    values = []
    for labels in by_rail.values():
        names = sorted(name for name in labels if name in seats.leaves)
        leaves = [seats.leaves[name] for name in names]
        if len(set(leaves)) > 1:
            values.append(adjusted_rand_index([labels[name] for name in names], leaves))
    return sum(values) / len(values) if values else None
