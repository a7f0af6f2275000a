"""How does a finding about a device become a fact for ``device-events``?"""

from __future__ import annotations

from typing import Literal

from collectors.observing import Now, Observed

Severity = Literal["info", "warning", "error"]


def device_event(now: Now, device: str, event: str, severity: Severity, text: str, /, **values: object) -> Observed:
    """A warning of a device about itself; ``device`` is a component id."""
    fields: dict[str, object] = {"device": device, "event": event, "severity": severity, "text": text, "values": values}
    return Observed("device-events", "device-events", now.t_us, fields)


def rnic_id(host: str, rnic: str) -> str:
    """The component id of an RNIC."""
    return f"rnic:{host}/{rnic}"
