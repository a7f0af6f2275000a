"""How many bytes did each RNIC send by each instant? Training steps as bursts, and counters as their integral.

A step is a cycle as in the paper's Figure 7: the all-reduce among data-parallel peers (3-4 s at 13-15 Gb/s), a pause
(37 % of the period), then micro-batches passing between pipeline stages until the next step (1-3 Gb/s on average).
Earlier stages burst first, by ``stage_shift_s``. Members of one collective send and receive in the same interval.

Units: seconds from the start of the recording, bytes. Cost: O(bursts log bursts) per endpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skeletonhunter.testbed.jobs import DenseJob

GBPS = 1e9 / 8
LINE_RATE = 200 * GBPS
TX, RX = 0, 1


@dataclass(frozen=True)
class StepShape:
    """One training step. ``micro_batches`` pass forward and backward between adjacent stages."""

    period_s: float = 20.0
    jitter_s: float = 0.15
    stage_shift_s: float = 0.4
    reduce_share: float = 0.15
    idle_share: float = 0.37
    reduce_gbps: float = 14.0
    ripple_gbps: float = 2.0
    micro_batches: int = 12


@dataclass(frozen=True)
class Bursts:
    """Transfers of one endpoint in order of start: seconds, bytes, direction (0 = tx, 1 = rx)."""

    start_s: np.ndarray
    end_s: np.ndarray
    bytes: np.ndarray
    direction: np.ndarray


def step_starts(shape: StepShape, spans: Sequence[tuple[float, float]], rng: np.random.Generator) -> list[float]:
    """Starts of steps within each span [start, end) in which the job runs."""
    starts = []
    for begin, end in spans:
        at = begin
        while at < end:
            starts.append(at)
            at += shape.period_s + float(rng.normal(0.0, shape.jitter_s))
    return starts


def job_bursts(
    job: DenseJob, shape: StepShape, starts: Sequence[float], stop_s: Sequence[float], rng: np.random.Generator
) -> list[Bursts]:
    """Bursts of every endpoint, by rank. A transfer that would end after ``stop_s`` of its step did not happen."""
    rows: list[list[tuple[float, float, float, int]]] = [[] for _ in job.placed]
    for start, stop in zip(starts, stop_s, strict=True):
        plan = _StepPlan(job, shape, start, rng)
        for transfers in (plan.reduce(), plan.ripple()):
            for rank, begin, end, size, direction in transfers:
                if end <= stop:
                    rows[rank].append((begin, end, size, direction))
    return [_columns(sorted(row)) for row in rows]


class _StepPlan:
    """The transfers of one step, as (rank, start, end, bytes, direction)."""

    def __init__(self, job: DenseJob, shape: StepShape, start: float, rng: np.random.Generator) -> None:
        self.job, self.shape, self.start, self.rng = job, shape, start, rng
        self.jitter = rng.normal(0.0, 0.0008, len(job.placed))

    def reduce(self) -> list[tuple[int, float, float, float, int]]:
        transfers = []
        length = self.shape.reduce_share * self.shape.period_s
        size = self.shape.reduce_gbps * GBPS * length * float(self.rng.normal(1.0, 0.03))
        for p in self.job.placed:
            begin = self.start + p.pp * self.shape.stage_shift_s + float(self.jitter[p.rank])
            transfers += [(p.rank, begin, begin + length, size, direction) for direction in (TX, RX)]
        return transfers

    def ripple(self) -> list[tuple[int, float, float, float, int]]:
        shape, job = self.shape, self.job
        begin = self.start + (shape.reduce_share + shape.idle_share) * shape.period_s
        room = shape.period_s * (1.0 - shape.reduce_share - shape.idle_share) - 0.5
        beat = room / (shape.micro_batches + job.pp)
        size = shape.ripple_gbps * GBPS * beat
        transfers = []
        by_place = {(p.dp, p.pp, p.rail): p.rank for p in job.placed}
        for (dp, stage, rail), rank in by_place.items():
            if stage + 1 == job.pp:
                continue
            above = by_place[dp, stage + 1, rail]
            for batch in range(shape.micro_batches):
                at = begin + (batch + stage) * beat + float(self.jitter[rank])
                back = at + 0.5 * beat
                length = size / (0.8 * LINE_RATE)
                transfers += [(rank, at, at + length, size, TX), (above, at, at + length, size, RX)]
                transfers += [(above, back, back + length, size, TX), (rank, back, back + length, size, RX)]
        return transfers


def _columns(rows: list[tuple[float, float, float, int]]) -> Bursts:
    table = np.array(rows, dtype=float).reshape(-1, 4)
    return Bursts(table[:, 0], table[:, 1], np.round(table[:, 2]), table[:, 3].astype(int))


def cumulative_bytes(bursts: Bursts, direction: int, at_s: np.ndarray) -> np.ndarray:
    """Bytes moved in ``direction`` before each instant of ``at_s`` (ascending); bursts are even over their time."""
    mine = bursts.direction == direction
    start, end, size = bursts.start_s[mine], bursts.end_s[mine], bursts.bytes[mine]
    if not len(size):
        return np.zeros(len(at_s))
    knots = np.concatenate([start, end])
    slopes = np.concatenate([size / (end - start), -size / (end - start)])
    order = np.argsort(knots, kind="stable")
    knots, rate = knots[order], np.cumsum(slopes[order])
    total = np.concatenate([[0.0], np.cumsum(rate[:-1] * np.diff(knots))])
    moved: np.ndarray = np.interp(at_s, knots, total)
    return moved
