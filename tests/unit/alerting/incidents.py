"""Incidents and targets for tests of alerts."""

from __future__ import annotations

from typing import Any

import msgspec

from schemas.diagnosis import Incident
from skeletonhunter.alert_settings import AlertTarget
from tests.unit.sinks.messages import received_examples

T0_US = 1_753_000_100_000_000
SECOND_US = 1_000_000


def incident(name: str = "inc-1", seq: int = 1, state: str = "open", at_s: float = 0.0, **fields: Any) -> Incident:
    """A fault of an RNIC with dead connections, ``at_s`` seconds after the beginning."""
    example = next(each.value for each in received_examples("incidents") if getattr(each.value, "issue", None))
    assert isinstance(example, Incident)
    t_us = T0_US + round(at_s * SECOND_US)
    plain = {
        "incident": name,
        "state": state,
        "t_us": t_us,
        "producer": msgspec.structs.replace(example.producer, seq=seq),
        "symptom": "unconnectivity",
        "resolved_us": t_us if state == "resolved" else None,
    }
    return msgspec.structs.replace(example, **{**plain, **fields})


def target(name: str = "oncall", form: str = "slack", **fields: Any) -> AlertTarget:
    """A target that does not wait for a verdict to settle, unless told to."""
    return msgspec.convert(
        {"name": name, "format": form, "url": "https://hooks.example/x", "settle_s": 0, **fields}, AlertTarget
    )
