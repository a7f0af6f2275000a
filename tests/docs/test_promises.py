"""Pages that promise something name the tests that prove it, and these tests exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PAGES = ("docs/explanation/guarantees.md", "docs/explanation/threat-model.md")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
ROW = re.compile(r"^\| (?!promise|bound|threat|---)(.+) \|$", re.MULTILINE)


def missing(text: str) -> list[str]:
    """Tests that a page names and that do not exist."""
    return [f"{path}::{name}" for path, name in NAMED.findall(text) if name not in _tests(CHECKOUT / path)]


def unproved(text: str) -> list[str]:
    """Rows of the page's tables that name no test."""
    return [row for row in ROW.findall(text) if not NAMED.search(row) and not set(row) <= {"-", "|", " "}]


def _tests(path: Path) -> set[str]:
    if not path.is_file():
        return set()
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("page", PAGES)
def test_every_promise_names_tests_that_exist(page: str) -> None:
    text = (CHECKOUT / page).read_text()
    assert len(NAMED.findall(text)) >= 15
    assert missing(text) == []
    assert unproved(text) == []


def test_a_promise_without_a_test_is_noticed() -> None:
    page = "| promise | proof |\n|---|---|\n| It never fails. | trust us |\n| So. | `tests/x.py::test_gone` |\n"
    assert missing(page) == ["tests/x.py::test_gone"]
    assert unproved(page) == ["It never fails. | trust us"]
