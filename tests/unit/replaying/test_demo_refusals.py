"""``demo`` takes away nothing that no demo made, and says in a sentence what it can't work with."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from skeletonhunter.cli import InputError, build_cli


def demo(*words: str | Path) -> None:
    CliRunner().invoke(build_cli("demo"), ["demo", *map(str, words)], catch_exceptions=False)


def test_a_server_s_data_in_a_folder_of_the_same_name_stay(tmp_path: Path) -> None:
    (tmp_path / "clickhouse").mkdir()
    (tmp_path / "clickhouse/rows").touch()
    (tmp_path / "dpkg").mkdir()
    with pytest.raises(InputError, match="holds 'dpkg', which no demo made, expected a folder for the demo alone"):
        demo("--incidents", tmp_path, "--data", tmp_path)
    assert (tmp_path / "clickhouse/rows").exists()


def test_a_place_that_can_hold_no_database_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"expected a folder, but .*file is none"):
        demo("--incidents", tmp_path, "--data", tmp_path / "file")


def test_a_folder_without_the_incidents_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="stale-flow-offload: there is no such file or directory"):
        demo("--incidents", tmp_path, "--data", tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
