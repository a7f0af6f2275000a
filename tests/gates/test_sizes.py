"""No file beyond 300 lines, no function beyond 40; an exception states its reason here.

Of a command's function the signature does not count: it has one parameter per documented option.
"""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
FILE_LINES, FUNCTION_LINES = 300, 40

COMMANDS = "skeletonhunter/cli/"

EXCEPTIONS: dict[str, str] = {
    "tests/unit/scoring/cases.py:incident": "one parameter and one line for each field that a hand-made case varies",
}
"""``path`` or ``path:function`` -> why it may be larger."""


def oversized(path: str, text: str) -> Iterator[tuple[str, str]]:
    """(name, what is too large) of a file and its functions; decorators do not count."""
    lines = len(text.splitlines())
    if lines > FILE_LINES:
        yield path, f"{lines} lines, at most {FILE_LINES}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if path.startswith(COMMANDS) else node
            length = (node.end_lineno or node.lineno) - first.lineno + 1
            if length > FUNCTION_LINES:
                yield f"{path}:{node.name}", f"{length} lines, at most {FUNCTION_LINES}"


def python_files() -> list[str]:
    """All Python files of the checkout that git knows or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    listed = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout.split()
    return [path for path in listed if (CHECKOUT / path).exists()]


def test_files_and_functions_are_small() -> None:
    found = dict(item for path in python_files() for item in oversized(path, (CHECKOUT / path).read_text()))
    assert {name: what for name, what in found.items() if name not in EXCEPTIONS} == {}
    assert set(EXCEPTIONS) <= set(found), "an exception that is not needed any more"
    assert all(EXCEPTIONS.values()), "an exception states its reason"


def test_there_are_files_to_look_at() -> None:
    assert {"schemas/codec.py", "tests/gates/test_sizes.py"} <= set(python_files())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\n" * 300, []),
        ("x = 1\n" * 301, [("a.py", "301 lines, at most 300")]),
        ("def f():\n" + "    x = 1\n" * 39, []),
        ("@cache\n@other\ndef f():\n" + "    x = 1\n" * 39, []),
        ("def f():\n" + "    x = 1\n" * 40, [("a.py:f", "41 lines, at most 40")]),
        ("class A:\n  async def g(self):\n" + "    x = 1\n" * 40, [("a.py:g", "41 lines, at most 40")]),
    ],
)
def test_the_measure_turns_red(text: str, expected: list[tuple[str, str]]) -> None:
    assert list(oversized("a.py", text)) == expected


def test_options_of_a_command_do_not_count() -> None:
    signature = "def f(\n" + "".join(f"    a{n}: int,\n" for n in range(30)) + ") -> None:\n"
    assert list(oversized("skeletonhunter/cli/f.py", signature + "    x = 1\n" * 40)) == []
    assert len(list(oversized("skeletonhunter/cli/f.py", signature + "    x = 1\n" * 41))) == 1
    assert len(list(oversized("skeletonhunter/f.py", signature + "    x = 1\n" * 40))) == 1
