"""Campaigns: permanent ids, resuming, determinism, failures, and what the report says of a known engine."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from schemas.truth import ISSUES
from skeletonhunter.evaluation.fingerprint import fingerprint
from skeletonhunter.evaluation.reporting import CampaignReport, report
from skeletonhunter.evaluation.results import ResultStore, ScenarioResult
from skeletonhunter.evaluation.running import run_campaign
from skeletonhunter.evaluation.scenarios import SUBJECTS, Scenario, campaign, parse_scenario
from streams.parameters import Parameters, TimeParameters
from tests.unit.evaluation.bench import KnownBench

SMALL = tuple(Scenario(subject, "s", seed) for subject in SUBJECTS for seed in (1, 2))


def run(folder: Path, scenarios: tuple[Scenario, ...] = SMALL, workers: int = 1, mark: str = "f") -> list[str]:
    """Runs and returns the ids that were reported, in the order in which they were."""
    heard: list[str] = []
    run_campaign(
        scenarios, KnownBench(), ResultStore(folder, mark), workers, lambda result: heard.append(result.scenario)
    )
    return heard


def reported(folder: Path, mark: str = "f") -> CampaignReport:
    results = run_campaign(SMALL, KnownBench(), ResultStore(folder, mark), 1, lambda result: None)
    return report("quick", mark, results)


def test_ids_are_permanent_and_read_back() -> None:
    scenario = parse_scenario("issue-09-offloading_failure-m-s07")
    assert scenario == Scenario("issue-09-offloading_failure", "m", 7)
    assert (scenario.family, scenario.name) == ("issue", "offloading_failure")
    assert parse_scenario("monitor-agent_missing-l-s120").id == "monitor-agent_missing-l-s120"
    assert parse_scenario("control-healthy-s-s01").name == "healthy"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("issue-09-offloading_failure-m", "is not <subject>-<size>-s<seed>"),
        ("issue-09-offloading_failure-x-s01", "is not <subject>-<size>-s<seed>"),
        ("issue-08-offloading_failure-m-s01", "unknown subject 'issue-08-offloading_failure'"),
    ],
)
def test_wrong_id_is_refused_with_what_is_wrong(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_scenario(text)


def test_full_campaign_has_twenty_seeds_of_each_subject_in_three_sizes_and_holds_the_quick_one() -> None:
    full, quick = campaign("full"), campaign("quick")
    assert set(Counter(scenario.subject for scenario in full).values()) == {20}
    assert {scenario.subject for scenario in full} >= {f"issue-{n:02d}-{name}" for n, name in enumerate(ISSUES, 1)}
    assert {scenario.size for scenario in full} == {"s", "m", "l"}
    assert len({scenario.id for scenario in full}) == len(full)
    assert set(quick) <= set(full)
    assert {scenario.subject for scenario in quick} == set(SUBJECTS)


def test_a_stopped_campaign_goes_on_where_it_was(tmp_path: Path) -> None:
    run(tmp_path, SMALL[:5])
    stamps = {path.name: path.read_bytes() for path in tmp_path.glob("*.json")}
    assert sorted(run(tmp_path)) == sorted(scenario.id for scenario in SMALL)
    assert {name: (tmp_path / name).read_bytes() for name in stamps} == stamps  # not run again


def test_other_code_or_a_damaged_file_means_running_again(tmp_path: Path) -> None:
    run(tmp_path, SMALL[:2])
    first, second = (tmp_path / f"{scenario.id}.json" for scenario in SMALL[:2])
    first.write_bytes(first.read_bytes()[:40])
    before = second.read_bytes()
    run(tmp_path, SMALL[:2])
    assert msgspec.json.decode(first.read_bytes(), type=ScenarioResult).score is not None
    assert second.read_bytes() == before
    run(tmp_path, SMALL[:2], mark="g")
    assert msgspec.json.decode(second.read_bytes(), type=ScenarioResult).fingerprint == "g"


def test_two_runs_differ_in_nothing_but_stamps_whatever_the_number_of_processes(tmp_path: Path) -> None:
    run(tmp_path / "a", SMALL[:6])
    run(tmp_path / "b", SMALL[:6], workers=2)
    for path in sorted((tmp_path / "a").glob("*.json")):
        one = msgspec.json.decode(path.read_bytes())
        other = msgspec.json.decode((tmp_path / "b" / path.name).read_bytes())
        assert one.pop("run").keys() == other.pop("run").keys()
        assert one == other


def test_a_scenario_that_fails_is_reported_and_run_again_next_time(tmp_path: Path) -> None:
    broken = (Scenario(SUBJECTS[0], "s", 99), SMALL[0])
    results = run_campaign(broken, KnownBench(), ResultStore(tmp_path, "f"), 1, lambda result: None)
    summary = report("quick", "f", results)
    assert [(item.scenario, item.error) for item in summary.failed] == [
        (broken[0].id, "RuntimeError: the simulator broke")
    ]
    assert summary.overall.recordings == 1
    assert ResultStore(tmp_path, "f").load(broken[0].id) is None


def test_report_says_what_the_known_engine_does(tmp_path: Path) -> None:
    summary = reported(tmp_path)
    overall = summary.overall
    assert (overall.detection.recall.hits, overall.detection.recall.of) == (36, 38)  # gid_change is missed twice
    assert (overall.localization.component.hits, overall.localization.component.of) == (34, 36)  # bond_error is wrong
    assert summary.subjects["issue-11-gid_change"].detection.recall.share == 0.0
    assert summary.subjects["issue-10-bond_error"].localization.component_class.share == 1.0
    assert summary.subjects["monitor-clock_bad"].bystanders.monitor_called_network.share == 1.0
    assert overall.bystanders.monitor_found.hits == 0
    assert overall.delays.detection.mean_s == pytest.approx((34 * 2 + 2 * 4) / 36)
    assert list(summary.sizes) == ["s"]


def test_report_does_not_depend_on_the_run(tmp_path: Path) -> None:
    assert msgspec.json.encode(reported(tmp_path / "a")) == msgspec.json.encode(reported(tmp_path / "b"))


def test_fingerprint_follows_the_parameters() -> None:
    plain = fingerprint(Parameters())
    assert plain == fingerprint(Parameters())
    assert plain != fingerprint(Parameters(time=TimeParameters(lateness_s=6.0)))
