"""Rows of what exists and what is made of it: endpoint and fabric maps, skeletons, probe plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from schemas.maps import Parallelism
from schemas.probing import ProbePlan
from skeletonhunter.sinks.columns import Batch, Columns, flags, json_or_null, json_text, lists, real, text, whole

Frames = dict[str, pl.DataFrame]


def endpoint_map(batch: Batch) -> Frames:
    """One row per endpoint and version, and one per version, so that an empty map is seen to be empty."""
    values = batch.values
    endpoints = [endpoint for value in values for endpoint in value.endpoints]
    counts = [len(value.endpoints) for value in values]
    version = {
        "version": whole(value.version for value in values),
        "state": text(value.state for value in values),
        "reason": text(value.reason for value in values),
    }
    rows = {name: text([getattr(endpoint, name) for endpoint in endpoints]) for name in _ENDPOINT_NAMES}
    rows["rail"] = whole([endpoint.rail for endpoint in endpoints])
    rows["rank"] = whole([endpoint.rank for endpoint in endpoints])
    rows["withheld"] = text([endpoint.withheld for endpoint in endpoints])
    rows["endpoint_state"] = text([endpoint.state for endpoint in endpoints])
    whole_map = {
        "endpoints": whole(counts, pl.UInt32),
        "groups": json_text(value.groups for value in values),
        **_degrees([value.parallelism for value in values]),
    }
    return {"endpoint_map": batch.frame(version, rows, counts), "job_states": batch.frame({**version, **whole_map})}


def fabric_map(batch: Batch) -> Frames:
    """One row per node and one per link, of each version."""
    values = batch.values
    version = {"version": whole(value.version for value in values)}
    nodes = [node for value in values for node in value.nodes]
    links = [link for value in values for link in value.links]
    node_rows = {
        "node": text([node.id for node in nodes]),
        "kind": text([node.kind for node in nodes]),
        "addresses": json_or_null(node.addresses for node in nodes),
    }
    link_rows = {
        "link": text([link.id for link in links]),
        "a": text([link.a for link in links]),
        "b": text([link.b for link in links]),
    }
    ecmp = {"ecmp": json_text(value.ecmp for value in values)}
    return {
        "fabric_nodes": batch.frame(version, node_rows, [len(value.nodes) for value in values]),
        "fabric_links": batch.frame({**version, **ecmp}, link_rows, [len(value.links) for value in values]),
    }


def skeleton_updates(batch: Batch) -> Frames:
    """One row per version, and one per edge of it."""
    values = batch.values
    counts = [len(value.edges) for value in values]
    edges = [edge for value in values for edge in value.edges]
    version = {
        "skeleton": text(value.skeleton for value in values),
        "version": whole(value.version for value in values),
    }
    own = {
        "supersedes": whole(value.supersedes for value in values),
        "endpoint_map_version": whole(value.endpoint_map_version for value in values),
        "state": text(value.state for value in values),
        "confidence": real(value.confidence for value in values),
        "coverage": real(value.coverage for value in values),
        "period_s": real(value.period_s for value in values),
        "edges": whole(counts, pl.UInt32),
        "groups": json_text(value.groups for value in values),
        "reason": text(value.reason for value in values),
        "evidence": json_text(value.evidence for value in values),
        **_degrees([value.parallelism for value in values]),
    }
    rows = {name: text([edge[place] for edge in edges]) for place, name in enumerate(("a", "b", "kind"))}
    return {
        "skeletons": batch.frame({**version, **own}),
        "skeleton_edges": batch.frame(version, rows, counts),
    }


def probe_plans(batch: Batch) -> Frames:
    """One row per plan; its probes and exclusions as lists."""
    values = batch.values
    probes = [[(slot, *probe) for slot, probes in enumerate(value.slots) for probe in probes] for value in values]
    own = {
        "plan": text(value.plan for value in values),
        "version": whole(value.version for value in values),
        "skeleton_version": whole(value.skeleton_version for value in values),
        "mode": text(value.mode for value in values),
        "budget_round_s": real(value.budget.round_s for value in values),
        "budget_pps_per_rnic": real(value.budget.pps_per_rnic for value in values),
        "budget_targets_per_rnic": whole((value.budget.targets_per_rnic for value in values), pl.Int64),
        "round_s": real(value.expected.round_s for value in values),
        "probes": whole(value.expected.probes for value in values),
        "lower_bound_s": real(value.expected.lower_bound_s for value in values),
        "link_coverage": real(value.expected.link_coverage for value in values),
        "slots": whole((len(value.slots) for value in values), pl.UInt32),
        "probe.slot": _part(probes, 0, pl.UInt32),
        "probe.src": _part(probes, 1, pl.String),
        "probe.dst": _part(probes, 2, pl.String),
        "probe.sport": _part(probes, 3, pl.Int64),
        "excluded.endpoint": lists([each.endpoint for each in value.excluded] for value in values),
        "excluded.why": lists([each.why for each in value.excluded] for value in values),
        **_how_to_probe(values),
    }
    return {"probe_plans": batch.frame(own)}


def _how_to_probe(values: Sequence[ProbePlan]) -> Columns:
    return {
        "probes_per_slot": whole(value.probes_per_slot for value in values),
        "alternate": flags(value.alternate for value in values),
        "jitter_s": real(value.jitter_s for value in values),
        "turns": json_or_null(value.turns for value in values),
        "coverage": json_or_null(value.coverage for value in values),
        "left_out_count": whole(value.left_out_count for value in values),
        "left_out": json_or_null(value.left_out for value in values),
        "extra": json_or_null(value.extra for value in values),
        "suspects": lists(value.suspects for value in values),
    }


_ENDPOINT_NAMES = ("endpoint", "container", "host", "rnic", "vif", "ip", "gid", "switch_port")


def _degrees(estimates: Sequence[Parallelism | None]) -> Columns:
    """Degrees of parallelism, null where nothing is said."""
    return {
        name: whole(None if each is None else getattr(each, name) for each in estimates)
        for name in ("tp", "pp", "dp", "ep")
    }


def _part(rows: Sequence[Sequence[tuple[Any, ...]]], place: int, dtype: type[pl.DataType]) -> pl.Series:
    return lists(([item[place] for item in row] for row in rows), dtype)
