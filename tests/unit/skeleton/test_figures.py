"""The two jobs of the paper's Figure 9: from simulated traffic, exactly the pairs that the figure shows."""

from __future__ import annotations

import pytest

from tests.simulated_jobs import (
    Shape,
    burst_messages,
    counter_messages,
    endpoint_map,
    fold,
    name_of,
    simulate,
)

DENSE = Shape(tp=8, pp=8, dp=8, forward_s=0.15)
EXPERTS = Shape(tp=8, pp=4, dp=4, ep=4)
SECONDS = 75


def dense_pairs() -> set[tuple[int, int]]:
    """Figure 9a: index = dp * 64 + pp * 8 + tp; clique over the dp peers (± 64 k), neighbours in pp (± 8), no wrap."""
    offsets = {(i, i + 64 * k) for i in range(512) for k in range(1, 8)} | {
        (i, i + 8) for i in range(512) if i // 8 % 8 < 7
    }
    return {(a, b) for a, b in offsets if b < 512}


def expert_pairs() -> set[tuple[int, int]]:
    """Figure 9b: dp ± 128 k, pp ± 32 without wrap, clique over the experts ± 8, 16, 24 within a block of 32."""
    found = {(i, i + 128 * k) for i in range(512) for k in range(1, 4)}
    found |= {(i, i + 32) for i in range(512) if i // 32 % 4 < 3}
    found |= {(i, i + 8 * k) for i in range(512) for k in range(1, 4) if i // 32 == (i + 8 * k) // 32}
    return {(a, b) for a, b in found if b < 512}


@pytest.mark.parametrize(
    ("shape", "pairs", "directed"),
    [pytest.param(DENSE, dense_pairs, 4480, id="9a"), pytest.param(EXPERTS, expert_pairs, 3840, id="9b")],
)
def test_exactly_the_pairs_of_the_figure(shape: Shape, pairs: object, directed: int) -> None:
    expected = pairs()  # type: ignore[operator]
    assert 2 * len(expected) == directed
    assert shape.edges() == expected
    moved = simulate(shape, SECONDS)
    messages = [
        endpoint_map(shape),
        *counter_messages(shape, moved, SECONDS),
        *burst_messages(shape, moved, SECONDS),
    ]
    sent, _ = fold(messages, SECONDS)
    last = sent[-1].value
    rank = {name_of(shape, index): index for index in range(shape.ranks)}
    found = {tuple(sorted((rank[a], rank[b]))) for a, b, _ in last.edges}  # type: ignore[attr-defined]
    assert found == expected
    assert last.state == "trusted"  # type: ignore[attr-defined]


def test_kinds_and_groups_of_the_expert_job() -> None:
    shape = Shape(tp=1, pp=2, dp=3, ep=2)
    moved = simulate(shape, SECONDS)
    messages = [
        endpoint_map(shape),
        *counter_messages(shape, moved, SECONDS),
        *burst_messages(shape, moved, SECONDS),
    ]
    last = fold(messages, SECONDS)[0][-1].value
    kinds = {kind for _, _, kind in last.edges}  # type: ignore[attr-defined]
    sizes = {(group.kind, len(group.members)) for group in last.groups}  # type: ignore[attr-defined]
    assert kinds == {"dp", "ep", "pp"}
    assert sizes == {("dp", 3), ("ep", 2), ("pp", 2)}
