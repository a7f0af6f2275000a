"""How is a replay told to a person? Incidents as text: what broke, how sure, since when, why, and what to do."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from schemas.diagnosis import Incident, TracePass
from skeletonhunter.replaying.outcome import ReplayOutcome

VERDICT_STYLES = {"clean": "green", "suspect": "bold red", "inconclusive": "yellow"}
STATE_STYLES = {"open": "bold red", "updated": "bold red", "resolved": "green"}
SHOWN_REFUSALS = 20
SHOWN_ENDPOINTS = 6
SHOWN_TESTS = 4
"""Of the tests of a pass that came out alike."""


def render_outcome(name: str, outcome: ReplayOutcome, elapsed_s: float) -> RenderableType:
    """The whole summary of a replay."""
    parts: list[RenderableType] = [Text(_headline(name, outcome, elapsed_s), style="bold")]
    if outcome.skipped:
        parts.append(Text(f"topics that this version doesn't know, left out: {', '.join(outcome.skipped)}", "yellow"))
    parts += [render_incident(incident, outcome.span_us[0]) for incident in outcome.incidents()]
    if not outcome.updates:
        parts.append(Text("No incident.", style="green"))
    if outcome.out_of_coverage:
        parts.append(_beyond(outcome))
    if outcome.refused:
        parts.append(_refusals(outcome))
    return Group(*parts)


def render_incident(incident: Incident, start_us: int | None = None) -> RenderableType:
    """One incident; with ``start_us`` instants are also told in seconds from there."""
    title = Text.assemble(
        ("● ", STATE_STYLES[incident.state]),
        (f"{incident.kind}", "bold"),
        f" {incident.issue or ''}  ",
        (incident.component or "no component named", "bold cyan"),
        f"  confidence {incident.confidence:.2f}  ",
        (incident.state, STATE_STYLES[incident.state]),
        (f"  {incident.incident}", "dim"),
    )
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    for label, text in _facts(incident, start_us):
        facts.add_row(label, Text(text))
    facts.add_row("why", _trace(incident.trace))
    return Group(Text(), title, Padding(facts, (0, 0, 0, 2)))


def _headline(name: str, outcome: ReplayOutcome, elapsed_s: float) -> str:
    span_s = (outcome.span_us[1] - outcome.span_us[0]) / 1e6
    late = outcome.admissions.get("late", 0)
    rate = span_s / elapsed_s if elapsed_s > 0 else 0.0
    return (
        f"{name}: {outcome.messages:,} messages of {span_s:.0f} s, replayed in {elapsed_s:.1f} s ({rate:.0f} x real "
        f"time); {late:,} late, {sum(outcome.refused.values()):,} dead letters"
    )


def _facts(incident: Incident, start_us: int | None) -> list[tuple[str, str]]:
    shown = ", ".join(incident.endpoints[:SHOWN_ENDPOINTS])
    more = len(incident.endpoints) - SHOWN_ENDPOINTS
    facts = [
        ("symptom", f"{incident.symptom or 'none'} at {shown}{f' and {more} more' if more > 0 else ''}"),
        ("jobs", ", ".join(incident.jobs) or "none"),
        ("onset", instant(incident.onset_us, start_us)),
        ("detected", _after(incident.detected_us, incident.onset_us)),
        ("localized", _after(incident.localized_us, incident.onset_us)),
        ("resolved", _after(incident.resolved_us, incident.onset_us)),
        ("action", f"{incident.action.kind} {incident.action.target or ''}: {incident.action.why}"),
    ]
    others = [c for c in incident.candidates if c.component != incident.component][:3]
    if others:
        facts.append(("else", ", ".join(f"{c.component} ({c.score:.2f})" for c in others)))
    facts += [("evidence", f"{e.topic}: {e.text}") for e in incident.evidence]
    return facts


def instant(t_us: int, start_us: int | None = None) -> str:
    """An instant as UTC to the millisecond, and in seconds from ``start_us``."""
    text = datetime.fromtimestamp(t_us / 1e6, UTC).isoformat(sep=" ", timespec="milliseconds").replace("+00:00", " UTC")
    return text if start_us is None else f"{text} (second {(t_us - start_us) / 1e6:.1f} of the recording)"


def _after(t_us: int | None, onset_us: int) -> str:
    return "not yet" if t_us is None else f"{(t_us - onset_us) / 1e6:.1f} s after the onset"


def _trace(trace: tuple[TracePass, ...]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for step in trace:
        table.add_row(step.pass_, Text(step.verdict, VERDICT_STYLES[step.verdict]), Text(step.reason))
        for line in _tests(step):
            table.add_row("", "", Text(line, "dim"))
    return table


def _tests(step: TracePass) -> list[str]:
    """A line for each test; of many that came out alike the first ones, and how many more there are."""
    seen: Counter[str] = Counter()
    lines = []
    for test in step.tests:
        seen[test.result] += 1
        if seen[test.result] <= SHOWN_TESTS:
            lines.append(f"{test.test}: {test.result} ({test.detail})")
    more = [f"{count - SHOWN_TESTS} more: {result}" for result, count in seen.items() if count > SHOWN_TESTS]
    return [*lines, *([f"... and {', '.join(more)} (the command explain tells them all)"] if more else [])]


def _beyond(outcome: ReplayOutcome) -> RenderableType:
    lines = [Text("\nOut of coverage: no probe goes between GPUs of a host, or from a GPU to its RNIC.", "yellow")]
    lines += [
        Text(f"  {remark.subject} at {instant(remark.start_us, outcome.span_us[0])}: {remark.text}")
        for remark in outcome.out_of_coverage[:SHOWN_REFUSALS]
    ]
    if len(outcome.out_of_coverage) > SHOWN_REFUSALS:
        lines.append(Text(f"  ... and {len(outcome.out_of_coverage) - SHOWN_REFUSALS} more"))
    return Group(*lines)


def _refusals(outcome: ReplayOutcome) -> RenderableType:
    lines = [Text(f"\n{sum(outcome.refused.values()):,} records could not be used:", "yellow")]
    lines += [Text(f"  {r.place}: {r.reason}: {r.detail}") for r in outcome.refusals[:SHOWN_REFUSALS]]
    if sum(outcome.refused.values()) > SHOWN_REFUSALS:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(outcome.refused.items()))
        lines.append(Text(f"  ... ({reasons})"))
    return Group(*lines)


def outcome_as_json(name: str, outcome: ReplayOutcome) -> dict[str, Any]:
    """The summary for a program; equal replays give equal objects."""
    return {
        "recording": name,
        "messages": outcome.messages,
        "incidents": [msgspec.to_builtins(incident) for incident in outcome.incidents()],
        "updates": len(outcome.updates),
        "admissions": outcome.admissions,
        "emitted": dict(sorted(outcome.emitted.items())),
        "dead_letters": {
            "count": sum(outcome.refused.values()),
            "by_reason": dict(sorted(outcome.refused.items())),
            "first": [{"place": r.place, "reason": r.reason, "detail": r.detail} for r in outcome.refusals],
        },
        "skipped_topics": list(outcome.skipped),
        "out_of_coverage": [msgspec.to_builtins(remark) for remark in outcome.out_of_coverage],
    }
