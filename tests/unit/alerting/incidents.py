"""Incidents and targets for tests of alerts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from schemas.alerting import AlertDelivery
from schemas.diagnosis import Incident
from skeletonhunter.alert_settings import AlertSettings, AlertTarget
from skeletonhunter.alerting.forms import Call
from skeletonhunter.alerting.targets import Target
from skeletonhunter.alerting.telling import Teller
from skeletonhunter.sinks.webhook import DeliveryError, WebhookSender
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


def silent_teller(keep: Callable[[AlertDelivery], None]) -> Teller:
    """Tells a receiver in memory, which takes everything; ``keep`` takes the deliveries."""
    teller = Teller(Target(target(), "https://hooks.example/x"), AlertSettings(), Phone(), lambda: T0_US)
    teller.keep = keep
    return teller


class Phone(WebhookSender):
    """A receiver in memory: a sender without the HTTP."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.attempts = 1
        self.is_away = False

    def deliver(self, call: Call) -> None:
        """Takes it, unless the receiver is away."""
        if self.is_away:
            raise DeliveryError("http://phone: no answer")
        self.calls.append(call)
