"""What is said of a graph, in arrays and in plain Python."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe_planner import graphs
from probe_planner.graphs import Pair, degrees, is_overfull, max_degree, split_parallel

PAIRS = st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] != pair[1])


@given(st.lists(PAIRS, max_size=40))
@settings(max_examples=200, deadline=None)
def test_degrees_and_parallel_edges(edges: list[Pair]) -> None:
    slow = Counter(end for pair in edges for end in pair)
    assert degrees(10, edges).tolist() == [slow[vertex] for vertex in range(10)]
    assert max_degree(10, edges) == max(slow.values(), default=0)
    simple, parallel = split_parallel(edges)
    assert sorted([*simple, *parallel]) == list(range(len(edges)))
    unordered = [frozenset(edges[edge]) for edge in simple]
    assert len(set(unordered)) == len(unordered)
    assert {frozenset(edges[edge]) for edge in parallel} <= set(unordered)


@given(st.sets(PAIRS.map(lambda pair: (min(pair), max(pair))), min_size=1, max_size=40), st.integers(1, 9))
@settings(max_examples=200, deadline=None)
def test_both_ways_agree_on_what_is_overfull(edges: set[Pair], degree: int) -> None:
    listed = sorted(edges)
    with pytest.MonkeyPatch.context() as patch:
        plain = is_overfull(10, listed, degree)
        patch.setattr(graphs, "FEW", 0)
        assert is_overfull(10, listed, degree) == plain


def test_an_odd_clique_is_overfull_and_an_even_one_is_not() -> None:
    for size in range(2, 9):
        clique = [(a, b) for a in range(size) for b in range(a + 1, size)]
        assert is_overfull(size, clique, size - 1) == (size % 2 == 1)
