"""The wheel works where the checkout is not: another directory, an environment of its own.

Dependencies are borrowed from the environment of the tests, to be quick; ``.ci/wheel`` installs them too.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from schemas.topics import topics
from skeletonhunter.reference import generated_files

CHECKOUT = Path(__file__).parents[2]


def run(*command: str | Path, cwd: Path) -> str:
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), "TERM": "dumb", "COLUMNS": "120"}
    result = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, CHECKOUT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel; dependencies come from ours, the checkout does not."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    packages = next(folder.glob("lib/python*/site-packages"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    (packages / "borrowed.pth").write_text(f"import sys; sys.path.append({sysconfig.get_path('purelib')!r})\n")
    return folder


def test_the_wheel_holds_the_contract(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"schemas/topics/{name}.yaml" for name in topics()} <= names
    assert {path for path in generated_files() if path.startswith("schemas/json/")} <= names
    assert {"schemas/fields.yaml", "schemas/dead-letters.yaml", "schemas/py.typed"} <= names
    assert "schemas/examples/probe-results/typical.valid.json" in names


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    expected = {path.parent.name for path in CHECKOUT.glob("*/__init__.py")} - {"tests"}
    assert tops == expected
    assert [name for name in names if name.endswith((".pyc", ".orig", ".rej")) or "/tests/" in name] == []


def test_the_program_runs_from_another_directory(environment: Path, tmp_path: Path) -> None:
    program = "import sys; from skeletonhunter.cli import main; sys.argv = ['skeletonhunter', '--help']; main()"
    said = run(environment / "bin/python", "-P", "-c", program, cwd=tmp_path)
    assert "Usage: skeletonhunter" in said


def test_the_program_reads_its_own_data(environment: Path, tmp_path: Path) -> None:
    program = (
        "import schemas, schemas.topics as t; from skeletonhunter.reference import generated_files;"
        "print(schemas.__file__, len(t.topics()), len(generated_files()))"
    )
    where, *counts = run(environment / "bin/python", "-P", "-c", program, cwd=tmp_path).split()
    assert Path(where).is_relative_to(environment)
    assert counts == [str(len(topics())), str(len(generated_files()))]
