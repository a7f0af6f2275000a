"""What was really wrong? Injected faults and what the jobs did themselves, as ``truth.json`` has it."""

from __future__ import annotations

from collections.abc import Sequence

from skeletonhunter.testbed.effects import Injection
from skeletonhunter.testbed.jobs import MIGRATION_S, RESTART_S
from skeletonhunter.testbed.producers import Json
from skeletonhunter.testbed.world import World


def truth_of(world: World, injections: Sequence[Injection], touched: Sequence[int]) -> Json:
    """The truth of a simulation; ``touched[n]``: trains that met injection n."""
    faults, monitor = [], []
    for number, (injection, trains) in enumerate(zip(injections, touched, strict=True), start=1):
        entry = _entry(world, f"f{number}", injection, trains)
        if injection.kind == "monitor":
            monitor.append({"kind": injection.what, **entry})
        else:
            issue = injection.what if injection.kind == "network_fault" else None
            faults.append({"issue": issue, "kind": injection.kind, "probe_visible": injection.probe_visible, **entry})
    groups: Json = {}
    for job in world.jobs:
        for kind, lists in job.truth_groups().items():
            groups.setdefault(kind, []).extend(lists)
    edges = [edge for job in world.jobs for edge in job.truth_edges()]
    return {"faults": faults, "groups": groups, "edges": edges, "monitor_faults": monitor + transitions(world)}


def _entry(world: World, fault: str, injection: Injection, trains: int) -> Json:
    return {
        "fault": fault,
        "component": injection.component,
        "start_us": world.span.at(injection.when.first_s),
        "end_us": world.span.at(min(injection.when.last_s, world.span.seconds)),
        "endpoints": list(injection.endpoints),
        "touched_trains": trains,
        **injection.notes,
    }


def transitions(world: World) -> list[Json]:
    """What jobs do that is no fault and must raise no alarm: starting up, moving, growing, shrinking."""
    found = []
    for job in world.jobs:
        names = sorted(member.endpoint for member in job.members)
        if job.plan.phased:
            found.append(_transition(world, f"{job.name}-start", "target_not_ready", (0.0, job.plan.ready_s), names))
        for number, change in enumerate(job.plan.changes):
            span_s = (
                change.at_s,
                change.at_s + (MIGRATION_S + RESTART_S if change.what != "checkpoint" else change.lasts_s),
            )
            found.append(_transition(world, f"{job.name}-{change.what}-{number}", "skeleton_transition", span_s, names))
    return found


def _transition(world: World, fault: str, kind: str, span_s: tuple[float, float], endpoints: list[str]) -> Json:
    start_s, end_s = (min(second, float(world.span.seconds)) for second in span_s)
    return {
        "fault": fault,
        "kind": kind,
        "component": None,
        "start_us": world.span.at(start_s),
        "end_us": world.span.at(end_s),
        "endpoints": endpoints,
    }
