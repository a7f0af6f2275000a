"""How many bytes did each rank send when? The bursts of training steps, and counters as their integral.

A step of a pipelined job (the paper's Figure 7): the gradients' reduction among data-parallel peers at 13-15 Gb/s, a
pause, then micro-batches passing forward and backward between stages at 1-3 Gb/s on average until the next step. With
sharded optimizers a second, shorter burst (gather) follows the first. Stages reduce one after the other, by
``stage_shift_s`` (negative: later stages first, as a 1F1B schedule ends). Without stages (``layers`` > 0) the
step is a train of gathers, one per layer and direction. Members of one collective send and receive in the same
interval; operations jitter by 2 %, workers by ``worker_s``.

Units: seconds, bytes. Cost: vectorised over ranks; about 0.2 us per burst.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skeletonhunter.testbed.parallelism import Degrees
from skeletonhunter.testbed.steps import Step

GBPS = 1e9 / 8
LINE_RATE = 200 * GBPS
TX, RX = 0, 1
DP, PP, EP, OTHER = 0, 1, 2, 3
KINDS = ("dp", "pp", "ep", "other")


@dataclass(frozen=True)
class StepShape:
    """The parts of a step as shares of it, rates in Gb/s; ``late`` ranks do everything ``late_s`` later."""

    stage_shift_s: float = 0.4
    reduce_share: float = 0.06
    gather_share: float = 0.0
    idle_share: float = 0.37
    reduce_gbps: float = 14.0
    ripple_gbps: float = 2.0
    micro_batches: int = 8
    layers: int = 0
    worker_s: float = 0.0008
    late: frozenset[int] = frozenset()
    late_s: float = 0.0


@dataclass(frozen=True)
class Bursts:
    """Transfers of ranks, columns of one length: rank, [start, end), bytes, direction (TX, RX), kind (DP, PP, ...)."""

    rank: np.ndarray
    start_s: np.ndarray
    end_s: np.ndarray
    bytes: np.ndarray
    direction: np.ndarray
    kind: np.ndarray

    def where(self, kept: np.ndarray) -> Bursts:
        """The rows of a mask or an index."""
        return Bursts(*(column[kept] for column in self.columns()))

    def columns(self) -> tuple[np.ndarray, ...]:
        """All columns, in order."""
        return self.rank, self.start_s, self.end_s, self.bytes, self.direction, self.kind


NO_BURSTS = Bursts(*(np.zeros(0, dtype) for dtype in (int, float, float, float, int, int)))


def join(parts: list[Bursts]) -> Bursts:
    """All parts as one, ordered by rank and start."""
    if not parts:
        return NO_BURSTS
    whole = Bursts(*(np.concatenate(columns) for columns in zip(*(part.columns() for part in parts), strict=True)))
    return whole.where(np.lexsort((whole.start_s, whole.rank)))


def step_bursts(degrees: Degrees, shape: StepShape, step: Step, rng: np.random.Generator) -> Bursts:
    """The transfers of one step; those that a hang cut off are left out."""
    length = step.end_s - step.start_s if step.finished else (step.end_s - step.start_s) / max(step.stretch, 1e-3)
    worker = rng.normal(0.0, shape.worker_s, degrees.ranks)
    worker[sorted(shape.late)] += shape.late_s
    plan = _StepPlan(degrees, shape, step.start_s, length, worker, rng)
    parts = [plan.gathers()] if shape.layers else [plan.reduction(), plan.micro_batches(), plan.experts()]
    bursts = join(parts)
    return bursts if step.finished else bursts.where(bursts.end_s <= step.end_s)


class _StepPlan:
    """One step: when it starts, how long it lasts, and how far each worker is off."""

    def __init__(
        self,
        degrees: Degrees,
        shape: StepShape,
        start_s: float,
        length_s: float,
        worker_s: np.ndarray,
        rng: np.random.Generator,
    ) -> None:
        self.degrees, self.shape, self.rng = degrees, shape, rng
        self.start_s, self.length_s, self.worker_s = start_s, length_s, worker_s
        self.ranks = np.arange(degrees.ranks)
        self.stage = degrees.stage_of()

    def reduction(self) -> Bursts:
        """Gradients, and the second burst of a sharded optimizer."""
        if self.degrees.dp == 1:
            return NO_BURSTS
        first = 0 if self.shape.stage_shift_s >= 0 else self.degrees.pp
        shift = self.shape.stage_shift_s * (self.stage - first)
        parts = []
        at = self.start_s + shift + self.worker_s
        for share in (self.shape.reduce_share, self.shape.gather_share):
            if share > 0.0:
                length = share * self.length_s * float(self.rng.normal(1.0, 0.02))
                parts.append(self._both_ways(at, length, self.shape.reduce_gbps * GBPS * share * self.length_s, DP))
                at = at + length + 0.02 * self.length_s
        return join(parts)

    def micro_batches(self) -> Bursts:
        """Activations forward, gradients backward, between neighbouring stages."""
        shape, degrees = self.shape, self.degrees
        below = self.ranks[self.stage < degrees.pp - 1]
        if not len(below):
            return NO_BURSTS
        above = below + degrees.ep * degrees.tp
        begin, beat = self._beats()
        batch = np.arange(shape.micro_batches)
        forward = begin + (batch[None, :] + self.stage[below][:, None]) * beat + self.worker_s[below][:, None]
        forward = forward + self.rng.normal(0.0, 0.02 * beat, forward.shape)
        size = shape.ripple_gbps * GBPS * beat
        length = size / (0.8 * LINE_RATE)
        parts = []
        for at, sender, receiver in ((forward, below, above), (forward + 0.5 * beat, above, below)):
            flat = at.ravel()
            for ranks, way in ((sender, TX), (receiver, RX)):
                rank = np.repeat(ranks, shape.micro_batches)
                parts.append(_table(rank, flat, flat + length, size, way, PP))
        return join(parts)

    def experts(self) -> Bursts:
        """All-to-all among experts, twice per micro-batch."""
        if self.degrees.ep == 1:
            return NO_BURSTS
        begin, beat = self._beats()
        size = 0.7 * self.shape.ripple_gbps * GBPS * beat
        parts = []
        for batch in range(self.shape.micro_batches):
            for turn in (0.2, 0.7):
                at = begin + (batch + turn + self.stage) * beat + self.worker_s
                parts.append(self._both_ways(at, size / (0.5 * LINE_RATE), size, EP))
        return join(parts)

    def gathers(self) -> Bursts:
        """Layer after layer: parameters gathered forward and backward, gradients scattered."""
        turns = 3 * self.shape.layers
        beat = self.length_s / (turns + 2)
        size = self.shape.reduce_gbps * GBPS * 0.4 * beat
        jitter = self.rng.normal(0.0, 0.02 * beat, turns)
        parts = []
        for turn in range(turns):
            at = self.start_s + (turn + 0.5) * beat + jitter[turn] + self.worker_s
            parts.append(self._both_ways(at, 0.4 * beat, size, DP))
        return join(parts)

    def _beats(self) -> tuple[float, float]:
        """When the micro-batches begin, and how far they are apart."""
        shape = self.shape
        used = shape.reduce_share + shape.gather_share + shape.idle_share
        room = self.length_s * (1.0 - used) * 0.96
        return self.start_s + used * self.length_s, room / (shape.micro_batches + self.degrees.pp)

    def _both_ways(self, at: np.ndarray, length: float, size: float, kind: int) -> Bursts:
        return join([_table(self.ranks, at, at + length, size, way, kind) for way in (TX, RX)])


def _table(rank: np.ndarray, start_s: np.ndarray, end_s: np.ndarray, size: float, way: int, kind: int) -> Bursts:
    count = len(rank)
    return Bursts(
        rank, start_s, end_s, np.full(count, round(size), dtype=float), np.full(count, way), np.full(count, kind)
    )


def curve(start_s: np.ndarray, end_s: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Knots (s) of the bytes moved so far by transfers that are even over their time; interpolate between them."""
    if not len(size):
        return np.zeros(1), np.zeros(1)
    rate = size / (end_s - start_s)
    knots = np.concatenate([start_s, end_s])
    order = np.argsort(knots, kind="stable")
    knots, slope = knots[order], np.cumsum(np.concatenate([rate, -rate])[order])
    return knots, np.concatenate([[0.0], np.cumsum(slope[:-1] * np.diff(knots))])
