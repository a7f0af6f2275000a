"""How deep are the switches' queues, and what do they count? Depth, ECN marks, pauses, drops and checksum errors.

An egress port that is busy beyond 70 % of its line rate builds a queue. With congestion control its senders are
marked and slow down: the queue stays near the marking threshold. Without it (issue 19) the queue grows until the switch
pauses its neighbours. All other queues are almost empty: about 1.2 kB, one second in a hundred up to 5 kB (the
paper's Figure 18). Depths are bytes, counters cumulative; ports are hops.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from skeletonhunter.testbed.activity import HopLoads
from skeletonhunter.testbed.effects import Effects
from skeletonhunter.testbed.paths import PathTable
from skeletonhunter.testbed.physics import LINK_BYTES_PER_US
from skeletonhunter.testbed.traffic import LINE_RATE
from skeletonhunter.testbed.world import World

BUSY = 0.7
MARKING_BYTES = 150_000
PAUSING_BYTES = 3_000_000
PACKET_BYTES = 4_096


def quiet_depths(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Depths of queues without congestion."""
    depths = np.exp(rng.normal(np.log(1_200.0), 0.28, shape))
    rare = rng.random(shape) < 0.01
    depths[rare] = rng.uniform(2_500.0, 5_000.0, int(rare.sum()))
    return depths


@dataclass
class QueueModel:
    """Depth per second of busy hops, and increments of counters by (hop, counter); everything else is quiet."""

    seconds: int
    depths: dict[int, np.ndarray] = field(default_factory=dict)
    counted: dict[tuple[int, str], np.ndarray] = field(default_factory=dict)

    def wait_us(self, hops: np.ndarray, start_s: np.ndarray) -> np.ndarray:
        """Waiting at each hop, see ``physics.Queues``."""
        wait = np.zeros(hops.shape)
        second = np.clip(start_s.astype(int), 0, self.seconds - 1)
        for hop, depth in self.depths.items():
            rows, columns = np.nonzero(hops == hop)
            wait[rows, columns] = depth[second[rows]] / LINK_BYTES_PER_US
        return wait

    def count(self, hop: int, counter: str, per_second: np.ndarray) -> None:
        """Adds to a counter of a port."""
        key = (hop, counter)
        self.counted[key] = self.counted.get(key, np.zeros(self.seconds)) + per_second


def build_queues(world: World, effects: Effects, loads: HopLoads, rng: np.random.Generator) -> QueueModel:
    """Queues and counters over the whole recording."""
    model = QueueModel(world.span.seconds)
    seconds = np.arange(world.span.seconds, dtype=float)
    uncontrolled = {hop: when for hop, when in effects.no_ecn}
    for hop in sorted({load.hop for load in effects.loads} | set(uncontrolled)):
        busy = loads.on(hop) / LINE_RATE
        for load in effects.loads:
            if load.hop == hop:
                busy = busy + load.load * load.when.share(seconds, 1.0)
        free = uncontrolled[hop].holds(seconds) if hop in uncontrolled else np.zeros(len(seconds), dtype=bool)
        _fill(model, world, hop, (busy, free), rng)
    for hop, when, drop in effects.corrupting:
        crossed = loads.on(hop) / PACKET_BYTES + _probes_on(world, hop)
        model.count(hop ^ 1, "crc_errors", rng.poisson(crossed * drop * when.share(seconds, 1.0)))
    return model


def _fill(
    model: QueueModel, world: World, hop: int, state: tuple[np.ndarray, np.ndarray], rng: np.random.Generator
) -> None:
    busy, free = state
    excess = np.clip((busy - BUSY) / 0.5, 0.0, 1.0)
    noise = rng.lognormal(0.0, 0.35, len(busy))
    controlled = quiet_depths(busy.shape, rng) + (excess > 0) * noise * (40_000.0 + 700_000.0 * excess**1.5)
    piled = quiet_depths(busy.shape, rng) + (excess > 0) * noise * (400_000.0 + 3_600_000.0 * excess)
    depth = np.where(free, piled, controlled)
    model.depths[hop] = depth
    packets = np.minimum(busy, 1.0) * LINE_RATE / PACKET_BYTES
    marked = np.where(free, 0.0, packets * np.clip((depth - MARKING_BYTES) / 1e6, 0.0, 0.6))
    model.count(hop, "ecn_marked", rng.poisson(marked))
    model.count(hop, "dropped", rng.poisson(np.where(free, 0.0, packets * 1e-6 * np.clip(busy - 1.0, 0.0, 1.0))))
    pauses = np.where(depth > PAUSING_BYTES / 3, 200.0 * depth / PAUSING_BYTES, 0.0)
    for upstream in _feeders(world.paths, hop):
        model.count(upstream ^ 1, "pfc_tx", rng.poisson(pauses))
        model.count(upstream, "pfc_rx", rng.poisson(pauses))


def _feeders(paths: PathTable, hop: int) -> list[int]:
    """Hops that known routes cross just before ``hop``."""
    rows, columns = np.nonzero(paths.there[: len(paths.json)] == hop)
    before = paths.there[rows[columns > 0], columns[columns > 0] - 1]
    return sorted(set(before.tolist()))


def _probes_on(world: World, hop: int) -> float:
    """Probe packets per second over a hop, roughly: a train a second of each flow that crosses it."""
    trains = world.edge_trains(0.0)
    crossing = (world.paths.there[trains.path] == hop).any(axis=1).sum()
    return float(crossing) * world.scenario.probes_per_train / 4.0
