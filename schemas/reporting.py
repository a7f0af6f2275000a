"""Who has fallen silent of those that only one stage hears? What the skeleton stage tells of counters and bursts."""

from __future__ import annotations

from schemas.envelope import Count, InstantUs, JobMessage, Name, Value


class SilentStream(Value, frozen=True, kw_only=True):
    """A stream that used to send regularly and has not for three of its usual gaps."""

    topic: Name
    producer: Name
    container: Name
    host: Name
    last_us: InstantUs
    usual_us: Count


class UnreadRnic(Value, frozen=True, kw_only=True):
    """An endpoint whose RNIC's counters can't be read, though others of its container can."""

    endpoint: Name
    since_us: InstantUs


class ReportingGaps(JobMessage, frozen=True, kw_only=True):
    """Topic ``reporting-gaps``, key fabric: all that is silent or can't be read of a job now; sent when it changes.

    ``regular``: by topic, how many streams send regularly, silent ones included; a topic that is not there has none.
    """

    regular: dict[str, Count]
    silent: tuple[SilentStream, ...]
    unread: tuple[UnreadRnic, ...]
