"""Where does a tenant leave traces, and which of them can be purged? Pure: conditions for tables, keys for topics.

Rows go that are the tenant's alone: of its jobs, of incidents that touched no other tenant's job, of health and flows
of its endpoints, of its containers. What describes switches, hosts and the fabric is nobody's, and stays. Topics that
are compacted get tombstones; the others forget by themselves after their retention, which is all that Kafka offers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from schemas.topics import topics

_OF_JOB = "has(%(jobs)s, job)"
_OF_TENANT = f"(tenant = %(tenant)s OR {_OF_JOB})"
_OF_INCIDENT = "has(%(incidents)s, incident)"

CONDITIONS: dict[str, str] = {
    **dict.fromkeys(
        (
            *("probe_results", "rnic_counters", "rnic_bursts", "job_progress", "endpoint_map", "job_states"),
            *("skeletons", "skeleton_edges", "probe_plans", "anomalies", "pair_minutes", "outcome_minutes"),
        ),
        _OF_TENANT,
    ),
    "link_minutes": _OF_JOB,
    **dict.fromkeys(("incidents", "localization_steps", "operator_feedback", "alert_deliveries"), _OF_INCIDENT),
    "agent_health": "notEmpty(covers) AND arrayAll(each -> has(%(endpoints)s, each), covers)",
    "flow_entries": "has(%(endpoints)s, src) OR has(%(endpoints)s, dst)",
    "device_events": "has(%(devices)s, device)",
    "dead_letters": "has(%(jobs)s, key)",
}
"""Table -> which rows are a tenant's."""

KEPT: dict[str, str] = {
    "fabric_links": "the fabric is nobody's",
    "fabric_nodes": "the fabric is nobody's",
    "flow_snapshots": "says when a host's table was read",
    "switch_queues": "queues are shared",
}
"""Tables without rows of a tenant, and why."""


@dataclass(frozen=True, slots=True)
class Traces:
    """What of a tenant is known: the names by which its rows and records are found."""

    tenant: str
    jobs: frozenset[str] = frozenset()
    endpoints: frozenset[str] = frozenset()
    containers: frozenset[str] = frozenset()
    incidents: frozenset[str] = frozenset()
    shared_incidents: frozenset[str] = frozenset()
    pages: frozenset[str] = frozenset()

    def parameters(self) -> dict[str, object]:
        """The parameters of ``CONDITIONS``."""
        devices = {f"container:{each}" for each in self.containers} | {f"vif:{each}" for each in self.endpoints}
        return {
            "tenant": self.tenant,
            "jobs": sorted(self.jobs) or [""],
            "endpoints": sorted(self.endpoints) or [""],
            "incidents": sorted(self.incidents) or [""],
            "devices": sorted(devices) or [""],
        }

    def tombstones(self) -> dict[str, frozenset[str]]:
        """The keys that are the tenant's, by compacted topic."""
        keys = {"job": self.jobs, "incident": self.incidents, "page": self.pages}
        return {
            spec.topic: keys[spec.key] for spec in topics().values() if spec.cleanup == "compact" and spec.key in keys
        }


@dataclass(slots=True)
class Purged:
    """What was purged, and what was not."""

    tenant: str
    jobs: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    tombstones: dict[str, int] = field(default_factory=dict)
    topics: list[str] = field(default_factory=list)
    remains: list[str] = field(default_factory=list)


def remains(traces: Traces) -> list[str]:
    """What is left of a tenant for a while or for good, in words."""
    hours: dict[int, list[str]] = {}
    for spec in topics().values():
        if spec.cleanup == "delete" and spec.retention_hours is not None and spec.topic != "ticks":
            hours.setdefault(spec.retention_hours, []).append(spec.topic)
            hours.setdefault(720, []).append(spec.dead_letters)
    left = [f"in Kafka for up to {each} h: {', '.join(sorted(hours[each]))}" for each in sorted(hours)]
    if traces.shared_incidents:
        left.append(f"{len(traces.shared_incidents)} incidents that touched jobs of others as well")
    return [
        *left,
        "what workers remember of its jobs (their data folder and the changelog topic)",
        "recordings, reports, backups, and alerts that were delivered",
    ]
