"""``evaluate --traces`` as a command: the page, the figures kept, and the exit code when one became worse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from benchmarks import skeleton_baseline
from skeletonhunter.cli import InputError, build_cli
from tests.unit.evaluation.skeletons.judged import write_judged


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("recordings")
    write_judged(place / "dense")
    return place


@pytest.fixture
def tolerances(tmp_path: Path) -> Path:
    file = tmp_path / "kept.toml"
    file.write_text("[slack]\nshare = 0.02\nrelative = 0.05\n")
    return file


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(build_cli(), ["evaluate", "--workers", "1", *(str(each) for each in arguments)])
    if isinstance(result.exception, InputError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def test_the_page_stands_beside_another_method(folder: Path, tolerances: Path, tmp_path: Path) -> None:
    judged = skeleton_baseline.judge(folder / "dense")
    scores = {"dense": {job: skeleton_baseline.better(each) for job, each in judged.items()}}
    figures = skeleton_baseline.OtherMethod("plain clustering", scores)
    (tmp_path / "plain.json").write_bytes(skeleton_baseline.msgspec.json.encode(figures))
    page = tmp_path / "page.md"
    run("--traces", folder, "--beside", tmp_path / "plain.json", "--table", page, "--tolerances", tolerances)
    text = page.read_text()
    assert text.count("| `dense` |") == 2
    assert "plain clustering" in text and "--beside plain.json" in text


def test_figures_are_kept_and_held_to(folder: Path, tolerances: Path) -> None:
    run("--traces", folder, "--tolerances", tolerances, "--bless")
    assert '"dense.j.bursts.recall" = 1.0000' in tolerances.read_text()
    found = json.loads(run("--traces", folder, "--tolerances", tolerances, "--json").stdout)
    assert [row["view"] for row in found["rows"]] == ["bursts", "counters"]
    text = tolerances.read_text()
    tolerances.write_text(text.replace('bursts.ratio" = ', 'bursts.ratio" = 0.01 # '))
    with pytest.raises(InputError, match=r"worse than allowed: dense\.j\.bursts\.ratio is 0\.\d+, was 0\.01"):
        run("--traces", folder, "--tolerances", tolerances)


def test_a_folder_without_recordings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no recordings"):
        run("--traces", tmp_path)
