"""What a campaign can't be compared with is told before it is run, not hours later or never."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from skeletonhunter.cli import InputError, build_cli


def refusal(*arguments: str | Path) -> str:
    result = CliRunner().invoke(build_cli("evaluate"), ["evaluate", "--workers", "1", *map(str, arguments)])
    assert isinstance(result.exception, InputError)
    return str(result.exception)


@pytest.mark.parametrize("option", ["--tolerances", "--bless"])
@pytest.mark.parametrize("part", [["--seeds", "1"], ["--quick", "--part", "1/4"]])
def test_a_part_of_a_campaign_is_held_to_no_tolerances(tmp_path: Path, option: str, part: list[str]) -> None:
    words = [option, tmp_path / "kept.toml"] if option == "--tolerances" else [option]
    assert refusal("-o", tmp_path / "out", *part, *words).startswith(
        f"{option}: a part of a campaign is held to no tolerances"
    )
    assert not list(tmp_path.glob("out/scenarios/*"))


def test_recordings_of_cases_are_held_to_none(tmp_path: Path) -> None:
    assert refusal("--cases", tmp_path, "--bless").startswith("--bless: --cases is held to no tolerances")


def test_tolerances_that_are_not_there_are_refused_before_the_work(tmp_path: Path) -> None:
    assert "missing.toml" in refusal("--quick", "-o", tmp_path / "out", "--tolerances", tmp_path / "missing.toml")
    assert not list(tmp_path.glob("out/scenarios/*"))
