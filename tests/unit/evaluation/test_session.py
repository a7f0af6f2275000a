"""An evaluation from request to files: what is written, what is compared, and what is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from skeletonhunter.evaluation.scenarios import SUBJECTS
from skeletonhunter.evaluation.selection import Selection, wanted
from skeletonhunter.evaluation.session import EvaluationRequest, compare, evaluate
from streams.parameters import Parameters
from tests.unit.evaluation.bench import KnownBench

EMPTY = "[slack]\nshare = 0.01\nrelative = 0.1\ndelay_s = 0.5\n"


def request(folder: Path, **more: object) -> EvaluationRequest:
    return EvaluationRequest("quick", folder, 1, Parameters(), **more)  # type: ignore[arg-type]


def test_report_files_are_the_same_after_a_second_run(tmp_path: Path) -> None:
    outcomes = [evaluate(request(tmp_path / name), KnownBench(), lambda _: None) for name in ("a", "b")]
    assert outcomes[0].report == outcomes[1].report
    for file in ("results.json", "results.md"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    assert (tmp_path / "a" / "results.md").read_text() == outcomes[0].page


def test_only_and_skip_choose_by_parts_of_ids(tmp_path: Path) -> None:
    chosen = request(tmp_path, selection=Selection(only=("issue-0", "control-"), skip=("congested",)))
    names = {scenario.subject for scenario in chosen.scenarios()}
    assert names == {*(subject for subject in SUBJECTS if subject.startswith("issue-0")), "control-healthy"}
    assert not chosen.whole
    assert wanted("abc", (), ()) is True
    assert wanted("abc", ("b",), ("c",)) is False


def test_accepted_figures_are_compared_with_next_time(tmp_path: Path) -> None:
    file = tmp_path / "tolerances.toml"
    file.write_text(EMPTY)
    asked = request(tmp_path / "run")
    summary = evaluate(asked, KnownBench(), lambda _: None).report
    assert compare(asked, summary, file, accept=True) == []
    assert compare(asked, summary, file, accept=False) == []
    text = file.read_text()
    key = '"overall.detection.recall.share" = 0.947368'
    assert key in text
    file.write_text(text.replace(key, '"overall.detection.recall.share" = 0.99'))
    assert [item.figure for item in compare(asked, summary, file, accept=False)] == ["overall.detection.recall.share"]


@pytest.mark.parametrize("accept", [True, False])
def test_a_part_of_a_campaign_is_held_to_nothing_and_changes_nothing(tmp_path: Path, accept: bool) -> None:
    file = tmp_path / "tolerances.toml"
    file.write_text(EMPTY + '[quick]\n"overall.detection.recall.share" = 1.0\n')
    asked = request(tmp_path / "run", selection=Selection(only=("gid_change",)))
    summary = evaluate(asked, KnownBench(), lambda _: None).report
    before = file.read_text()
    assert compare(asked, summary, file, accept) == []
    assert file.read_text() == before
