"""Rows of what was told to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skeletonhunter.sinks.columns import Batch, lists, text, whole

if TYPE_CHECKING:
    from skeletonhunter.sinks.rows import Frames

TEXTS = ("page", "target", "incident", "state", "outcome", "why", "severity", "delivery")
NUMBERS = ("attempts", "reminders", "opened_us", "sent_us")


def alert_deliveries(batch: Batch) -> Frames:
    """One row per telling."""
    values = batch.values
    own = {name: text(getattr(value, name) for value in values) for name in TEXTS}
    own |= {name: whole(getattr(value, name) for value in values) for name in NUMBERS}
    own["incidents"] = lists([[member.incident for member in value.members] for value in values])
    return {"alert_deliveries": batch.frame(own)}
