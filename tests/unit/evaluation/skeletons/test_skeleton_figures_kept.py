"""Figures of skeletons against those of before: better passes, worse and vanished fails."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from skeletonhunter.evaluation.skeletons.drawing_jobs import drawn_scenario
from skeletonhunter.evaluation.skeletons.page import skeleton_page
from skeletonhunter.evaluation.skeletons.scores import SkeletonScore
from skeletonhunter.evaluation.skeletons.simulated import Trial
from skeletonhunter.evaluation.skeletons.summary import SkeletonReport, summarize
from skeletonhunter.evaluation.skeletons.terminal import report_lines
from skeletonhunter.evaluation.skeletons.tolerances import (
    BUNDLED,
    SkeletonSlack,
    SkeletonTolerances,
    bless_skeletons,
    read_skeleton_tolerances,
    skeleton_figures,
    skeleton_regressions,
)
from skeletonhunter.evaluation.skeletons.traces import Belief, OtherMethod, TraceRow
from skeletonhunter.evaluation.tolerances import TolerancesError

SLACK = SkeletonSlack(share=0.02, relative=0.05)
SCORE = SkeletonScore(
    expect="skeleton",
    state="trusted",
    confidence=0.9,
    recall=1.0,
    precision=0.9,
    ratio=0.5,
    true_ratio=0.45,
    dp_ari=1.0,
)


def row(score: SkeletonScore = SCORE, recording: str = "r", trusted: int = 1, **more: object) -> TraceRow:
    given = {
        "view": "counters", "job": "j", "endpoints": 8, "edges": 14, "updates": 2, "trusted_at_us": None,
        "trusted_after_s": 30.0, "worst_trusted_recall": score.recall, "beliefs": (Belief("trusted", 0.9, 1.0, True),),
        **more,
    }  # fmt: skip
    return TraceRow(recording=recording, score=score, trusted=trusted, **given)  # type: ignore[arg-type]


def trial(name: str, iterations: float | None, recall: float = 1.0) -> Trial:
    score = msgspec.structs.replace(SCORE, recall=recall)
    beliefs = (Belief("trusted", 0.9, recall, recall < 1.0),)
    plan = drawn_scenario("training-0").jobs[0]
    plan = msgspec.structs.replace(plan, spread=0.01, period_s=20.0)
    judged = row(score, name, beliefs=beliefs)
    return Trial(name=name, plan=plan, row=judged, directed_pairs=28, exact=False, iterations=iterations)


def report(*rows: TraceRow, trials: tuple[Trial, ...] = (), other: OtherMethod | None = None) -> SkeletonReport:
    return summarize("f" * 16, rows, trials, other)


def before(found: SkeletonReport) -> SkeletonTolerances:
    return SkeletonTolerances(SLACK, skeleton_figures(found))


def test_equal_and_better_figures_pass() -> None:
    kept = before(report(row()))
    better = msgspec.structs.replace(SCORE, precision=1.0, ratio=0.45)
    assert skeleton_regressions(report(row()), kept) == []
    assert skeleton_regressions(report(row(better)), kept) == []


@pytest.mark.parametrize(
    ("change", "figure"),
    [
        ({"recall": 0.97}, "recall"),
        ({"precision": 0.87}, "precision"),
        ({"ratio": 0.53}, "ratio"),
        ({"dp_ari": 0.9}, "dp_ari"),
    ],
)
def test_worse_figures_are_named(change: dict[str, float], figure: str) -> None:
    worse = msgspec.structs.replace(SCORE, **change)
    found = skeleton_regressions(report(row(worse)), before(report(row())))
    assert [item.figure for item in found] == [f"r.j.counters.{figure}"]


def test_slack_is_allowed() -> None:
    slightly = msgspec.structs.replace(SCORE, recall=0.985, ratio=0.52)
    assert skeleton_regressions(report(row(slightly)), before(report(row()))) == []


def test_a_vanished_job_is_a_failure_and_a_missing_recording_is_not() -> None:
    kept = before(report(row(), row(recording="s")))
    assert skeleton_regressions(report(row(recording="s")), kept) == []
    vanished = report(row(recording="s", job="other"))
    assert {item.now for item in skeleton_regressions(vanished, kept)} == {None}


def test_trust_where_none_is_due_is_a_failure() -> None:
    calm = SkeletonScore(expect="abstain", state="forming", confidence=0.0)
    kept = before(report(row(calm, trusted=0)))
    assert skeleton_regressions(report(row(calm, trusted=0)), kept) == []
    assert [i.figure for i in skeleton_regressions(report(row(calm, trusted=1)), kept)] == ["r.j.counters.as_expected"]


def test_blessed_figures_are_read_back_and_other_sections_stay(tmp_path: Path) -> None:
    file = tmp_path / "tolerances.toml"
    known = SkeletonTolerances(SLACK, {"simulated-99": {"unusual_trusted": 0.0}})
    bless_skeletons(file, known, report(row()))
    again = read_skeleton_tolerances(file)
    assert again.slack == SLACK
    assert again.figures["simulated-99"] == {"unusual_trusted": 0.0}
    assert again.figures["traces"]["r.j.counters.recall"] == 1.0
    assert skeleton_regressions(report(row()), again) == []


def test_a_wrong_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tolerances.toml"
    with pytest.raises(TolerancesError, match="can't be read"):
        read_skeleton_tolerances(file)
    file.write_text("[slack]\nshare = 0.1\n")
    with pytest.raises(TolerancesError, match="missing required field `relative`"):
        read_skeleton_tolerances(file)
    file.write_text('[slack]\nshare = 0.1\nrelative = 0.1\n[traces]\n"a" = "b"\n')
    with pytest.raises(TolerancesError, match="Expected `float`"):
        read_skeleton_tolerances(file)


def test_the_bundled_file_guards_recordings_and_simulated_jobs() -> None:
    bundled = read_skeleton_tolerances(BUNDLED)
    assert "traces" in bundled.figures and any(name.startswith("simulated-") for name in bundled.figures)
    assert 0.0 < bundled.slack.share <= 0.02


def test_calibration_counts_skeletons_that_were_this_sure() -> None:
    wrong = trial("training-1", 4.0, recall=0.5)
    found = report(row(), trials=(trial("training-0", 3.0), wrong))
    level = next(level for level in found.calibration if level.confidence == 0.9)
    assert (level.traces.hits, level.traces.of) == (1, 1)
    assert (level.simulated.hits, level.simulated.of) == (1, 2)
    assert (level.together.hits, level.together.of) == (2, 3)
    assert (level.narrowed.hits, level.narrowed.of) == (1, 2)
    assert next(level for level in found.calibration if level.confidence == 0.95).together.of == 0


def test_iterations_count_those_that_never_get_there() -> None:
    trials = (trial("training-0", 3.0), trial("training-1", 5.5), trial("training-2", None))
    found = report(row(), trials=trials)
    counted = next(training for training in found.training if training.view == "counters")
    assert (counted.soon.hits, counted.soon.of) == (1, 3)
    assert found.by_period["10 to 25 s"].of == 3


def test_the_page_has_every_row_and_what_is_beside_it() -> None:
    other = OtherMethod("plain", {"r": {"j": msgspec.structs.replace(SCORE, recall=0.25)}})
    trials = (trial("training-0", 3.0), trial("unusual-0", None), trial("paper-9a", 3.0))
    text = skeleton_page(report(row(), other=other, trials=trials), "command")
    assert "| `r` | counters | trusted | 0.90 |" in text
    assert "0.25 / 0.90 / 0.50" in text
    assert "| paper-9a | counters | 4,480 | 28 | **no** |" in text
    assert "ever trusted: 100.0 % (1 of 1;" in text
    assert text == skeleton_page(report(row(), other=other, trials=trials), "command")


def test_the_page_without_others_has_no_empty_columns() -> None:
    assert "beside" not in skeleton_page(report(row()), "command")


def test_a_log_has_a_line_for_every_row_and_figure() -> None:
    other = OtherMethod("plain", {"r": {"j": msgspec.structs.replace(SCORE, recall=0.25)}})
    trials = (trial("training-0", 3.0), trial("unusual-0", None), trial("paper-9a", 3.0))
    lines = list(report_lines(report(row(), other=other, trials=trials)))
    assert max(map(len, lines)) <= 140
    assert " ".join(lines[1].split()) == "r counters trusted 0.90 1.00 0.90 0.50 (0.45) - | 0.25 0.90 0.50"
    assert "paper-9a with counters: 28 directed pairs of 4,480" in lines
    assert lines[-1].startswith("unusual jobs ever trusted: 100.0 % (1 of 1;")
