"""What was told to whom: one message for each alert that a receiver was sent, or was spared, and why."""

from __future__ import annotations

from typing import Literal

from schemas.envelope import Count, InstantUs, Message, Name, Value

Severity = Literal["critical", "error", "warning", "info"]
"""How urgent, most urgent first; the words of PagerDuty's Events API."""

SEVERITIES: tuple[Severity, ...] = ("critical", "error", "warning", "info")


class PageMember(Value, frozen=True, kw_only=True):
    """An incident that a page speaks of, and how far it was taken in."""

    incident: Name
    seq: Count
    over: bool


class AlertDelivery(Message, frozen=True, kw_only=True):
    """Topic ``alert-deliveries``, key page: the state of a page and what became of the last attempt to tell it.

    The messages of a page in order are its delivery log; the newest is what the alert sender needs to go on after a
    restart.
    """

    page: Name
    target: Name
    incident: Name
    members: tuple[PageMember, ...]
    state: Literal["open", "updated", "resolved"]
    outcome: Literal["delivered", "failed", "withheld"]
    why: str
    told: bool
    severity: Severity
    said: str
    labels: dict[str, str]
    reminders: Count
    delivery: str
    attempts: Count
    opened_us: InstantUs
    sent_us: InstantUs
