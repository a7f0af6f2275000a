"""Words of logs and people are printed as they stand: what is in brackets is no style, and nothing of it is lost."""

from __future__ import annotations

import sys
from io import StringIO
from typing import Any

import msgspec
import pytest
from rich.console import Console
from typer.testing import CliRunner

from schemas.diagnosis import Evidence, TracePass
from schemas.probing import ProbePlan
from skeletonhunter.cli import build_cli
from skeletonhunter.cli.plan import render_plan
from skeletonhunter.cli.printing import progress_bar
from skeletonhunter.cli.query import _table
from skeletonhunter.queries.asking import Answer
from skeletonhunter.replaying.summary import render_incident
from tests.unit.scoring.cases import incident
from tests.unit.sinks.messages import received_examples

WORDS = "[drm] enp1s0[/0] at [fe80::1] says [/x]"


def printed(what: Any) -> str:
    out = StringIO()
    Console(file=out, width=200).print(what)
    return out.getvalue()


def test_an_answer_of_clickhouse_is_shown_whole() -> None:
    assert WORDS in printed(_table(Answer(("text",), [(WORDS,)])))
    assert "[/x]" in printed(_table(Answer(("[/x]",), [(1,)])))


def test_evidence_and_reasons_are_shown_whole() -> None:
    step = TracePass(pass_="host", assumption="it works", tests=(), verdict="suspect", reason=f"reason {WORDS}")
    said = Evidence(topic="device-events", t_us=0, ref="r", text=f"evidence {WORDS}")
    text = printed(render_incident(msgspec.structs.replace(incident("i"), trace=(step,), evidence=(said,))))
    assert f"reason {WORDS}" in text
    assert f"evidence {WORDS}" in text


def test_a_job_of_any_name_has_a_plan() -> None:
    plan = received_examples("probe-plans")[0].value
    assert isinstance(plan, ProbePlan)
    assert f"job {WORDS}" in printed(render_plan(msgspec.structs.replace(plan, job=f"job {WORDS}")))


def test_a_recording_of_any_name_makes_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", StringIO())
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_bar(f"replaying {WORDS}", 2) as progress:
        progress(1)


def test_a_person_may_name_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skeletonhunter.cli.announcing.announce", lambda *_: None)
    words = ["feedback", "i-1", "--fabric", "f", "--verdict", "component", "--was", "port:tor-1/xe[/0]"]
    told = CliRunner().invoke(build_cli("feedback"), words)
    assert (told.exit_code, told.output.strip()) == (0, "i-1: component, it was port:tor-1/xe[/0]")
