"""What a person reads of a replay is short: of tests that came out alike the first ones, and how many more."""

from __future__ import annotations

from io import StringIO

import msgspec
from rich.console import Console

from schemas.diagnosis import PassTest, TracePass
from skeletonhunter.replaying.summary import SHOWN_TESTS, render_incident
from tests.unit.scoring.cases import incident


def told(*results: str) -> str:
    tests = tuple(PassTest(test=f"flow f{n}", result=result, detail=f"seen {n}") for n, result in enumerate(results))
    step = TracePass(pass_="boundary", assumption="both work", tests=tests, verdict="clean", reason="they agree")
    out = StringIO()
    Console(file=out, width=200).print(render_incident(msgspec.structs.replace(incident("i"), trace=(step,))))
    return out.getvalue()


def test_many_alike_are_counted_and_what_differs_is_always_told() -> None:
    text = told(*["consistent"] * 300, "inconsistent", *["consistent"] * 4)
    assert text.count(": consistent (seen") == SHOWN_TESTS
    assert "flow f300: inconsistent (seen 300)" in text
    assert f"... and {304 - SHOWN_TESTS} more: consistent (the command explain tells them all)" in text


def test_a_few_are_all_told() -> None:
    text = told(*["consistent"] * SHOWN_TESTS, "inconsistent")
    assert text.count(": consistent (") == SHOWN_TESTS
    assert "more:" not in text
