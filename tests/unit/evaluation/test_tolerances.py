"""Tolerances: a figure that is worse fails by name, a better one passes, a vanished one fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from skeletonhunter.evaluation.reporting import CampaignReport, report
from skeletonhunter.evaluation.results import ResultStore
from skeletonhunter.evaluation.running import run_campaign
from skeletonhunter.evaluation.scenarios import SUBJECTS, Scenario
from skeletonhunter.evaluation.tolerances import (
    BUNDLED,
    HIGHER_IS_BETTER,
    Slack,
    Tolerances,
    TolerancesError,
    bless,
    guarded_figures,
    read_tolerances,
    regressions,
)
from tests.unit.evaluation.bench import KnownBench

SLACK = Slack(share=0.01, relative=0.1, delay_s=0.5)
RECALL = "overall.detection.recall.share"
DELAY = "overall.delays.detection.mean_s"


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> CampaignReport:
    scenarios = tuple(Scenario(subject, "s", 1) for subject in SUBJECTS)
    store = ResultStore(tmp_path_factory.mktemp("campaign"), "f")
    return report("quick", "f", run_campaign(scenarios, KnownBench(), store, 1, lambda result: None))


def test_same_figures_pass_and_are_many(known: CampaignReport) -> None:
    now = guarded_figures(known)
    assert {RECALL, DELAY, "issue-11-gid_change.detection.recall.share"} <= now.keys()
    assert regressions(known, now, Slack(share=0.0, relative=0.0, delay_s=0.0)) == []


def test_worse_share_fails_by_name_and_slack_forgives_a_little(known: CampaignReport) -> None:
    now = guarded_figures(known)
    assert regressions(known, {RECALL: now[RECALL] + 0.009}, SLACK) == []
    (found,) = regressions(known, {RECALL: now[RECALL] + 0.02}, SLACK)
    assert str(found).startswith(f"{RECALL} is ")
    assert found.limit == pytest.approx(now[RECALL] + 0.01)


def test_longer_delay_fails_and_shorter_passes(known: CampaignReport) -> None:
    now = guarded_figures(known)[DELAY]
    assert regressions(known, {DELAY: now * 2}, SLACK) == []
    assert regressions(known, {DELAY: now - 0.4}, SLACK) == []
    assert [item.figure for item in regressions(known, {DELAY: now / 2}, SLACK)] == [DELAY]


def test_vanished_figure_fails(known: CampaignReport) -> None:
    (found,) = regressions(known, {"control-healthy.detection.recall.share": 1.0}, SLACK)
    assert found.now is None
    assert "not counted any more" in str(found)


def test_quarantines_that_nobody_asks_for_any_more_are_no_regression(known: CampaignReport) -> None:
    assert regressions(known, {"overall.quarantines.unnecessary.share": 0.2}, SLACK) == []


def test_confidence_of_a_handful_of_alarms_is_not_guarded(known: CampaignReport) -> None:
    guarded = [key for key in guarded_figures(known) if key.endswith("calibration.expected_error")]
    assert guarded == ["overall.calibration.expected_error"]


@pytest.mark.parametrize("figure", [key for key in HIGHER_IS_BETTER if key.startswith("detection")])
def test_each_share_is_guarded_in_the_right_direction(known: CampaignReport, figure: str) -> None:
    key = f"overall.{figure}"
    now = guarded_figures(known)[key]
    assert regressions(known, {key: now - 0.2}, SLACK) == []
    assert [item.figure for item in regressions(known, {key: now + 0.2}, SLACK)] == [key]


def test_blessed_figures_are_read_back_and_the_other_campaign_stays(known: CampaignReport, tmp_path: Path) -> None:
    file = tmp_path / "tolerances.toml"
    bless(file, Tolerances(slack=SLACK, full={RECALL: 0.5}), known)
    again = read_tolerances(file)
    assert again.full == {RECALL: 0.5}
    assert again.slack == SLACK
    assert regressions(known, again.quick, Slack(share=0.0, relative=0.0, delay_s=0.0)) == []
    assert again.quick == pytest.approx(guarded_figures(known), abs=1e-6)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "missing required field `slack`"),
        ("[slack]\nshare = 0.1\nrelative = 0.1\ndelay_s = 1.0\nshear = 1.0", "unknown field `shear`"),
        ("[slack", "Expected"),
        ('[slack]\nshare = "much"\nrelative = 0.1\ndelay_s = 1.0', "slack.share"),
    ],
)
def test_wrong_file_is_refused_with_file_and_field(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "tolerances.toml"
    file.write_text(text)
    with pytest.raises(TolerancesError, match=complaint) as caught:
        read_tolerances(file)
    assert str(file) in str(caught.value)


def test_bundled_file_is_readable_and_names_only_guarded_figures(known: CampaignReport) -> None:
    bundled = read_tolerances(BUNDLED)
    figures = {key.partition(".")[2] for key in guarded_figures(known)}
    for key in (*bundled.quick, *bundled.full):
        group, _, figure = key.partition(".")
        assert group in ("overall", *SUBJECTS)
        assert figure in figures or figure.startswith(("bystanders", "quarantines", "steps", "localization"))
