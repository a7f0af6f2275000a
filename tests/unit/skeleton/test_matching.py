"""Partners from bursts: exact, blunt, merged, with bystanders."""

from __future__ import annotations

import numpy as np
import pytest

from skeleton.bursts import BurstSeries
from skeleton.collectives import Collectives, System, align_chains, ends_meet, find_collectives, find_message_chains
from skeleton.matching import Matches, match_bursts

Row = tuple[int, int, float, bool]


class Rail:
    """Bursts of n endpoints, edges blunt by up to ``blunt_us``."""

    def __init__(self, endpoints: int, blunt_us: int = 0) -> None:
        self.rows: list[list[Row]] = [[] for _ in range(endpoints)]
        self.draw, self.blunt_us = np.random.default_rng(1), blunt_us

    def _edge(self, at_us: int) -> int:
        return at_us + int(self.draw.integers(-self.blunt_us, self.blunt_us + 1))

    def _put(self, row: int, at_us: int, size: float, sent: bool) -> None:
        start_us = self._edge(at_us)
        self.rows[row].append((start_us, max(self._edge(at_us + 1000), start_us + 1) - start_us, size, sent))

    def send(self, a: int, b: int, at_us: int, size: float = 1e7) -> None:
        self._put(a, at_us, size, True)
        self._put(b, at_us, size, False)

    def together(self, rows: tuple[int, ...], at_us: int, size: float = 1e9) -> None:
        for row in rows:
            start_us = self._edge(at_us)
            for sent in (True, False):
                self.rows[row].append((start_us, 1000, size, sent))

    def series(self) -> list[BurstSeries]:
        found = []
        for rows in self.rows:
            start, length, size, sent = (np.array(column) for column in zip(*rows, strict=True))
            found.append(
                BurstSeries(
                    start_us=start.astype(np.int64),
                    length_us=length.astype(np.int32),
                    size=size.astype(np.float32),
                    sent=sent.astype(np.bool_),
                    first_us=0,
                    heard_us=10**12,
                )
            )
        return found

    def match(self) -> Matches:
        found = match_bursts(self.series(), 0)
        assert found is not None
        return found


def two_pipelines(blunt_us: int = 0) -> Rail:
    """Replicas (0, 1, 2) and (3, 4, 5), 37 ms apart; both reduce over (0, 3), (1, 4), (2, 5); 0 with 2 and 3 with 5."""
    rail = Rail(6, blunt_us)
    for step in range(12):
        origin = step * 10_000_000
        for replica, chain in enumerate(((0, 1, 2), (3, 4, 5))):
            for batch in range(4):
                at = origin + batch * 300_000 + replica * 37_000 * (1 + step % 3)
                for offset, (a, b) in enumerate(((0, 1), (1, 2), (2, 1), (1, 0))):
                    rail.send(chain[a], chain[b], at + 70_000 * offset)
            rail.together((chain[0], chain[2]), origin + 5_000_000 + replica * 91_000, size=5e7)
        for stage in range(3):
            rail.together((stage, stage + 3), origin + 6_000_000 + 400_000 * stage)
    return rail


@pytest.mark.parametrize("blunt_us", [0, 50, 2_000])
def test_two_pipelines_are_read_from_their_bursts(blunt_us: int) -> None:
    matches = two_pipelines(blunt_us).match()
    collectives = find_collectives(matches)
    chains = find_message_chains(matches)
    assert chains == ((0, 1, 2), (3, 4, 5))
    assert collectives.complete
    assert {system.groups for system in collectives.systems} == {((0, 3), (1, 4), (2, 5)), ((0, 2), (3, 5))}
    assert ends_meet(matches, chains)
    assert matches.explained > 0.99


def test_the_bluntness_of_edges_is_measured() -> None:
    sharp = max(one.tolerance_us for one in two_pipelines().match().classes)
    blunt = max(one.tolerance_us for one in two_pipelines(5_000).match().classes)
    assert sharp < 1_000 < blunt


def test_endpoints_that_always_act_together_are_all_partners() -> None:
    rail = Rail(4)
    for step in range(8):
        rail.together((0, 1), step * 1_000_000)
        rail.together((2, 3), step * 1_000_000)
    collectives = find_collectives(rail.match())
    assert [system.groups for system in collectives.systems] == [((0, 1, 2, 3),)]


def test_two_systems_of_groups_are_told_apart_by_size() -> None:
    rail = Rail(4)
    for step in range(8):
        origin = step * 1_000_000
        for number, group in enumerate(((0, 1), (2, 3))):
            for batch in range(3):
                rail.together(group, origin + batch * 100_000 + number * 31_000, size=2e7)
        for number, group in enumerate(((0, 2), (1, 3))):
            rail.together(group, origin + 700_000 + number * 31_000, size=1e9)
    systems = find_collectives(rail.match()).systems
    assert [system.groups for system in systems] == [((0, 1), (2, 3)), ((0, 2), (1, 3))], "the busier one first"


def test_a_message_without_receiver_is_not_explained() -> None:
    rail = two_pipelines()
    for step in range(12):
        rail._put(0, step * 10_000_000 + 8_000_000, 3e9, True)
    assert rail.match().explained < 0.95


def test_who_reports_no_bursts_leaves_nothing_to_match() -> None:
    series = two_pipelines().series()
    assert match_bursts([*series, BurstSeries()], 0) is None
    assert match_bursts(series[:1], 0) is None


def test_messages_that_branch_are_no_pipelines() -> None:
    rail = Rail(3)
    for step in range(9):
        rail.send(0, 1 + step % 2, step * 1_000_000)
        rail.send(1, 0, step * 1_000_000 + 300_000)
        rail.send(2, 1, step * 1_000_000 + 600_000)
    assert find_message_chains(rail.match()) is None


def test_chains_are_turned_so_that_groups_share_a_place() -> None:
    collectives = Collectives((System(((0, 5), (1, 4), (2, 3)), 1e9, 10.0),), True)
    assert align_chains(((0, 1, 2), (3, 4, 5)), collectives) == ((0, 1, 2), (5, 4, 3))


def test_a_group_that_spans_stages_says_nothing_of_their_order() -> None:
    chains = ((0, 1, 2, 3), (4, 5, 6, 7))
    stages = System(((0, 7), (1, 6), (2, 5), (3, 4)), 1e9, 10.0)
    everybody = System((tuple(range(8)),), 1e8, 100.0)
    assert align_chains(chains, Collectives((everybody, stages), True)) == ((0, 1, 2, 3), (7, 6, 5, 4))
    assert align_chains(chains, Collectives((everybody,), True)) is None


def test_only_bursts_since_the_demanded_instant_count() -> None:
    series = two_pipelines().series()
    recent = match_bursts(series, 60_000_000)
    assert recent is not None
    assert max(partner.bursts for one in recent.classes for partner in one.partners) < 60
    assert match_bursts(series, 10**11) is None or not match_bursts(series, 10**11).classes  # type: ignore[union-attr]
