"""Is this incident for this target, and is now the time? By severity, tenant, class, fabric, and silences. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase

from schemas.diagnosis import Incident
from schemas.envelope import JobMessage, Value
from skeletonhunter.alert_settings import AlertTarget, Silence
from skeletonhunter.alerting.severity import is_at_least, urgency_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Tenants:
    """Who the jobs belong to, as endpoint maps say."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}

    def observe(self, value: Value) -> None:
        """Learns from a message about a job; others are passed by."""
        if isinstance(value, JobMessage) and value.tenant is not None:
            self._of[value.job] = value.tenant

    def of(self, jobs: Iterable[str]) -> tuple[str, ...]:
        """The tenants of these jobs, as far as they are known, in alphabetical order."""
        return tuple(sorted({self._of[job] for job in jobs if job in self._of}))


def is_wanted(target: AlertTarget, incident: Incident, tenants: tuple[str, ...]) -> bool:
    """Whether the target is to be told of such incidents at all."""
    return (
        is_at_least(urgency_of(incident).severity, target.least_severity)
        and (not target.tenants or not set(target.tenants).isdisjoint(tenants))
        and (not target.component_classes or incident.component_class in target.component_classes)
        and (not target.fabrics or incident.fabric in target.fabrics)
    )


def silence_of(
    silences: Iterable[Silence], target: str, incident: Incident, tenants: tuple[str, ...], now_us: int
) -> Silence | None:
    """The silence that holds the incident back at ``now_us``; None if there is none."""
    now = _EPOCH + timedelta(microseconds=now_us)
    for silence in silences:
        if silence.since <= now < silence.until and _fits(silence, target, incident, tenants):
            return silence
    return None


def _fits(silence: Silence, target: str, incident: Incident, tenants: tuple[str, ...]) -> bool:
    return (
        (not silence.targets or target in silence.targets)
        and silence.fabric in (None, incident.fabric)
        and silence.component_class in (None, incident.component_class)
        and (silence.tenant is None or silence.tenant in tenants)
        and (silence.component is None or fnmatchcase(incident.component or "", silence.component))
    )


def place_of(component: str | None) -> str | None:
    """The host or switch that a component is part of; None of one that has no place of its own (links, containers)."""
    kind, _, name = (component or "").partition(":")
    return name.partition("/")[0] or None if kind in _PLACED else None


_PLACED = frozenset(("switch", "port", "config", "rnic", "host", "vswitch", "tunnel", "clock"))
