"""Documents that people write: links lead somewhere, decisions are numbered, commands exist."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]


def documents() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout.split()
    parts_of_pages = "skeletonhunter/"
    return [path for path in listed if (CHECKOUT / path).exists() and not path.startswith(parts_of_pages)]


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(path: str, text: str) -> list[str]:
    """Links to files or headings that are not there; links into the web are not looked at."""
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.S)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        linked = (CHECKOUT / path).parent / file if file else CHECKOUT / path
        if not linked.exists() or (anchor and anchor not in anchors(linked.read_text())):
            broken.append(target)
    return broken


def test_links_lead_somewhere() -> None:
    broken = {path: broken_links(path, (CHECKOUT / path).read_text()) for path in documents()}
    assert {path: links for path, links in broken.items() if links} == {}


def test_broken_links_are_found() -> None:
    text = "[a](no-such-file.md) [b](CHANGELOG.md#no-such-heading) [c](CHANGELOG.md#unreleased) [d](https://x.example/)"
    assert broken_links("README.md", text) == ["no-such-file.md", "CHANGELOG.md#no-such-heading"]


def test_decisions_are_numbered_without_holes_and_say_what_would_change_our_mind() -> None:
    pages = sorted(path for path in documents() if path.startswith("docs/decisions/"))
    assert [int(Path(path).name[:4]) for path in pages] == list(range(1, len(pages) + 1))
    for path in pages:
        text = (CHECKOUT / path).read_text()
        for part in ("**Context.**", "**Choice.**", "**What would change our mind.**"):
            assert part in text, f"{path} lacks {part}"


@pytest.mark.parametrize("path", ["README.md", "CONTRIBUTING.md"])
def test_make_targets_that_are_named_exist(path: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (CHECKOUT / "Makefile").read_text(), re.M))
    named = set(re.findall(r"^make ([a-z-]+)|`make ([a-z-]+)`", (CHECKOUT / path).read_text(), re.M))
    assert named
    assert {one or other for one, other in named} <= targets


def test_the_glossary_has_each_word_once() -> None:
    words = re.findall(r"^\| ([^|]+) \|", (CHECKOUT / "docs/glossary.md").read_text(), re.M)[1:]
    assert len(set(words)) == len(words) > 40
