"""Which hints of a port are told, and how often? Each code at most once a minute for an endpoint."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.observing import Now, Observed
from collectors.rnic.findings import Values, judge, rises
from collectors.rnic.placement import Placement
from collectors.rnic.reports import device_event, rnic_id

QUIET_US = 60_000_000


class FindingWatch:
    """Remembers the counters of each endpoint from one look to the next."""

    def __init__(self) -> None:
        self._totals: dict[str, Values] = {}
        self._told_us: dict[tuple[str, str], int] = {}

    def look(self, now: Now, placement: Placement, totals: Values) -> Iterator[Observed]:
        """Takes the counters of an endpoint as they are now."""
        endpoint = placement.endpoint
        before, self._totals[endpoint] = self._totals.get(endpoint), totals
        if before is None:
            return
        for found in judge(rises(before, totals), totals):
            told_us = self._told_us.get((endpoint, found.code))
            if told_us is not None and now.mono_us - told_us < QUIET_US:
                continue
            self._told_us[endpoint, found.code] = now.mono_us
            device = rnic_id(placement.host, placement.rnic)
            severity = "warning" if found.warning else "info"
            text = f"{placement.rnic}: {found.text}"
            values = {"endpoint": endpoint, **found.values}
            yield device_event(now, device, found.code, severity, text, **values)  # type: ignore[arg-type]

    def keep_only(self, endpoints: set[str]) -> None:
        """Forgets endpoints that are no more."""
        for name in self._totals.keys() - endpoints:
            del self._totals[name]
        for key in [key for key in self._told_us if key[0] not in endpoints]:
            del self._told_us[key]
