"""Recordings with known skeletons: what is judged, in which views, and how wrong input is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skeletonhunter.evaluation.cases import recordings_below
from skeletonhunter.evaluation.skeletons.traces import judge_recording, judge_recordings, read_other_method
from skeletonhunter.evaluation.skeletons.watching import views_of, watch
from skeletonhunter.recordings.manifest import RecordingError
from streams.parameters import Parameters
from tests.unit.evaluation.skeletons.judged import true_pairs, write_judged


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_judged(tmp_path_factory.mktemp("traces") / "dense")


def test_a_job_is_judged_with_bursts(recording: Path) -> None:
    (row,) = judge_recording(recording, "bursts", Parameters())
    score = row.score
    assert (row.recording, row.job, row.endpoints, row.key) == ("dense", "j", 12, "dense.j.bursts")
    assert (score.state, score.recall, score.precision) == ("trusted", 1.0, 1.0)
    assert score.ratio == score.true_ratio
    assert row.edges == len(true_pairs())
    assert row.trusted >= 1 and row.worst_trusted_recall == 1.0
    assert row.trusted_after_s is not None and 20.0 < row.trusted_after_s <= 80.0
    assert {belief.recall for belief in row.beliefs} == {1.0}


def test_bursts_can_be_hidden(recording: Path) -> None:
    assert views_of(recording) == ("bursts", "counters")
    seen, _ = watch(recording, "bursts", Parameters())
    blind, _ = watch(recording, "counters", Parameters())
    assert seen.since_us["j"] < blind.since_us["j"] + 1_000_000
    assert [u.evidence for u in seen.updates["j"]] != [u.evidence for u in blind.updates["j"]]


def test_rows_come_in_order_whatever_ends_first(recording: Path) -> None:
    rows = judge_recordings(recordings_below(recording.parent), Parameters(), 2, lambda _: None)
    assert [row.view for row in rows] == ["bursts", "counters"]
    assert rows[0] == judge_recording(recording, "bursts", Parameters())[0]


def test_saying_anything_of_a_job_that_is_none_is_wrong(tmp_path: Path) -> None:
    path = write_judged(tmp_path / "none", {"expect": "abstain", "edges": []})
    (row,) = judge_recording(path, "bursts", Parameters())
    assert row.score.expect == "abstain" and row.score.recall is None
    assert row.beliefs and {belief.recall for belief in row.beliefs} == {0.0}


def test_a_period_that_is_known_is_compared(tmp_path: Path) -> None:
    jobs = {"j": {"expect": "skeleton", "period_s": 100.0, "period_also_s": [1000.0]}}
    (row,) = judge_recording(write_judged(tmp_path / "slow", {"jobs": jobs}), "bursts", Parameters())
    assert row.score.period_s is not None
    assert row.score.period_error == pytest.approx((100.0 - row.score.period_s) / 100.0)


def test_truth_is_needed_and_must_be_right(tmp_path: Path) -> None:
    path = write_judged(tmp_path / "wrong", {"expect": "perhaps"})
    with pytest.raises(RecordingError, match=r"truth\.json: Invalid enum value 'perhaps' - at `\$\.expect`"):
        judge_recording(path, "bursts", Parameters())
    (path / "truth.json").unlink()
    with pytest.raises(RecordingError, match=r"has no truth\.json"):
        judge_recording(path, "bursts", Parameters())


def test_figures_of_another_method_are_read_strictly(tmp_path: Path) -> None:
    file = tmp_path / "plain.json"
    with pytest.raises(RecordingError, match="can't be read"):
        read_other_method(file)
    file.write_text(json.dumps({"method": "plain", "scores": {"dense": {"j": {"expect": "skeleton"}}}}))
    with pytest.raises(RecordingError, match="missing required field `state`"):
        read_other_method(file)
    score = {"expect": "skeleton", "state": "forming", "confidence": 0.2}
    file.write_text(json.dumps({"method": "plain", "scores": {"dense": {"j": score}}}))
    assert read_other_method(file).scores["dense"]["j"].confidence == 0.2
