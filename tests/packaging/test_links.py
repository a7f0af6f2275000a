"""Do the links of the pages outside ``docs/`` lead somewhere? (``make site`` checks those inside.)"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PAGES = sorted(
    page for pattern in ("*.md", "deploy/**/*.md", "benchmarks/*.md", "examples/**/*.md") for page in ROOT.glob(pattern)
)


def anchors(page: Path) -> set[str]:
    """Anchors of the headings of a page, as readers of Markdown make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def broken(page: Path) -> list[str]:
    """Links of a page to files or headings that are not there."""
    found = []
    for link in LINK.findall(page.read_text()):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One two\n[a](missing.md) [b](#one-two) [c](#three) [d](page.md#one-two)\n")
    assert broken(page) == ["missing.md", "#three"]
