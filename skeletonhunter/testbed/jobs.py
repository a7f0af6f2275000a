"""What runs on the fabric? Jobs as they live: members in their seats, edges that change, phases between changes.

A phase is a time in which the job's members and edges stay the same; training goes on in it from ``trains_s`` on.
Edges are pairs of ranks, each once. Times are seconds of the recording.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from skeletonhunter.testbed.clos import RailSpec
from skeletonhunter.testbed.members import Life, Member, Seat, seat_container
from skeletonhunter.testbed.parallelism import Degrees, RankEdge, rank_edges, rank_groups
from skeletonhunter.testbed.scenario import JobChange, JobPlan, ScenarioError

RESTART_S = 20.0
MIGRATION_S = 25.0


@dataclass(frozen=True)
class Phase:
    """[from, to) with constant members; ``member_of[rank]`` = member number."""

    from_s: float
    trains_s: float
    to_s: float
    degrees: Degrees
    member_of: np.ndarray
    edges: tuple[RankEdge, ...]

    def member_edges(self) -> np.ndarray:
        """Edges as member numbers, shape (n, 2)."""
        ranks = np.array([(a, b) for a, b, _ in self.edges], dtype=int).reshape(-1, 2)
        pairs: np.ndarray = self.member_of[ranks]
        return pairs


@dataclass(frozen=True)
class Job:
    """A job with all members that it ever has. ``pauses``: checkpoints, in which nobody sends."""

    name: str
    tenant: str
    plan: JobPlan
    members: tuple[Member, ...]
    phases: tuple[Phase, ...]
    pauses: tuple[tuple[float, float], ...]
    ends_s: float
    _containers: dict[str, list[Member]] = field(default_factory=dict, repr=False)

    def phase_at(self, second: float) -> Phase:
        """The phase that holds at ``second`` (the last one after its end)."""
        return next((phase for phase in self.phases if second < phase.to_s), self.phases[-1])

    def containers(self) -> dict[str, list[Member]]:
        """Members by container, in order of rank."""
        if not self._containers:
            for member in self.members:
                self._containers.setdefault(member.container, []).append(member)
        return self._containers

    def _last_alive(self) -> Phase:
        return [phase for phase in self.phases if (phase.member_of >= 0).all()][-1]

    def truth_groups(self) -> dict[str, list[list[str]]]:
        """Endpoint groups of the last phase with members, by kind."""
        phase, names = self._last_alive(), {m.number: m.endpoint for m in self.members}
        kinds = ("dp", "pp", "ep", "position") if self.plan.kind in ("dense", "moe", "fsdp") else ()
        return {
            kind: [[names[int(phase.member_of[rank])] for rank in group] for group in rank_groups(phase.degrees, kind)]
            for kind in kinds
        }

    def truth_edges(self) -> list[list[str]]:
        """[a, b, kind] of the last phase with members, endpoints in ascending order."""
        phase, names = self._last_alive(), {m.number: m.endpoint for m in self.members}
        ends = [(names[int(phase.member_of[a])], names[int(phase.member_of[b])], kind) for a, b, kind in phase.edges]
        return sorted([min(a, b), max(a, b), kind] for a, b, kind in ends)


class Landlord:
    """Hands out seats of a fabric: whole slots of neighbouring rails, hosts in a drawn order."""

    def __init__(self, spec: RailSpec, rng: np.random.Generator) -> None:
        self.spec = spec
        self.order = [int(host) for host in rng.permutation(len(spec.hosts))]
        self.taken: dict[int, int] = {}

    def take(self, rails: int, not_on: int | None = None) -> Seat:
        """A free seat of ``rails`` rails.

        Raises:
            ScenarioError: there is none.
        """
        for host in self.order:
            first = self.taken.get(host, 0)
            if host != not_on and first + rails <= self.spec.rails:
                self.taken[host] = first + rails
                return Seat(host, first)
        raise ScenarioError(f"the fabric has no free seat for another container of {rails} RNICs, give it more hosts")


class JobBuilder:
    """Builds one job; ``first`` is the number of its first member."""

    def __init__(self, number: int, plan: JobPlan, landlord: Landlord, first: int, rng: np.random.Generator) -> None:
        self.number, self.plan, self.landlord, self.rng = number, plan, landlord, rng
        self.first = first
        self.members: list[Member] = []
        self.seats: dict[str, Seat] = {}

    def build(self, seconds: int) -> Job:
        """The job over the whole recording."""
        plan = self.plan
        degrees = Degrees(plan.tp, plan.pp, plan.dp, plan.ep)
        ready = self._ready_times(degrees.ranks // plan.tp)
        for block in range(degrees.ranks // plan.tp):
            self._seat(block, Life(ready_s=ready[block]) if plan.phased else Life())
        starts = max(ready) if plan.phased else -float(self.rng.uniform(0.0, plan.period_s))
        phases = self._phases(degrees, starts, seconds)
        ends = next((change.at_s for change in plan.changes if change.what == "end"), inf)
        pauses = [(c.at_s, c.at_s + c.lasts_s) for c in plan.changes if c.what == "checkpoint"]
        name, tenant = f"job-{self.rng.integers(16**4):04x}", f"tenant-{self.rng.integers(1, 100)}"
        return Job(name, tenant, plan, tuple(self.members), tuple(phases), tuple(pauses), ends)

    def _ready_times(self, containers: int) -> list[float]:
        """Three waves, as a fleet starts: a fifth at once, most a little later, the rest at ``ready_s``."""
        if not self.plan.phased:
            return [-inf] * containers
        waves = self.rng.choice([0.02, 0.35, 1.0], containers, p=[0.2, 0.6, 0.2])
        jitter = self.rng.uniform(0.0, 0.1, containers)
        return [float(wave * (1.0 - extra)) * self.plan.ready_s for wave, extra in zip(waves, jitter, strict=True)]

    def _seat(self, block: int, life: Life, not_on: int | None = None) -> None:
        tp = self.plan.tp
        container = f"c-{self.number}{self.rng.integers(16**3):03x}-{len(self.seats):03d}"
        seat = self.landlord.take(tp, not_on)
        self.seats[container] = seat
        ranks = range(block * tp, (block + 1) * tp)
        numbers = (self.first + len(self.members), self.number)
        self.members += seat_container(container, ranks, seat, self.landlord.spec, numbers, life)

    def _phases(self, degrees: Degrees, starts: float, seconds: int) -> list[Phase]:
        from_s, trains_s, phases = -inf, starts, []
        for change in sorted(self.plan.changes, key=lambda change: change.at_s):
            if change.what == "checkpoint":
                continue
            phases.append(self._phase(from_s, trains_s, change.at_s, degrees))
            degrees, wait_s = self._apply(change, degrees)
            from_s, trains_s = change.at_s, change.at_s + wait_s
        phases.append(self._phase(from_s, trains_s, max(float(seconds), from_s), degrees))
        return phases

    def _apply(self, change: JobChange, degrees: Degrees) -> tuple[Degrees, float]:
        """Changes members; gives the new degrees and how long nothing is trained."""
        if change.what == "end":
            self._retire({member.container for member in self.members}, change.at_s)
            return degrees, inf
        if change.what == "migrate":
            old = str(self.rng.choice(sorted({m.container for m in self.members if m.gone_s == inf})))
            block = next(m.rank for m in self.members if m.container == old) // self.plan.tp
            self._retire({old}, change.at_s)
            ready = change.at_s + MIGRATION_S
            self._seat(block, Life(change.at_s, ready), not_on=self.seats[old].host)
            return degrees, MIGRATION_S + RESTART_S
        grown = Degrees(degrees.tp, degrees.pp, change.dp or degrees.dp, degrees.ep)
        for block in range(degrees.ranks // degrees.tp, grown.ranks // grown.tp):
            self._seat(block, Life(change.at_s, change.at_s + MIGRATION_S))
        leaving = {m.container for m in self.members if m.rank >= grown.ranks and m.gone_s == inf}
        self._retire(leaving, change.at_s)
        return grown, MIGRATION_S + RESTART_S

    def _retire(self, containers: set[str], at_s: float) -> None:
        self.members = [
            replace(member, gone_s=at_s) if member.container in containers and member.gone_s == inf else member
            for member in self.members
        ]

    def _phase(self, from_s: float, trains_s: float, to_s: float, degrees: Degrees) -> Phase:
        member_of = np.full(degrees.ranks, -1)
        for member in self.members:
            if member.rank < degrees.ranks and member.gone_s > from_s:
                member_of[member.rank] = member.number
        seated = [e for e in self._edges(degrees) if member_of[e[0]] >= 0 and member_of[e[1]] >= 0]
        return Phase(from_s, trains_s, to_s, degrees, member_of, tuple(seated))

    def _edges(self, degrees: Degrees) -> list[RankEdge]:
        if self.plan.kind in ("dense", "moe", "fsdp"):
            return rank_edges(degrees)
        return drawn_edges(self.plan.kind, degrees, self.rng)


def drawn_edges(kind: str, degrees: Degrees, rng: np.random.Generator) -> list[RankEdge]:
    """Edges of jobs without a fixed pattern: serving (prefill to decode), or pairs that a person tries by hand."""
    blocks, tp = degrees.ranks // degrees.tp, degrees.tp
    if kind == "serving":
        prefill = max(1, blocks // 3)
        pairs = [
            (a, b) for a in range(prefill) for b in range(prefill, blocks) if a == b % prefill or rng.random() < 0.5
        ]
        return sorted((a * tp + t, b * tp + t, "pp") for a, b in pairs for t in range(tp))
    count = max(1, min(6, blocks * (blocks - 1) // 2))
    found: set[RankEdge] = set()
    while len(found) < count:
        a, b = sorted(int(x) for x in rng.choice(degrees.ranks, 2, replace=False))
        if a // tp != b // tp:
            found.add((a, b, "dp"))
    return sorted(found)
