"""Scores of skeletons: figures of cases that can be counted by hand, and the Rand index against a slow version."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skeletonhunter.evaluation.skeletons.scores import Answer, adjusted_rand_index, score_skeleton
from skeletonhunter.evaluation.skeletons.truths import Seats, TrueSkeleton

NAMES = tuple(f"c{number}/r{rail}" for number in range(4) for rail in range(2))
SEATS = Seats(
    rails={name: int(name[-1]) for name in NAMES},
    hosts={name: f"h{name[1]}" for name in NAMES},
    leaves={name: f"leaf{int(name[1]) // 2}" for name in NAMES},
)
FIRST, SECOND = ("c0/r0", "c1/r0"), ("c2/r0", "c3/r0")


def edges(*pairs: str) -> frozenset[tuple[str, str]]:
    return frozenset((f"c{p[0]}/r0", f"c{p[1]}/r0") for p in pairs)


TRUTH = TrueSkeleton(
    expect="skeleton",
    edges=edges("01", "23", "02", "13") | {("c0/r0", "c1/r1")},
    dp=(FIRST, SECOND, ("c0/r1", "c1/r1"), ("c2/r1", "c3/r1")),
    position=((*FIRST, "c0/r1", "c1/r1"), (*SECOND, "c2/r1", "c3/r1")),
    periods_s=(10.0, 40.0),
)


def test_pairs_are_counted_on_one_rail_only() -> None:
    answer = Answer(state="trusted", confidence=0.9, period_s=39.0, edges=edges("01", "23", "02", "03"))
    score = score_skeleton(answer, TRUTH, SEATS)
    assert (score.recall, score.precision, score.ratio) == (3 / 4, 3 / 4, 4 / 12)
    assert score.true_ratio == 4 / 12
    assert score.period_error == pytest.approx(0.025)


def test_pairs_within_a_host_are_no_part_of_the_basic_list() -> None:
    seats = Seats(SEATS.rails, dict.fromkeys(NAMES, "h"), SEATS.leaves)
    score = score_skeleton(Answer(state="trusted", edges=edges("01")), TRUTH, seats)
    assert (score.recall, score.ratio, score.true_ratio) == (None, None, None)


def test_groups_and_stages_of_a_perfect_answer() -> None:
    chains = tuple((f"c{a}/r{rail}", f"c{a + 2}/r{rail}") for a in range(2) for rail in range(2))
    answer = Answer(state="trusted", edges=TRUTH.edges, groups=TRUTH.dp, chains=chains)
    score = score_skeleton(answer, TRUTH, SEATS)
    assert (score.dp_ari, score.position_ari, score.leaf_ari) == (1.0, 1.0, 1.0)


def test_one_group_of_everything_agrees_with_nothing() -> None:
    groups = tuple(tuple(name for name in NAMES if name.endswith(rail)) for rail in "01")
    score = score_skeleton(Answer(state="trusted", edges=edges("01"), groups=groups), TRUTH, SEATS)
    assert (score.dp_ari, score.leaf_ari) == (0.0, 0.0)


def test_what_is_not_known_is_none() -> None:
    nothing = score_skeleton(Answer(state="forming"), TrueSkeleton(expect="abstain"), SEATS)
    figures = (nothing.recall, nothing.precision, nothing.ratio, nothing.true_ratio, nothing.period_error)
    assert figures == (None,) * 5
    assert (nothing.dp_ari, nothing.position_ari, nothing.leaf_ari) == (None, None, None)


def test_an_answer_without_edges_has_recall_0_and_no_precision() -> None:
    score = score_skeleton(Answer(state="forming"), TRUTH, SEATS)
    assert (score.recall, score.precision, score.ratio) == (0.0, None, None)


LABELS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=12)


def slow_rand_index(one: list[int], other: list[int]) -> float:
    """By looking at every pair of things."""
    pairs = list(combinations(range(len(one)), 2))
    together = [(one[a] == one[b], other[a] == other[b]) for a, b in pairs]
    both = sum(first and second for first, second in together)
    first, second = (sum(pair[side] for pair in together) for side in (0, 1))
    expected, most = first * second / len(pairs), (first + second) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


@given(LABELS)
def test_rand_index_is_that_of_the_slow_version(labels: list[tuple[int, int]]) -> None:
    one, other = [a for a, _ in labels], [b for _, b in labels]
    assert adjusted_rand_index(one, other) == pytest.approx(slow_rand_index(one, other))
    assert adjusted_rand_index(other, one) == pytest.approx(adjusted_rand_index(one, other))
    assert adjusted_rand_index(one, [f"renamed {a}" for a in one]) == 1.0
