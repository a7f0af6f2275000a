"""The generated pages are what the program would write now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from skeletonhunter.cli import COMMANDS
from skeletonhunter.reference import PAGES, generated_files, write

CHECKOUT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", PAGES)
def test_the_committed_page_is_the_generated_one(path: str) -> None:
    assert (CHECKOUT / path).read_text() == PAGES[path](), "run `make docs-reference` and commit what it writes"


def test_writing_is_idempotent_and_removes_what_is_gone(tmp_path: Path) -> None:
    assert sorted(write(tmp_path)) == sorted(generated_files())
    assert write(tmp_path) == []
    (tmp_path / "schemas/json/gone.v1.json").write_text("{}")
    (tmp_path / "docs/reference/cli.md").write_text("edited by hand")
    assert write(tmp_path) == ["docs/reference/cli.md", "schemas/json/gone.v1.json (removed)"]
    assert write(tmp_path) == []


def test_every_command_is_on_the_page_of_commands() -> None:
    page = PAGES["docs/reference/cli.md"]()
    for command in COMMANDS:
        assert f"\n## {command.replace('_', '-')}\n" in page


def test_links_inside_the_pages_lead_somewhere() -> None:
    for path, page in PAGES.items():
        text = page()
        anchors = {
            re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.+)$", text, re.M)
        }
        for target in re.findall(r"\]\(([^)]+)\)", text):
            if target.startswith("#"):
                assert target[1:] in anchors, f"{path}: {target}"
            else:
                assert ((CHECKOUT / path).parent / target).resolve().exists(), f"{path}: {target}"


@pytest.mark.parametrize("page", ["docs/reference/configuration.md", "docs/reference/agent.md"])
def test_lists_in_descriptions_of_settings_are_of_settings(page: str) -> None:
    """A sentence that is broken before a colon must not become an item."""
    text = PAGES[page]()
    tables = set(re.findall(r"^## \[\[(?:\w+\.)*(\w+)\]\]$", text, re.MULTILINE))
    for section in text.split("\n## ")[1:]:
        fields = tables | set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
        for names in re.findall(r"^- `([^`]+)`:", section, re.MULTILINE):
            assert set(names.split(", ")) <= fields, f"{section.splitlines()[0]}: {names}"


def test_every_part_of_the_agent_says_what_it_does() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| (.*?) \| (?:yes)? \|", PAGES["docs/reference/agent.md"](), re.MULTILINE)
    assert len(rows) > 10
    assert [name for name, does in rows if not does.strip()] == []
