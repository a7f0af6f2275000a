"""Every gate can fail: each file under ``red/`` must turn one gate red, in the words that it gives.

A file says in its first lines where it goes in a copy of the checkout, which gate must refuse it and in what words.
What only tests can refuse has its red input beside that test (YAMLs of topics, configurations, sizes, names, examples).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

CHECKOUT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PACKAGES = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]
GATES = {
    "lint-imports": [f"{BIN}/lint-imports", "--no-cache"],
    "ruff check": [f"{BIN}/ruff", "check", "--no-cache", "{place}"],
    "ruff format --check": [f"{BIN}/ruff", "format", "--check", "--no-cache", "{place}"],
    "mypy": [f"{BIN}/mypy", "--cache-dir", "{checkout}/.mypy_red_cache", "--follow-imports", "silent", "{place}"],
    "pytest": [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "{place}"],
}


class Red(NamedTuple):
    """An input that must turn a gate red."""

    place: str
    gate: str
    says: str
    text: str


def read_red(path: Path) -> Red:
    text = path.read_text()
    return Red(*re.findall(r"^# (?:place|gate|says): (.+)$", text, re.M), text)


REDS = {path.stem: read_red(path) for path in sorted((CHECKOUT / "tests/gates/red").glob("*.py"))}


@pytest.fixture(scope="module")
def copy_of_checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("checkout")
    shutil.copy(CHECKOUT / "pyproject.toml", copy)
    for package in PACKAGES:
        shutil.copytree(
            CHECKOUT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__", "json", "examples")
        )
    (copy / "tests").mkdir()
    return copy


def run(gate: str, place: str, copy: Path) -> subprocess.CompletedProcess[str]:
    command = [part.format(place=place, checkout=copy) for part in GATES[gate]]
    environment = {"PATH": f"{BIN}:/usr/bin:/bin", "PYTHONPATH": str(copy), "COLUMNS": "200", "HOME": str(copy)}
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=120, check=False)


def turn_red(red: Red, copy: Path) -> subprocess.CompletedProcess[str]:
    """Runs the gate with the red input in its place, and takes it away again."""
    target = copy / red.place
    before = target.read_text() if target.exists() else None
    target.write_text(red.text if before is None else before + red.text)
    try:
        return run(red.gate, red.place, copy)
    finally:
        target.unlink() if before is None else target.write_text(before)


@pytest.mark.parametrize("name", REDS)
def test_gate_turns_red(name: str, copy_of_checkout: Path) -> None:
    result = turn_red(REDS[name], copy_of_checkout)
    said = re.sub(r"\s+", " ", result.stdout + result.stderr)
    assert result.returncode != 0, said
    assert REDS[name].says in said


def test_every_gate_has_a_red_input() -> None:
    assert {red.gate for red in REDS.values()} == set(GATES)


def test_every_import_contract_is_broken_by_a_red_input(copy_of_checkout: Path) -> None:
    contracts = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    said = "".join(turn_red(red, copy_of_checkout).stdout for red in REDS.values() if red.gate == "lint-imports")
    assert {contract["name"] for contract in contracts} == set(re.findall(r"^(.+) BROKEN$", said, re.M))


def test_layers_hold(copy_of_checkout: Path) -> None:
    result = run("lint-imports", "", copy_of_checkout)
    assert result.returncode == 0, result.stdout
