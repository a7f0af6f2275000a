"""Which rows does a message become? Pure: from values with provenance to one typed table per table of ClickHouse.

``frames`` takes messages of one topic in order of arrival and gives their tables (an empty one where no message has a
row for it). Column names and types are those of the migrations, less the columns that have a default there; a test
holds them against the migrated database. Cost: 1.5 us per probe train on one core.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from skeletonhunter.sinks import alert_rows, diagnosis_rows, map_rows, measurement_rows, state_rows
from skeletonhunter.sinks.columns import Batch
from skeletonhunter.sinks.received import Received

Frames = dict[str, pl.DataFrame]

_BUILDERS: dict[str, Callable[[Batch], Frames]] = {
    "agent-health": state_rows.agent_health,
    "alert-deliveries": alert_rows.alert_deliveries,
    "anomalies": diagnosis_rows.anomalies,
    "device-events": state_rows.device_events,
    "endpoint-map": map_rows.endpoint_map,
    "fabric-map": map_rows.fabric_map,
    "flow-tables": state_rows.flow_tables,
    "incidents": diagnosis_rows.incidents,
    "job-progress": measurement_rows.job_progress,
    "operator-feedback": diagnosis_rows.operator_feedback,
    "probe-plans": map_rows.probe_plans,
    "probe-results": measurement_rows.probe_results,
    "rnic-bursts": measurement_rows.rnic_bursts,
    "rnic-counters": measurement_rows.rnic_counters,
    "skeleton-updates": map_rows.skeleton_updates,
    "switch-queues": measurement_rows.switch_queues,
}

STORED_TOPICS: tuple[str, ...] = tuple(_BUILDERS)
"""Topics that have a table."""


def frames(topic: str, received: Sequence[Received]) -> Frames:
    """The rows of messages of one topic, by table.

    Raises:
        KeyError: the topic has no table.
        OverflowError, TypeError: a value that its column can't hold.
    """
    return _BUILDERS[topic](Batch(received))
