"""The report in a real browser: accessible, whole without a network, readable on a phone, printable, below 2 MB.

Run by ``.ci/browser``, which names Chromium and axe-core; elsewhere it says that it was not run.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from typer.testing import CliRunner

from skeletonhunter.cli import build_cli
from tests.browser.chromium import Tab, tab

INCIDENT = Path(__file__).parents[2] / "examples/incidents/stale-flow-offload"
CHROMIUM, AXE = os.environ.get("SKELETONHUNTER_TEST_CHROMIUM"), os.environ.get("SKELETONHUNTER_TEST_AXE")
PICTURES = os.environ.get("SKELETONHUNTER_TEST_PICTURES")
MOST_BYTES = 2_000_000
DESKTOP, PHONE = (1280, 900), (390, 844)

pytestmark = pytest.mark.skipif(not (CHROMIUM and AXE), reason="Chromium and axe-core are named by .ci/browser only")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the bundled incident."""
    found = tmp_path_factory.mktemp("report") / "report.html"
    result = CliRunner().invoke(build_cli("report"), ["report", str(INCIDENT), "-o", str(found)])
    assert result.exit_code == 0, result.output
    return found


T = TypeVar("T")


def look(page: Path, folder: Path, size: tuple[int, int], what: Callable[[Tab], Coroutine[Any, Any, T]]) -> T:
    async def looking() -> T:
        async with tab(str(CHROMIUM), folder) as opened:
            await opened.open(page.as_uri(), *size)
            return await what(opened)

    return asyncio.run(looking())


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_nothing_to_complain_of(page: Path, tmp_path: Path, size: tuple[int, int]) -> None:
    async def judge(opened: Tab) -> list[str]:
        await opened.run(Path(str(AXE)).read_text() + "; true")
        found = await opened.run(
            "axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes.length + ' ' + v.help))"
        )
        if PICTURES:
            Path(PICTURES).mkdir(parents=True, exist_ok=True)
            await opened.picture(Path(PICTURES) / f"report-{size[0]}.png")
        return list(found)

    assert look(page, tmp_path, size, judge) == []


def test_nothing_is_fetched_and_nothing_is_wider_than_a_phone(page: Path, tmp_path: Path) -> None:
    async def measure(opened: Tab) -> tuple[list[str], int]:
        width = await opened.run("document.documentElement.scrollWidth")
        return [url for url in opened.requested if not url.startswith(("data:", page.as_uri()))], width

    fetched, width = look(page, tmp_path, PHONE, measure)
    assert fetched == []
    assert width <= PHONE[0]
    assert page.stat().st_size < MOST_BYTES


def test_it_can_be_printed(page: Path, tmp_path: Path) -> None:
    pdf = look(page, tmp_path, DESKTOP, lambda opened: opened.printed())
    assert pdf.startswith(b"%PDF")


def test_a_page_that_nobody_could_read_is_found(tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text("<html><body><img src='x.png'><p style='color:#eee;background:#fff'>pale</p></body></html>")

    async def judge(opened: Tab) -> list[str]:
        await opened.run(Path(str(AXE)).read_text() + "; true")
        return list(await opened.run("axe.run().then(r => r.violations.map(v => v.id))"))

    assert {"image-alt", "color-contrast", "html-has-lang"} <= set(look(bad, tmp_path, DESKTOP, judge))
