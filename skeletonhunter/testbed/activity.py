"""What did each job do? Its steps and transfers over the recording, as the network let it.

The pace of a job is that of its worst pair: impairments are evaluated on the job's own flows, on the grid of ``steps``.
Jobs without steps (serving, debugging) transfer when requests or people want it. Times are seconds, rates bytes/s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from skeletonhunter.testbed.effects import Effects
from skeletonhunter.testbed.jobs import Job, Phase
from skeletonhunter.testbed.physics import Impairment
from skeletonhunter.testbed.steps import GRID_S, Rhythm, Step, hang, pace_of, schedule
from skeletonhunter.testbed.traffic import (
    NO_BURSTS,
    OTHER,
    RX,
    TX,
    Bursts,
    StepShape,
    curve,
    join,
    step_bursts,
)
from skeletonhunter.testbed.world import World

REQUESTS_PER_S = 0.8


@dataclass(frozen=True)
class JobActivity:
    """Steps, and transfers in order of member and start (``Bursts.rank`` holds member numbers here)."""

    job: Job
    steps: tuple[Step, ...]
    bursts: Bursts
    pace: np.ndarray
    _curves: dict[tuple[int, int], tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, repr=False)

    def of(self, member: int) -> Bursts:
        """The transfers of one member."""
        low, high = np.searchsorted(self.bursts.rank, [member, member + 1])
        return self.bursts.where(np.arange(low, high))

    def bytes_until(self, member: int, direction: int, at_s: np.ndarray) -> np.ndarray:
        """Bytes that a member sent (or received) before each instant."""
        key = (member, direction)
        if key not in self._curves:
            mine = self.of(member)
            way = mine.direction == direction
            self._curves[key] = curve(mine.start_s[way], mine.end_s[way], mine.bytes[way])
        moved: np.ndarray = np.interp(at_s, *self._curves[key])
        return moved


def run_job(world: World, job: Job, effects: Effects, rng: np.random.Generator) -> JobActivity:
    """The whole activity of a job."""
    pace = job_pace(world, job, effects.impairments)
    for start, end in job.pauses:
        pace[round(start / GRID_S) : round(end / GRID_S)] = np.minimum(
            pace[round(start / GRID_S) : round(end / GRID_S)], 0.02
        )
    if job.plan.kind in ("serving", "debugging"):
        return JobActivity(job, (), _by_member(_by_hand(world, job, pace, rng)), pace)
    rhythm = Rhythm(job.plan.period_s + job.plan.straggler_s, job.plan.spread)
    held = hang(pace, rhythm.restart_s)
    shape = step_shape(job, rng)
    steps: list[Step] = []
    parts: list[tuple[Phase, Bursts]] = []
    for phase in job.phases:
        end_s = min(phase.to_s, float(world.span.seconds), job.ends_s)
        if phase.trains_s >= end_s:
            continue
        mine = schedule(rhythm, (phase.trains_s, end_s), held, rng, first=len(steps))
        cut = [step for step in mine if step.start_s < end_s]
        bursts = [step_bursts(phase.degrees, shape, step, rng) for step in cut]
        whole = join(bursts)
        parts.append((phase, whole.where(whole.end_s <= end_s)))
        steps += [step for step in cut if step.end_s <= end_s]
    return JobActivity(job, tuple(steps), _by_member(parts), held)


def job_pace(world: World, job: Job, impairments: Sequence[Impairment]) -> np.ndarray:
    """Pace on the grid: what the worst of the job's flows suffers at each time."""
    grid = np.arange(round(world.span.seconds / GRID_S)) * GRID_S
    drop, delay = np.zeros(len(grid)), np.zeros(len(grid))
    own = {member.number for member in job.members}
    for impairment in impairments:
        at = min(max(impairment.when.first_s, 0.0), world.span.seconds - 1.0)
        trains = world.edge_trains(at)
        mine = np.isin(trains.src, sorted(own))
        if not len(trains.src) or not (impairment.where.crossings(trains, world.paths)[mine] > 0).any():
            continue
        share = impairment.when.share(grid, GRID_S)
        drop = np.maximum(drop, share * impairment.drop)
        delay = np.maximum(delay, share * impairment.delay_us)
    return pace_of(drop, delay)


def step_shape(job: Job, rng: np.random.Generator) -> StepShape:
    """How a step of this job looks: drawn once per job."""
    plan = job.plan
    shift = plan.stage_shift_s
    if shift is None:
        shift = float(rng.choice([1.0, -1.0])) * float(rng.uniform(0.1, 0.6))
    shift = float(np.clip(shift, -0.3 * plan.period_s / plan.pp, 0.3 * plan.period_s / plan.pp))
    reduce, gather, idle = float(rng.uniform(0.05, 0.14)), float(rng.choice([0.0, 0.03])), float(rng.uniform(0.2, 0.4))
    slow = int(rng.integers(plan.dp * plan.pp * plan.ep))
    beats = plan.period_s * (1.0 - reduce - gather - idle) / float(rng.uniform(0.4, 1.3))
    return StepShape(
        stage_shift_s=shift,
        reduce_share=reduce,
        gather_share=gather,
        idle_share=idle,
        reduce_gbps=float(rng.uniform(12.0, 40.0)),
        ripple_gbps=float(rng.uniform(1.0, 3.0)),
        micro_batches=int(np.clip(beats - plan.pp, 4, 48)),
        layers=8 if plan.kind == "fsdp" else 0,
        late=frozenset(range(slow * plan.tp, (slow + 1) * plan.tp)) if plan.straggler_s else frozenset(),
        late_s=plan.straggler_s,
    )


def _by_hand(world: World, job: Job, pace: np.ndarray, rng: np.random.Generator) -> list[tuple[Phase, Bursts]]:
    """Requests between prefill and decode, or experiments of a person: bursts on drawn edges at drawn times."""
    parts = []
    for phase in job.phases:
        begin, end = max(0.0, phase.trains_s), min(phase.to_s, float(world.span.seconds), job.ends_s)
        if not phase.edges or begin >= end:
            continue
        serving = job.plan.kind == "serving"
        rate = REQUESTS_PER_S * len(phase.edges) / 4 if serving else 0.1
        at = np.sort(rng.uniform(begin, end, int(rng.poisson(rate * (end - begin)))))
        at = at[pace[np.minimum((at / GRID_S).astype(int), len(pace) - 1)] > 0.1]
        edge = rng.integers(0, len(phase.edges), len(at))
        pairs = np.array([(a, b) for a, b, _ in phase.edges])[edge]
        length = rng.lognormal(np.log(0.01 if serving else 2.0), 1.0, len(at))
        size = length * rng.uniform(5e9, 2e10, len(at))
        parts.append(
            (phase, join([_one_way(pairs[:, 0], at, length, size, TX), _one_way(pairs[:, 1], at, length, size, RX)]))
        )
    return parts


def _one_way(rank: np.ndarray, at: np.ndarray, length: np.ndarray, size: np.ndarray, way: int) -> Bursts:
    count = len(at)
    return Bursts(rank, at, at + length, np.round(size), np.full(count, way), np.full(count, OTHER))


def _by_member(parts: list[tuple[Phase, Bursts]]) -> Bursts:
    """Ranks become member numbers."""
    moved = [Bursts(phase.member_of[bursts.rank], *bursts.columns()[1:]) for phase, bursts in parts if len(bursts.rank)]
    return join(moved) if moved else NO_BURSTS


class HopLoads:
    """Bytes per second that the jobs put on hops, on demand."""

    def __init__(self, world: World, activities: Sequence[JobActivity]) -> None:
        self.world, self.activities = world, activities

    def on(self, hop: int) -> np.ndarray:
        """Bytes in each second over a hop; flows share their source's bytes evenly."""
        seconds = np.arange(self.world.span.seconds + 1, dtype=float)
        load = np.zeros(self.world.span.seconds)
        for second in sorted({max(phase.from_s, 0.0) for a in self.activities for phase in a.job.phases}):
            trains = self.world.edge_trains(second)
            crossing = (self.world.paths.there[trains.path] == hop).any(axis=1)
            later = [p.from_s for a in self.activities for p in a.job.phases if p.from_s > second]
            window = slice(int(second), int(min([*later, self.world.span.seconds])))
            for src in trains.src[crossing].tolist():
                fan_out = int((trains.src == src).sum())
                load[window] += self._sent(src, seconds)[window] / fan_out
        return load

    def _sent(self, member: int, seconds: np.ndarray) -> np.ndarray:
        job = self.world.job_of[member]
        activity = next(a for a in self.activities if a.job is job)
        sent: np.ndarray = np.diff(activity.bytes_until(member, TX, seconds))
        return sent
