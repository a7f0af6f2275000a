"""Rows of what hosts say about themselves: flow tables, warnings of devices, health of agents."""

from __future__ import annotations

import polars as pl

from skeletonhunter.sinks.columns import Batch, flags, json_text, lists, real, text, whole

Frames = dict[str, pl.DataFrame]


def flow_tables(batch: Batch) -> Frames:
    """One row per entry, and one per snapshot, so that an empty table is seen to be empty."""
    values = batch.values
    flows = [flow for value in values for flow in value.flows]
    counts = [len(value.flows) for value in values]
    snapshot = {
        "host": text(value.host for value in values),
        "rnic": text(value.rnic for value in values),
        "table": text(value.table for value in values),
        "complete": flags(value.complete for value in values),
        "truncated": text(value.truncated for value in values),
    }
    rows = {
        "flow": text([flow.flow for flow in flows]),
        "at": text([flow.at for flow in flows]),
        "next": text([flow.next for flow in flows]),
        "src": text([flow.src for flow in flows]),
        "dst": text([flow.dst for flow in flows]),
        "match": text([flow.match for flow in flows]),
        "actions": text([flow.actions for flow in flows]),
        "packets": whole([flow.packets for flow in flows]),
        "bytes": whole([flow.bytes for flow in flows]),
        "idle_s": real([flow.idle_s for flow in flows]),
        "offloaded": flags([flow.offloaded for flow in flows]),
        "path": text([flow.path for flow in flows]),
    }
    return {
        "flow_entries": batch.frame(snapshot, rows, counts),
        "flow_snapshots": batch.frame({**snapshot, "flows": whole(counts, pl.UInt32)}),
    }


def device_events(batch: Batch) -> Frames:
    """One row per event."""
    values = batch.values
    own = {
        "device": text(value.device for value in values),
        "event": text(value.event for value in values),
        "severity": text(value.severity for value in values),
        "text": text(value.text for value in values),
        "values": json_text(value.values for value in values),
    }
    return {"device_events": batch.frame(own)}


def agent_health(batch: Batch) -> Frames:
    """One row per report."""
    values = batch.values
    own = {
        "agent": text(value.agent for value in values),
        "host": text(value.host for value in values),
        "covers": lists(value.covers for value in values),
        "state": text(value.state for value in values),
        "cpu_percent": real(value.cpu_percent for value in values),
        "rss_bytes": whole(value.rss_bytes for value in values),
        "send_lag_us": real(value.send_lag_us for value in values),
        "dropped": whole(value.dropped for value in values),
        "gids": json_text(value.gids for value in values),
        "plan_version": whole(value.plan_version for value in values),
        "watches": lists(value.watches or () for value in values),
    }
    return {"agent_health": batch.frame(own)}
