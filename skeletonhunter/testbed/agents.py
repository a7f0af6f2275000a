"""Who is awake, and what does each agent know? Sidecars in containers, one agent per host, their health.

A probing sidecar lives in its container (agent id = container), the host agent reads counters and tables (agent id =
host), a collector reads the switches. An agent takes a new plan over some tenths of a second after it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from skeletonhunter.testbed.effects import AgentState, Effects
from skeletonhunter.testbed.intervals import Intervals
from skeletonhunter.testbed.members import Member, gid_of
from skeletonhunter.testbed.plans import Plan
from skeletonhunter.testbed.producers import Json, Line, Registry
from skeletonhunter.testbed.world import World

HEALTH_S = 5
COLLECTOR = "switch-collector"


@dataclass
class Sidecars:
    """The probing agents: which plan each follows, and since when."""

    world: World
    effects: Effects
    rng: np.random.Generator
    plans: list[Plan] = field(default_factory=list)
    adopted_s: list[np.ndarray] = field(default_factory=list)
    """Per plan: when each member's agent takes it over; infinite for members of other jobs."""

    def receive(self, plan: Plan, second: float) -> None:
        """A plan is published; every agent of its job takes it over a little later."""
        delays = self.rng.lognormal(np.log(0.3), 0.6, len(self.world.members))
        when = np.full(len(self.world.members), np.inf)
        for member in self.world.members:
            if self.world.job_of[member.number].name == plan.job:
                first = min(
                    m.number for m in self.world.job_of[member.number].members if m.container == member.container
                )
                when[member.number] = second + delays[first]
        self.plans.append(plan)
        self.adopted_s.append(when)

    def following(self, plan_index: int, second: float) -> np.ndarray:
        """Per member, whether its agent follows this plan at ``second`` and no newer one."""
        follows = self.adopted_s[plan_index] <= second
        for newer in self.adopted_s[plan_index + 1 :]:
            follows &= ~(newer <= second)
        return follows

    def retire(self, second: float) -> None:
        """Forgets plans that nobody follows any more."""
        keep = [n for n in range(len(self.plans)) if self.following(n, second).any() or n == len(self.plans) - 1]
        keep = [n for n in range(len(self.plans)) if n in keep or (self.adopted_s[n] > second).any()]
        keep = [n for n in keep if not self._superseded(n, second)]
        self.plans, self.adopted_s = [self.plans[n] for n in keep], [self.adopted_s[n] for n in keep]

    def _superseded(self, plan_index: int, second: float) -> bool:
        mine = np.isfinite(self.adopted_s[plan_index])
        return any((newer[mine] <= second).all() for newer in self.adopted_s[plan_index + 1 :])

    def silent(self, second: float) -> np.ndarray:
        """Per member, whether its sidecar is dead at ``second`` (crashed, or its container is)."""
        dead = {
            s.agent for s in self.effects.silences if s.topic is None and s.late_s is None and _holds(s.when, second)
        }
        dead |= {crash.container for crash in self.effects.crashes if crash.from_s <= second < crash.back_s}
        mask = np.zeros(len(self.world.members), dtype=bool)
        if dead:
            mask[[m.number for m in self.world.members if m.container in dead]] = True
        return mask

    def states(self, second: float) -> list[tuple[AgentState, np.ndarray]]:
        """Agents that are not well at ``second``, each with the mask of the members it covers."""
        ill = [state for state in self.effects.agents if _holds(state.when, second)]
        members = self.world.members
        return [(state, np.array([member.container == state.agent for member in members])) for state in ill]


def _holds(when: Intervals, second: float) -> bool:
    return bool(when.holds(np.array([second]))[0])


def health_lines(world: World, effects: Effects, registry: Registry, second: int, plan_version: int) -> list[Line]:
    """``agent-health`` of all agents whose turn it is; each has its own phase within ``HEALTH_S``."""
    lines: list[Line] = []
    for number, (container, members) in enumerate(_containers(world)):
        if (second + number) % HEALTH_S == 0 and members[0].created_s <= second < members[0].gone_s:
            if any(c.container == container and c.from_s <= second < c.back_s for c in effects.crashes):
                continue
            stream = registry.stream("agent-health", container, "probing-agent", machine=members[0].host, job={})
            body = _health(world, effects, container, members, second) | {"plan_version": plan_version}
            lines += stream.send(second, body)
    for number, host in enumerate([*world.hosts, COLLECTOR]):
        if (second + number) % HEALTH_S == 0:
            kind = "switch-collector" if host == COLLECTOR else "host-agent"
            stream = registry.stream("agent-health", host, kind, job={})
            body = _health(world, effects, host, [], second) | {"host": host, "plan_version": None}
            if host != COLLECTOR:
                body["watches"] = _watched(world, effects, host, second)
            lines += stream.send(second, body)
    return lines


def _containers(world: World) -> list[tuple[str, list[Member]]]:
    return [item for job in world.jobs for item in job.containers().items()]


def _watched(world: World, effects: Effects, host: str, second: int) -> list[str]:
    """The cards that a host's agent can read: it would report their troubles, though such reports get lost."""
    unread = {n for numbers, when in effects.unreadable if _holds(when, second) for n in numbers}
    return sorted({f"rnic:{member.node}" for member in world.on_host(host) if member.number not in unread})


def _health(world: World, effects: Effects, agent: str, members: Sequence[Member], second: int) -> Json:
    rng = np.random.default_rng([world.scenario.seed, second, *agent.encode()])
    ill = next((s for s in effects.agents if s.agent == agent and _holds(s.when, second)), None)
    gids = {member.endpoint: gid_of(member.ip) for member in members}
    for number, when, gid in effects.gids:
        for member in members:
            if member.number == number and _holds(when, second):
                gids[member.endpoint] = gid
    lag = 1e6 * rng.uniform(0.3, 3.0) if ill else rng.lognormal(np.log(12_000.0), 0.6)
    return {
        "agent": agent,
        "host": members[0].host if members else agent,
        "covers": [member.endpoint for member in members],
        "state": ill.state if ill else "ok",
        "cpu_percent": round(float(rng.uniform(0.1, 0.4) if ill else max(0.3, rng.normal(1.0, 0.1))), 2),
        "rss_bytes": int(rng.integers(34_000_000, 37_000_000)),
        "send_lag_us": round(float(lag), 1),
        "dropped": int(ill.not_sent * 50) if ill else 0,
        "gids": gids,
    }
