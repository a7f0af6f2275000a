"""What happens to probes on their way? Loss and round-trip time of trains, from the state of what they cross.

A train is ``sent`` probes over ``TRAIN_S``. Its RTT (us) is a constant per hop, the log-normal work of both ends, the
waiting in each queue (depth over rate), and what impairments add. Its packets are lost independently with the
probability that follows from all impairments, each weighted by the share of the train's time in which it holds.
Healthy pairs of four hops have a median of 13 us and a log-normal sigma of 0.39 (the paper's Figure 18).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from skeletonhunter.testbed.intervals import Intervals
from skeletonhunter.testbed.paths import NONE, PathTable

TRAIN_S = 0.2
SAMPLES = 3
HOP_US = 0.45
ENDS_US, ENDS_SPREAD = 9.2, 0.5
BACKGROUND_LOSS = 2e-6
LINK_BYTES_PER_US = 25_000.0
"""200 Gb/s."""


@dataclass(frozen=True)
class Trains:
    """Trains of one second as columns: member numbers, row in the path table, source port, start (s)."""

    src: np.ndarray
    dst: np.ndarray
    path: np.ndarray
    sport: np.ndarray
    start_s: np.ndarray


class Place(Protocol):
    """Where an impairment acts."""

    def crossings(self, trains: Trains, paths: PathTable) -> np.ndarray:
        """How many times (there and back) each train's packets cross it; 0 = it is not touched."""


@dataclass(frozen=True)
class OnHops:
    """Links in given directions."""

    hops: frozenset[int]

    def crossings(self, trains: Trains, paths: PathTable) -> np.ndarray:
        """Hops there plus hops back."""
        wanted = np.array(sorted(self.hops))
        there, back = paths.there[trains.path], paths.back[trains.path]
        count: np.ndarray = np.isin(there, wanted).sum(axis=1) + np.isin(back, wanted).sum(axis=1)
        return count


@dataclass(frozen=True)
class AtMembers:
    """Endpoints, as source or destination or both; ``share`` < 1: only that part of the flows, drawn by their hash."""

    members: frozenset[int]
    as_src: bool = True
    as_dst: bool = True
    share: float = 1.0
    salt: int = 0

    def crossings(self, trains: Trains, paths: PathTable) -> np.ndarray:  # noqa: ARG002
        """1 if either end is one of them."""
        wanted = np.array(sorted(self.members))
        touched = np.zeros(len(trains.src), dtype=bool)
        if self.as_src:
            touched |= np.isin(trains.src, wanted)
        if self.as_dst:
            touched |= np.isin(trains.dst, wanted)
        if self.share < 1.0:
            touched &= pair_hash(trains.src, trains.dst, self.salt) < self.share
        return touched.astype(int)


@dataclass(frozen=True)
class OnPairs:
    """Flows of given (source, destination) members."""

    pairs: frozenset[tuple[int, int]]

    def crossings(self, trains: Trains, paths: PathTable) -> np.ndarray:  # noqa: ARG002
        """1 for trains of one of the pairs."""
        pairs = zip(trains.src.tolist(), trains.dst.tolist(), strict=True)
        return np.array([pair in self.pairs for pair in pairs], dtype=int)


def pair_hash(src: np.ndarray, dst: np.ndarray, salt: int) -> np.ndarray:
    """A number in [0, 1) per pair, the same for both directions, without pattern."""
    low, high = np.minimum(src, dst).astype(np.uint64), np.maximum(src, dst).astype(np.uint64)
    mixed = (
        (low * np.uint64(0x9E3779B97F4A7C15)) ^ (high * np.uint64(0xC2B2AE3D27D4EB4F)) ^ np.uint64(salt * 0x165667B1)
    )
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xD6E8FEB86659FD93)
    share: np.ndarray = (mixed >> np.uint64(11)).astype(float) / float(1 << 53)
    return share


@dataclass(frozen=True)
class Impairment:
    """What packets suffer at a place while it holds: lost with probability ``drop``, late by a log-normal delay."""

    where: Place
    when: Intervals
    drop: float = 0.0
    delay_us: float = 0.0
    spread: float = 0.5


class Queues(Protocol):
    """Depths of egress queues."""

    def wait_us(self, hops: np.ndarray, start_s: np.ndarray) -> np.ndarray:
        """Waiting at each hop (``NONE``: 0), of the shape of ``hops``; ``start_s``: an instant per row."""


@dataclass(frozen=True)
class Outcome:
    """What came of trains: packets lost, RTT samples (us, shape (n, SAMPLES)); per impairment, trains that met it."""

    lost: np.ndarray
    rtt_us: np.ndarray
    touched: tuple[int, ...]


def fly(
    trains: Trains,
    sent: np.ndarray | int,
    paths: PathTable,
    impairments: Sequence[Impairment],
    queues: Queues,
    rng: np.random.Generator,
) -> Outcome:
    """Sends the trains."""
    count = len(trains.src)
    there, back = paths.there[trains.path], paths.back[trains.path]
    hops = (there != NONE).sum(axis=1) + (back != NONE).sum(axis=1)
    survive = (1.0 - BACKGROUND_LOSS) ** hops
    rtt = HOP_US * hops[:, None] + np.exp(rng.normal(np.log(ENDS_US), ENDS_SPREAD, (count, SAMPLES)))
    wait = queues.wait_us(there, trains.start_s).sum(axis=1) + queues.wait_us(back, trains.start_s).sum(axis=1)
    rtt += wait[:, None] * rng.uniform(0.5, 1.5, (count, SAMPLES))
    touched = []
    for impairment in impairments:
        crossings = impairment.where.crossings(trains, paths)
        share = impairment.when.share(trains.start_s, TRAIN_S)
        hit = (crossings > 0) & (share > 0.0)
        touched.append(int((hit & (sent > 0)).sum()))
        if not hit.any():
            continue
        survive[hit] *= 1.0 - share[hit] * (1.0 - (1.0 - impairment.drop) ** crossings[hit])
        if impairment.delay_us > 0.0:
            extra = rng.lognormal(np.log(impairment.delay_us), impairment.spread, (int(hit.sum()), SAMPLES))
            rtt[hit] += extra * (rng.random(extra.shape) < share[hit][:, None])
    lost = rng.binomial(sent, 1.0 - np.clip(survive, 0.0, 1.0))
    return Outcome(lost, rtt, tuple(touched))
