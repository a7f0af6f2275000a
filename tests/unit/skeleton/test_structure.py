"""From findings to edges: what is kept when something is not known."""

from __future__ import annotations

import dataclasses
from itertools import product

from skeleton.membership import Membership
from skeleton.structure import RailFinding, build_edges, build_groups

JOB = Membership(1, ("a", "b", "c", "d", "e", "f"), (0,) * 6, ("1", "2", "3", "4", "5", "6"), tuple("abcdef"))
ALL = (0, 1, 2, 3, 4, 5)
STAGES = ((0, 1), (2, 3), (4, 5))
REPLICAS = ((0, 2, 4), (1, 3, 5))
LINKS = ((0, 2), (1, 3), (2, 4), (3, 5))
PAIRED = RailFinding(0, ALL, "paired", STAGES, REPLICAS, links=LINKS, ordered=True)


def edges(finding: RailFinding, job: Membership = JOB) -> dict[str, str]:
    return {a + b: kind for a, b, kind in build_edges([finding], job)}


def test_known_replicas_give_cliques_and_pipelines() -> None:
    found = edges(PAIRED)
    assert found == {"ab": "dp", "cd": "dp", "ef": "dp", "ac": "pp", "ce": "pp", "bd": "pp", "df": "pp"}


def test_shared_ends_join_first_and_last_stage() -> None:
    found = edges(dataclasses.replace(PAIRED, end_links=((0, 4), (1, 5))))
    assert found.items() >= {"ae": "emb", "bf": "emb"}.items()


def test_circles_replace_the_cliques_of_stages() -> None:
    circles = (("ep", (0, 1)), ("dp", (2, 3)))
    found = edges(dataclasses.replace(PAIRED, circles=circles))
    assert found["ab"] == "ep" and found["cd"] == "dp" and "ef" not in found


def test_links_between_stages_are_kept_whoever_they_belong_to() -> None:
    links = tuple(product(STAGES[0], STAGES[1]))
    found = edges(RailFinding(0, ALL, "staged", STAGES, links=links, ordered=True))
    assert {pair for pair, kind in found.items() if kind == "pp"} == {"ac", "ad", "bc", "bd"}
    assert {pair for pair, kind in found.items() if kind == "dp"} == {"ab", "cd", "ef"}


def test_nothing_known_keeps_the_rail() -> None:
    found = edges(RailFinding(0, ALL, "unresolved"))
    assert len(found) == 15 and set(found.values()) == {"unknown"}


def test_one_group_is_a_clique() -> None:
    assert set(edges(RailFinding(0, ALL, "single", (ALL,))).values()) == {"dp"}


def test_pairs_within_a_host_are_left_out() -> None:
    shared = Membership(1, JOB.names, JOB.rails, ("1", "1", "2", "2", "3", "3"), JOB.containers)
    found = edges(PAIRED, shared)
    assert set(found.values()) == {"pp"}


def test_groups_name_their_rail_and_keep_pipeline_order() -> None:
    groups = build_groups([RailFinding(3, ALL, "paired", STAGES, ((4, 2, 0),), ordered=True)], JOB)
    assert [(group.kind, group.members, group.rail) for group in groups][-1] == ("pp", ("e", "c", "a"), 3)
    assert [group.kind for group in groups] == ["dp", "dp", "dp", "pp"]
