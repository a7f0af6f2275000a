"""Rows of what is wrong and who is to blame: anomalies, incidents and their reasoning, the operators' answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import polars as pl

from schemas.diagnosis import Incident, PassTest, TracePass
from skeletonhunter.sinks.columns import Batch, flags, json_text, lists, real, text, whole

Frames = dict[str, pl.DataFrame]


def anomalies(batch: Batch) -> Frames:
    """One row per change of an anomaly."""
    values = batch.values
    names = ("anomaly", "src", "dst", "symptom", "state", "detector")
    own = {name: text(getattr(value, name) for value in values) for name in names}
    own |= {
        "onset_us": whole(value.onset_us for value in values),
        "detected_us": whole(value.detected_us for value in values),
        "score": real(value.score for value in values),
        "baseline_loss": real(value.baseline.loss for value in values),
        "baseline_rtt_us": real(value.baseline.rtt_us for value in values),
        "observed_loss": real(value.observed.loss for value in values),
        "observed_rtt_us": real(value.observed.rtt_us for value in values),
        "observed_sent": whole(value.observed.sent for value in values),
        "observed_window_s": real(value.observed.window_s for value in values),
        "path": lists(value.path for value in values),
    }
    return {"anomalies": batch.frame(own)}


def incidents(batch: Batch) -> Frames:
    """One row per state of an incident, and one per pass and test of its reasoning."""
    values = batch.values
    names = ("incident", "state", "kind", "issue", "component", "component_class", "symptom")
    own = {name: text(getattr(value, name) for value in values) for name in names}
    instants = ("onset_us", "detected_us", "localized_us", "resolved_us")
    own |= {name: whole(getattr(value, name) for value in values) for name in instants}
    own |= {
        "confidence": real(value.confidence for value in values),
        "candidates.component": lists([each.component for each in value.candidates] for value in values),
        "candidates.score": lists(([each.score for each in value.candidates] for value in values), pl.Float64),
        "jobs": lists(value.jobs for value in values),
        "endpoints": lists(value.endpoints for value in values),
        "evidence.topic": lists([each.topic for each in value.evidence] for value in values),
        "evidence.t_us": lists(([each.t_us for each in value.evidence] for value in values), pl.UInt64),
        "evidence.ref": lists([each.ref for each in value.evidence] for value in values),
        "evidence.text": lists([each.text for each in value.evidence] for value in values),
        "trace": json_text(value.trace for value in values),
        "action_kind": text(value.action.kind for value in values),
        "action_target": text(value.action.target for value in values),
        "action_why": text(value.action.why for value in values),
    }
    return {"incidents": batch.frame(own), "localization_steps": _steps(batch)}


def operator_feedback(batch: Batch) -> Frames:
    """One row per answer."""
    values = batch.values
    own = {name: text(getattr(value, name) for value in values) for name in ("incident", "verdict", "was", "text")}
    return {"operator_feedback": batch.frame({**own, "fixed": flags(value.fixed for value in values)})}


class _Step(NamedTuple):
    """One question of one pass; ``test`` null = the pass asked nothing."""

    pass_no: int
    of: TracePass
    test_no: int
    test: PassTest | None


def _steps(batch: Batch) -> pl.DataFrame:
    values: Sequence[Incident] = batch.values
    by_incident = [_steps_of(value) for value in values]
    steps = [step for steps in by_incident for step in steps]
    tests = [step.test for step in steps]
    rows = {
        "pass_no": whole([step.pass_no for step in steps], pl.UInt16),
        "pass": text([step.of.pass_ for step in steps]),
        "assumption": text([step.of.assumption for step in steps]),
        "verdict": text([step.of.verdict for step in steps]),
        "reason": text([step.of.reason for step in steps]),
        "test_no": whole([step.test_no for step in steps], pl.UInt16),
        "test": text([test.test if test else None for test in tests]),
        "result": text([test.result if test else None for test in tests]),
        "detail": text([test.detail if test else None for test in tests]),
    }
    own = {"incident": text(value.incident for value in values), "state": text(value.state for value in values)}
    return batch.frame(own, rows, [len(steps) for steps in by_incident])


def _steps_of(incident: Incident) -> list[_Step]:
    steps: list[_Step] = []
    for pass_no, of in enumerate(incident.trace, start=1):
        tests: Iterable[tuple[int, PassTest | None]] = enumerate(of.tests, start=1) if of.tests else [(0, None)]
        steps.extend(_Step(pass_no, of, test_no, test) for test_no, test in tests)
    return steps
