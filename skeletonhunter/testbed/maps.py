"""What do scheduler and topology adapter say? Fabric map, endpoint maps at each change, steps as they finish."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from skeletonhunter.testbed.activity import JobActivity
from skeletonhunter.testbed.effects import Crash, Effects
from skeletonhunter.testbed.fabric import ROCE_PORT
from skeletonhunter.testbed.jobs import Job
from skeletonhunter.testbed.members import Member, State, endpoint_row
from skeletonhunter.testbed.producers import Json, Line, Registry
from skeletonhunter.testbed.world import World

GROUPING_S = 1.0
"""The scheduler gathers changes for so long."""


def fabric_lines(world: World, registry: Registry) -> list[Line]:
    """The fabric map, at the beginning."""
    fabric = world.fabric
    ecmp: Json = {"method": "traced"}
    if world.scenario.fabric.paths == "hash":
        rule = f"<src ip>|<dst ip>|17|<sport>|{ROCE_PORT}|<salt>"
        ecmp = {"method": "hash", "function": "crc32", "input": rule, "salt": fabric.salt, "symmetric": False}
    body = {
        "version": 1,
        "nodes": [{"id": node.id, "kind": node.kind} for node in fabric.nodes],
        "links": [msgspec.to_builtins(link) for link in fabric.links],
        "ecmp": ecmp,
    }
    return registry.stream("fabric-map", "topology", "topology-adapter", job={}).send(0.0, body)


class EndpointMaps:
    """``endpoint-map`` of every job: one message per change."""

    def __init__(self, world: World, effects: Effects, registry: Registry) -> None:
        self.world, self.effects, self.registry = world, effects, registry
        self.versions = {job.name: 0 for job in world.jobs}
        self.changes = {job.name: _changes(job, effects.crashes, world.span.seconds) for job in world.jobs}

    def second(self, second: int) -> list[Line]:
        """Maps that are published in (second - 1, second]; at second 0 the first ones."""
        lines: list[Line] = []
        for job in self.world.jobs:
            for at_s in self.changes[job.name]:
                if second - 1 < at_s <= second or (second == 0 and at_s == 0.0):
                    lines += self._send(job, at_s)
        return lines

    def _send(self, job: Job, at_s: float) -> list[Line]:
        self.versions[job.name] += 1
        states = [(member, self._state(member, at_s)) for member in job.members if member.created_s <= at_s]
        rows = [self._row(job, member, state) for member, state in states]
        if not job.plan.reveal_ranks:
            rng = np.random.default_rng([self.world.scenario.seed, self.versions[job.name]])
            rows = [rows[n] for n in rng.permutation(len(rows)).tolist()]
        state, reason = _job_state(job, at_s, [state for _, state in states])
        stream = self.registry.stream(
            "endpoint-map", "scheduler", "scheduler-adapter", part=job.name, job={"job": job.name, "tenant": job.tenant}
        )
        body = {"version": self.versions[job.name], "state": state, "reason": reason, "endpoints": rows}
        return stream.send(at_s, body)

    def _state(self, member: Member, at_s: float) -> State:
        for crash in self.effects.crashes:
            if crash.container == member.container and crash.known_s <= at_s < crash.back_s:
                return "gone"
        return member.state_at(at_s)

    def _row(self, job: Job, member: Member, state: State) -> Json:
        row = endpoint_row(member, state)
        return row if job.plan.reveal_ranks else {**row, "rank": None}


def _changes(job: Job, crashes: Sequence[Crash], seconds: int) -> list[float]:
    """When the scheduler publishes a map: at once, and soon after changes."""
    own = job.containers()
    times = {t for member in job.members for t in (member.created_s, member.ready_s, member.gone_s)}
    times |= {t for crash in crashes if crash.container in own for t in (crash.known_s, crash.back_s)}
    times |= {phase.trains_s for phase in job.phases}
    later = {float(np.ceil(t / GROUPING_S)) * GROUPING_S for t in times if 0.0 < t < seconds}
    return [0.0, *sorted(later)]


def _job_state(job: Job, at_s: float, states: list[State]) -> tuple[str, str]:
    if at_s >= job.ends_s or all(state == "gone" for state in states):
        return "ended", "job ended"
    if at_s < job.phases[0].trains_s:
        return "starting", f"{states.count('ready')} of {len(states)} endpoints are ready"
    return "running", "job running"


def progress_lines(registry: Registry, activities: Sequence[JobActivity], second: int) -> list[Line]:
    """``job-progress`` of the steps that ended in (second - 1, second]."""
    lines: list[Line] = []
    for activity in activities:
        job = activity.job
        for step in activity.steps:
            if step.finished and second - 1 < step.end_s <= second and step.end_s > 0.0:
                stream = registry.stream(
                    "job-progress", f"trainer-{job.name}", "trainer", job={"job": job.name, "tenant": job.tenant}
                )
                body = {"step": 1_000 + step.number, "step_s": round(step.end_s - step.start_s, 4)}
                lines += stream.send(step.end_s, body)
    return lines
