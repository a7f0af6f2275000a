"""Edge colouring: proper, and never more than Δ + 1 colours for a simple graph."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe_planner.colouring import colour_edges
from probe_planner.graphs import max_degree

Edges = list[tuple[int, int]]


def is_proper(edges: Edges, colours: list[int]) -> bool:
    seen = [(vertex, colour) for edge, colour in zip(edges, colours, strict=True) for vertex in edge]
    return all(colour >= 0 for colour in colours) and len(seen) == len(set(seen))


def count(colours: list[int]) -> int:
    return max(colours, default=-1) + 1


@st.composite
def graphs(draw: st.DrawFn, most: int = 12) -> tuple[int, Edges]:
    vertices = draw(st.integers(2, most))
    edges = draw(st.lists(st.sampled_from(list(combinations(range(vertices), 2))), unique=True))
    return vertices, edges


@given(graphs())
@settings(max_examples=300, deadline=None)
def test_any_simple_graph_gets_a_proper_colouring_with_one_colour_over_the_degree_at_most(
    graph: tuple[int, Edges],
) -> None:
    vertices, edges = graph
    colours = colour_edges(vertices, edges)
    assert is_proper(edges, colours)
    assert max_degree(vertices, edges) <= count(colours) <= max_degree(vertices, edges) + 1


@pytest.mark.parametrize("vertices", range(2, 18))
def test_complete_graphs_get_exactly_what_they_need(vertices: int) -> None:
    edges = list(combinations(range(vertices), 2))
    assert count(colour_edges(vertices, edges)) == vertices - 1 + vertices % 2


@given(st.integers(2, 8), st.integers(2, 8), st.data())
@settings(max_examples=60, deadline=None)
def test_bipartite_graphs_need_no_extra_colour(left: int, right: int, data: st.DataObject) -> None:
    pairs = [(a, left + b) for a in range(left) for b in range(right)]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True))
    assert count(colour_edges(left + right, edges)) == max_degree(left + right, edges)


def test_the_petersen_graph_needs_one_more_than_its_degree() -> None:
    edges = [(i, (i + 1) % 5) for i in range(5)] + [(i, i + 5) for i in range(5)]
    edges += [(5 + i, 5 + (i + 2) % 5) for i in range(5)]
    colours = colour_edges(10, edges)
    assert is_proper(edges, colours)
    assert count(colours) == 4


def job_edges(tp: int, pp: int, dp: int) -> Edges:
    edges = []
    for rank in range(tp * pp * dp):
        replica, stage = divmod(rank // tp, pp)
        edges += [(rank, rank + tp)] if stage + 1 < pp else []
        edges += [(rank, other * pp * tp + rank % (pp * tp)) for other in range(replica + 1, dp)]
    return edges


@pytest.mark.parametrize("degrees", [(8, 8, 8), (8, 4, 8), (2, 2, 32), (4, 16, 16), (8, 8, 5), (1, 12, 3)])
def test_jobs_reach_the_lower_bound_in_any_order(degrees: tuple[int, int, int]) -> None:
    vertices, edges = degrees[0] * degrees[1] * degrees[2], job_edges(*degrees)
    reached = 0
    for seed in range(10):
        shuffled = edges[:]
        random.Random(seed).shuffle(shuffled)
        colours = colour_edges(vertices, shuffled)
        assert is_proper(shuffled, colours)
        assert count(colours) <= max_degree(vertices, edges) + 1
        reached += count(colours) == max_degree(vertices, edges)
    assert reached >= 9


def test_parallel_edges_get_different_colours() -> None:
    edges = [(0, 1), (0, 1), (1, 2), (0, 1)]
    assert is_proper(edges, colour_edges(3, edges))


def test_an_edge_to_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="itself"):
        colour_edges(2, [(1, 1)])


def test_no_edges_no_colours() -> None:
    assert colour_edges(3, []) == []
    assert max_degree(0, []) == 0


def test_2048_rnics_with_17_neighbours_are_coloured_well_within_a_second() -> None:
    import time

    edges = job_edges(8, 16, 16)
    random.Random(1).shuffle(edges)
    before_s = time.process_time()
    colours = colour_edges(2048, edges)
    assert time.process_time() - before_s < 1.0
    assert count(colours) <= 18
