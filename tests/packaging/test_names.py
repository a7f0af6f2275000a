"""Each top-level name that we install has one owner: us."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
OURS = frozenset(
    tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
)


def other_owners(names: Iterable[str], installed: Iterable[Distribution]) -> dict[str, set[str]]:
    """Of each name the distributions other than ours that install it at top level too."""
    owners: dict[str, set[str]] = {}
    for distribution in installed:
        if distribution.metadata["Name"] == "skeletonhunter":
            continue
        for file in distribution.files or ():
            top = file.parts[0].removesuffix(".py")
            if top in names and file.suffix in (".py", ".so", ".pyi"):
                owners.setdefault(top, set()).add(distribution.metadata["Name"])
    return owners


def test_our_names_are_ours_alone() -> None:
    assert other_owners(OURS, distributions()) == {}


def test_every_package_folder_is_installed_and_typed() -> None:
    folders = {path.parent.name for path in CHECKOUT.glob("*/__init__.py")}
    assert folders - {"tests"} == OURS
    for name in OURS:
        assert (CHECKOUT / name / "py.typed").exists()


@pytest.mark.parametrize("file", ["schemas/__init__.py", "schemas.py", "streams/app.py"])
def test_a_second_owner_turns_it_red(tmp_path: Path, file: str) -> None:
    metadata = tmp_path / "intruder-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: intruder\nVersion: 1.0\n")
    (metadata / "RECORD").write_text(f"{file},,\nintruder/schemas/__init__.py,,\n")
    name = Path(file).parts[0].removesuffix(".py")
    assert other_owners(OURS, distributions(path=[str(tmp_path)])) == {name: {"intruder"}}
