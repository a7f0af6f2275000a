"""Replicas and their order from the balance of sent and received bytes, on flows made by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skeleton.balance import divisors, find_pipelines, is_lopsided
from skeleton.chains import bring_into_line, order_stages
from skeleton.joining import join
from skeleton.partition import find_partition


def pipelines(
    stages: int, replicas: int, seed: int, in_step: bool = False, intervals: int = 300
) -> tuple[np.ndarray, np.ndarray, list[tuple[int, ...]]]:
    """Bytes sent and received (n, T) in a random row order, and the true chains. Messages take no time."""
    draw = np.random.default_rng(seed)
    rows = draw.permutation(stages * replicas)
    chains = [tuple(int(row) for row in rows[r * stages : (r + 1) * stages]) for r in range(replicas)]
    tx, rx = (np.zeros((stages * replicas, intervals)) for _ in range(2))
    for number, chain in enumerate(chains):
        lag = np.random.default_rng(seed + 1 + (0 if in_step else number))
        for here, there in pairwise(chain):
            for a, b in ((here, there), (there, here)):
                at = lag.integers(0, intervals, intervals // 2)
                np.add.at(tx[a], at, 1e7)
                np.add.at(rx[b], at, 1e7)
    at = draw.integers(0, intervals, 12)
    for side in (tx, rx):
        side[:, at] += 2e9
    return tx, rx, chains


def test_divisors_from_two_on() -> None:
    assert divisors(12) == [2, 3, 4, 6, 12]
    assert divisors(1) == []


@given(st.integers(2, 5), st.integers(1, 6), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_replicas_and_order_are_found(stages: int, replicas: int, seed: int) -> None:
    tx, rx, chains = pipelines(stages, replicas, seed)
    found = find_pipelines(tx - rx, tx)
    assert found is not None
    assert {frozenset(rows) for rows in found.replicas} == {frozenset(chain) for chain in chains}
    truth = {frozenset(chain): chain for chain in chains}
    for rows in found.replicas:
        chain = order_stages(tx, rx, rows)
        assert chain.rows in (truth[frozenset(rows)], truth[frozenset(rows)][::-1])
        assert chain.debt < 1e-9


def test_long_pipelines_are_ordered_without_trying_all_orders() -> None:
    tx, rx, chains = pipelines(12, 1, seed=5)
    assert order_stages(tx, rx, sorted(chains[0])).rows in (chains[0], chains[0][::-1])


def test_replicas_in_step_are_not_told_apart() -> None:
    tx, rx, _ = pipelines(3, 4, seed=2, in_step=True)
    assert find_pipelines(tx - rx, tx) is None


def test_collectives_alone_are_no_pipeline() -> None:
    both = np.random.default_rng(1).random((8, 200)) * 1e9
    assert find_pipelines(both - both, both) is None


def test_unrelated_traffic_is_no_pipeline() -> None:
    draw = np.random.default_rng(4)
    tx, rx = draw.random((8, 400)) * 1e9, draw.random((8, 400)) * 1e9
    assert find_pipelines(tx - rx, tx) is None


def test_too_few_intervals_prove_nothing() -> None:
    tx, rx, _ = pipelines(2, 4, seed=3, intervals=15)
    assert find_pipelines(tx - rx, tx) is None


def test_unknown_intervals_are_left_out() -> None:
    tx, rx, chains = pipelines(3, 3, seed=6)
    tx[4, 20:60] = np.nan
    found = find_pipelines(tx - rx, tx)
    assert found is not None
    assert {frozenset(rows) for rows in found.replicas} == {frozenset(chain) for chain in chains}


def test_small_errors_of_clocks_are_forgiven() -> None:
    tx, rx, chains = pipelines(3, 3, seed=8)
    tx = tx + np.random.default_rng(1).normal(0, 2e4, tx.shape)
    found = find_pipelines(tx - rx, tx)
    assert found is not None
    assert {frozenset(rows) for rows in found.replicas} == {frozenset(chain) for chain in chains}


def test_the_first_stage_is_the_one_that_leads() -> None:
    seconds = 240
    forward, backward = np.zeros((2, 3, seconds)), np.zeros((2, 3, seconds))
    for replica in range(2):
        for step in range(0, seconds, 24):
            for stage in range(2):
                forward[replica, stage, step + 2 + replica + stage : step + 10 : 2] = 1e7
                backward[replica, stage, step + 12 + replica - stage : step + 20 : 2] = 1e7
    tx = np.concatenate([_sent(forward[r], backward[r]) for r in range(2)])
    rx = np.concatenate([_received(forward[r], backward[r]) for r in range(2)])
    collective = np.zeros_like(tx)
    collective[:, 23::24] = 2e9
    aligned, clear = bring_into_line([(2, 1, 0), (3, 4, 5)], tx - rx, collective)
    assert aligned == [(0, 1, 2), (3, 4, 5)]
    assert clear > 0.2


def _sent(forward: np.ndarray, backward: np.ndarray) -> np.ndarray:
    return np.stack([forward[0], forward[1] + backward[0], backward[1]])


def _received(forward: np.ndarray, backward: np.ndarray) -> np.ndarray:
    return np.stack([backward[0], forward[0] + backward[1], forward[1]])


def test_a_silent_rail_is_no_pipeline() -> None:
    assert find_pipelines(np.zeros((4, 100)), np.zeros((4, 100))) is None
    assert order_stages(np.zeros((2, 100)), np.zeros((2, 100)), (0, 1)).debt == pytest.approx(0.0)


@given(st.integers(2, 5), st.integers(1, 6), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_the_partition_with_the_least_imbalance_is_that_into_replicas(stages: int, replicas: int, seed: int) -> None:
    tx, rx, chains = pipelines(stages, replicas, seed)
    shift = np.random.default_rng(seed).uniform(0.0, 0.05, (len(tx), 1))
    tx, rx = (side - shift * side + np.roll(shift * side, 1, axis=1) for side in (tx, rx))
    found = find_partition(tx - rx)
    assert found is not None
    joints = join(tx - rx, found.replicas, [0] * len(tx), 1e4)
    assert {frozenset(chain) for chain in joints.chains} == {frozenset(chain) for chain in chains}


def test_traffic_that_is_no_pipeline_has_no_partition() -> None:
    draw = np.random.default_rng(4)
    assert find_partition(draw.normal(size=(8, 400)) * 1e9) is None
    assert find_partition(np.zeros((8, 400))) is None
    assert find_partition(np.full((8, 400), np.nan)) is None


def test_one_copy_of_a_file_is_no_pipeline() -> None:
    balance = np.random.default_rng(2).normal(size=(4, 300)) * 1e3
    balance[:, 100] = (2e9, -2e9, 1e9, -1e9)
    assert is_lopsided(balance)
    assert find_partition(balance) is None
    assert not is_lopsided(np.random.default_rng(2).normal(size=(4, 300)))


def test_parts_of_several_replicas_are_put_together_again() -> None:
    tx, rx, chains = pipelines(4, 3, seed=11)
    mixed = [chains[0][:2] + chains[1][2:], chains[1][:2] + chains[2][2:], chains[2][:2] + chains[0][2:]]
    joints = join(tx - rx, mixed, [0] * len(tx), 1e4)
    assert set(joints.chains) == set(chains)
    assert all(len(group) == 1 for groups in joints.doubts for group in groups)
    assert set(joints.links()) == {pair for chain in chains for pair in pairwise(chain)}
    assert set(joints.end_links()) == {(chain[0], chain[-1]) for chain in chains}


def test_replicas_in_step_are_in_doubt_and_keep_all_pairs() -> None:
    tx, rx, chains = pipelines(3, 2, seed=2, in_step=True)
    other, other_rx, more = pipelines(3, 1, seed=99)
    balance = np.concatenate([tx - rx, other - other_rx])
    stranger = tuple(row + len(tx) for row in more[0])
    joints = join(balance, [*chains, stranger], [0] * len(balance), 1e4)
    assert joints.doubts == (((0, 1), (2,)), ((0, 1), (2,)))
    expected = {(a[cut], b[cut + 1]) for a in chains for b in chains for cut in range(2)}
    assert set(joints.links()) == expected | set(pairwise(stranger))


def test_a_joint_that_only_a_common_poll_clock_speaks_for_is_in_doubt() -> None:
    tx, rx, chains = pipelines(2, 2, seed=3)
    clocks = [0] * 4
    for row in chains[1]:
        clocks[row] = 1
    assert join(tx - rx, chains, [0] * 4, 1e4).doubts == (((0,), (1,)),)
    assert join(tx - rx, chains, clocks, 1e4).doubts == (((0, 1),),)
