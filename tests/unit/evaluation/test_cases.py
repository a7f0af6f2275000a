"""Cases beside other localizers: the plain ones do what they should, counts add up, like is compared with like."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skeletonhunter.evaluation.case_tables import best_referees, case_page, case_rows
from skeletonhunter.evaluation.cases import CaseCount, count_case, count_cases, gather_cases
from skeletonhunter.evaluation.referees import read_referees
from skeletonhunter.evaluation.reference_localizers import THRESHOLDS_007, LossyTrain, vote, votes_of_007
from skeletonhunter.recordings.manifest import RecordingError
from skeletonhunter.replaying.simulating import simulate_recording
from skeletonhunter.scoring import BlameCount
from skeletonhunter.testbed.scenario import FabricPlan, FaultPlan, JobPlan, Scenario
from streams.parameters import Parameters


def trains(*paths: str) -> list[LossyTrain]:
    """One lossy train a path, of a pair of its own; a path is written as the letters of its links."""
    return [LossyTrain(f"s{n}", f"d{n}", tuple(path)) for n, path in enumerate(paths)]


def test_the_vote_blames_the_link_that_most_pairs_share_and_all_of_equals() -> None:
    assert vote(trains("axb", "cxd", "exf", "cyd")) == ["link:x"]
    assert vote(trains("axb", "cxd", "eyf", "gyh")) == ["link:x", "link:y"]
    assert vote(trains("ab", "cd")) == []
    assert vote([]) == []


def test_a_pair_has_one_vote_however_often_it_loses() -> None:
    assert vote([LossyTrain("s", "d", ("a", "b"))] * 5) == []


def test_007_names_several_links_and_takes_back_what_the_first_explains() -> None:
    lossy = trains(*["axb"] * 6, *["cyd"] * 3, "axd")
    assert votes_of_007(lossy, 0.05)[0] == "link:a"  # as good as x, and before it in the alphabet
    assert votes_of_007(lossy, 0.05)[1:] == ["link:c"]
    assert votes_of_007(lossy, 0.23) == ["link:a", "link:c"]  # c has a tenth of all votes, a third of those left
    assert votes_of_007(lossy, 0.24) == []
    assert votes_of_007([], 0.01) == []


def test_each_lost_packet_is_a_vote_for_007() -> None:
    few, many = LossyTrain("s", "d", ("a", "b"), 1), LossyTrain("s", "d", ("c", "d"), 9)
    assert votes_of_007([few, few, few, many], 0.3) == ["link:c", "link:a"]


def test_007_needs_a_share_of_the_votes() -> None:
    lossy = trains(*["abcd"] * 4)
    assert votes_of_007(lossy, 0.25) == ["link:a"]
    assert votes_of_007(lossy, 0.26) == []
    for threshold in (0.0, 1.5):
        with pytest.raises(ValueError, match="a threshold is a share above 0 and at most 1"):
            votes_of_007(lossy, threshold)


def count(faults: int, found: int, false: int) -> BlameCount:
    return BlameCount(traces=1, faults=faults, found=found, false_blames=false)


def case(ours: BlameCount, best_at: int = 3) -> CaseCount:
    by_threshold = tuple(count(2, 2 if at == best_at else 1, 0) for at in range(len(THRESHOLDS_007)))
    return CaseCount(ours, count(2, 1, 0), by_threshold)


REFEREES = {"greedy": {"one": count(4, 4, 0)}, "weak": {"one": count(4, 1, 1)}}


def test_counts_are_pooled_by_regime_and_007_gets_its_best_threshold() -> None:
    found = gather_cases(["one", "two", "one"], [case(count(2, 2, 0)), case(count(2, 1, 0)), case(count(2, 1, 1))])
    assert found.threshold == THRESHOLDS_007[3]
    assert (found.ours["one"].found, found.ours["one"].false_blames, found.ours["one"].traces) == (3, 1, 2)
    assert found.methods["007"]["two"].found == 2


def test_we_are_compared_with_the_best_referee_of_each_regime_on_what_it_saw() -> None:
    found = gather_cases(["one", "two", "one"], [case(count(2, 2, 0)), case(count(2, 1, 0)), case(count(2, 1, 1))])
    head, *rows = case_rows(found, REFEREES)
    table = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    assert table["one"]["behind"] == "+2"  # one missed and one false, against none
    assert table["two"]["behind"] == "-"
    assert (table["two"]["greedy (referee)"], table["all"]["greedy (referee)"]) == ("-", "-")
    assert (table["those of the referees"]["ours"], table["those of the referees"]["greedy (referee)"]) == (
        "3 / 1",
        "4 / 0",
    )
    assert len({len(row) for row in rows}) == 1
    assert f"({THRESHOLDS_007[3]:g} of the votes)" in case_page(found, REFEREES, "evaluate")


def test_the_terminal_shows_the_best_referees_and_compares_with_all() -> None:
    found = gather_cases(["one"], [case(count(4, 3, 0))])
    assert best_referees(found, REFEREES, most=1) == ("greedy",)
    head, first, *_ = case_rows(found, REFEREES, shown=("weak",))
    assert "greedy (referee)" not in head
    assert first[-2:] == ["1 / 1", "+1"]


def test_without_referees_ours_stand_beside_the_plain_ones_only() -> None:
    head, *rows = case_rows(gather_cases(["one"], [case(count(2, 2, 0))]), {})
    assert head == ["regime", "traces", "faults", "ours", "vote", "007, tuned"]
    assert [row[0] for row in rows] == ["one", "all", "... precision", "... recall", "... F1"]


def test_referees_are_read_by_method_without_their_own_pool(tmp_path: Path) -> None:
    assert read_referees(tmp_path) == {}
    method = {"tp": 3, "fp": 1, "fn": 1, "precision": 0.75}
    regimes = {name: {"traces": 1, "faults": 4, "methods": {"greedy": method}} for name in ("one", "all")}
    (tmp_path / "referees.json").write_text(json.dumps({"regimes": regimes, "cases": {}}))
    assert read_referees(tmp_path) == {"greedy": {"one": count(4, 3, 1)}}
    (tmp_path / "referees.json").write_text("{}")
    with pytest.raises(RecordingError, match=r"referees\.json: Object missing required field `regimes`"):
        read_referees(tmp_path)


def test_a_recording_with_a_lossy_link_is_counted_by_every_method(tmp_path: Path) -> None:
    scenario = Scenario(
        name="lossy",
        seed=5,
        seconds=75,
        fabric=FabricPlan(hosts=4, rails=4, hosts_per_leaf=2, spines=2),
        jobs=(JobPlan(tp=4, pp=2, dp=2, period_s=8.0),),
        faults=(FaultPlan("crc_error", 35.0, 75.0, severity=0.9),),
    )
    path = tmp_path / "lossy-1"
    simulate_recording(scenario, path, None)
    found = count_case(path, Parameters())
    assert (found.ours.faults, found.ours.found) == (1, 1)
    assert {each.faults for each in (found.vote, *found.by_threshold)} == {1}
    assert max(each.found for each in found.by_threshold) == 1
    assert count_cases([path], Parameters(), 1, lambda _: None).ours == {"lossy": found.ours}
