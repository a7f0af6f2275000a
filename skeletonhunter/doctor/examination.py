"""All checks of an installation, in order."""

from __future__ import annotations

import os
from collections.abc import Iterator

from collectors.agent_settings import AgentSettings
from skeletonhunter.doctor.alerts import check_alerts
from skeletonhunter.doctor.clickhouse import check_clickhouse
from skeletonhunter.doctor.clock import check_clock
from skeletonhunter.doctor.findings import Finding
from skeletonhunter.doctor.host import check_host
from skeletonhunter.doctor.kafka import check_kafka
from skeletonhunter.doctor.plans import check_plans
from skeletonhunter.settings import Settings

MOST_LAG = 10_000
"""Messages that a reader may be behind."""


def examine(settings: Settings, agent: AgentSettings | None, now_us: int, most_lag: int) -> Iterator[Finding]:
    """What is found, as it is found. ``agent``: look at this host too."""
    found = list(check_kafka(settings, most_lag))
    yield from found
    states = {finding.check: finding.state for finding in found}
    if states.get("topics") == "ok":
        yield from check_plans(settings.kafka, now_us)
    yield from check_clickhouse(settings.clickhouse)
    yield from check_alerts(settings.alerts, os.environ)
    if agent is not None:
        yield from check_host(agent)
        yield from check_clock(agent, settings.parameters.localization.clock_bound_s)
