"""Simulated jobs to try skeletons on: drawn by name, the same each time, with truth and a count of iterations."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from skeletonhunter.evaluation.skeletons.drawing_jobs import MOST_RANKS, PAPER_JOBS, PAPER_PAIRS, drawn_scenario
from skeletonhunter.evaluation.skeletons.simulated import TOPICS, simulate_traffic, try_job, write_traffic
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.testbed.parallelism import Degrees, rank_edges
from skeletonhunter.testbed.scenario import ScenarioError
from streams.parameters import Parameters

FIGURES = {
    "paper-9a": "39ab73d9da500f350108a5ab1b2b3a92d044daaa15f8aeff3195521fe4451881",
    "paper-9b": "bb8c19658f2884823e1a1c2da8ce14040268299e15cfd56e2eb8ad1f79e484a2",
}
"""SHA-256 of the directed pairs that the paper's Figure 9 shows, as sorted JSON."""

SMALL = "training-21"


@pytest.mark.parametrize("name", sorted(PAPER_JOBS))
def test_the_papers_jobs_have_the_papers_pairs(name: str) -> None:
    plan = PAPER_JOBS[name]
    pairs = {(a, b) for a, b, _ in rank_edges(Degrees(plan.tp, plan.pp, plan.dp, plan.ep))}
    directed = sorted([[a, b] for a, b in pairs] + [[b, a] for a, b in pairs])
    assert len(directed) == PAPER_PAIRS[name]
    assert sha256(json.dumps(directed).encode()).hexdigest() == FIGURES[name]


def test_equal_names_are_equal_jobs_and_others_differ() -> None:
    plans = [drawn_scenario(f"training-{seed}").jobs[0] for seed in range(60)]
    assert drawn_scenario("training-7") == drawn_scenario("training-7")
    assert len({(p.tp, p.pp, p.dp, p.ep) for p in plans}) > 20
    assert {p.kind for p in plans} == {"dense", "moe", "fsdp"}
    assert all(p.tp * p.pp * p.dp * p.ep <= MOST_RANKS for p in plans)
    kinds = {drawn_scenario(f"unusual-{seed}").jobs[0].kind for seed in range(10)}
    assert kinds == {"serving", "debugging"}


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ScenarioError, match="there is no simulated job 'training-x'"):
        drawn_scenario("training-x")


def test_traffic_is_the_same_each_time_and_only_traffic() -> None:
    one, other = (simulate_traffic(drawn_scenario(SMALL)) for _ in range(2))
    assert one.lines == other.lines
    assert {line.topic for line in one.lines} == set(TOPICS)


def test_iterations_are_counted_from_the_first_burst() -> None:
    traffic = simulate_traffic(drawn_scenario(SMALL))
    steps, t0_us = traffic.activity.steps, traffic.world.span.t0_us
    first_s = min(start for start in traffic.activity.bursts.start_s.tolist() if start >= 0.0)
    assert traffic.iterations_until(t0_us + round(first_s * 1e6)) == pytest.approx(0.0, abs=1e-4)
    later, three_on = (t0_us + round(steps[n].start_s * 1e6) for n in (2, 5))
    assert traffic.iterations_until(three_on) - traffic.iterations_until(later) == pytest.approx(3.0, abs=1e-4)


def test_the_recording_has_the_truth_about_the_job(tmp_path: Path) -> None:
    traffic = simulate_traffic(drawn_scenario(SMALL))
    write_traffic(traffic, tmp_path / "job")
    truth = json.loads((tmp_path / "job" / "truth.json").read_text())
    assert truth["expect"] == "skeleton" and len(truth["edges"]) == len(traffic.world.jobs[0].truth_edges())
    with Recording(tmp_path / "job") as recording:
        assert sum(1 for _ in recording.lines()) == len(traffic.lines)


def test_a_trial_is_judged_in_both_views() -> None:
    trials = try_job(SMALL, Parameters())
    assert [trial.row.view for trial in trials] == ["bursts", "counters"]
    for trial in trials:
        assert trial.row.score.true_ratio == 1.0
        assert trial.directed_pairs == 2 * trial.row.edges


def test_an_unusual_job_has_no_iterations() -> None:
    trials = try_job("unusual-0", Parameters())
    assert [(trial.row.score.expect, trial.iterations) for trial in trials] == [("abstain", None)] * 2
