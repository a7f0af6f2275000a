"""Who probes whom when? Probe plans as columns, and where they come from.

A plan repeats every ``round_s`` seconds, counted from the Unix epoch: slot n of N stands at n / N of it, each probe a
little later within its slot. In odd rounds an alternating plan swaps source and destination, and in later turns some
probes have other source ports. Without a planner, every source walks the job's true pairs at one target per second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from zlib import crc32

import numpy as np

from schemas.probing import ProbePlan
from skeletonhunter.testbed.paths import edge_port
from skeletonhunter.testbed.producers import Line
from skeletonhunter.testbed.world import World


class Planner(Protocol):
    """Somebody who reads what has arrived and makes plans: the engines under test, for one."""

    def observe(self, lines: Sequence[Line]) -> Sequence[ProbePlan]:
        """Takes note of lines in order of arrival; gives the plans that were made meanwhile."""


@dataclass(frozen=True)
class Probes:
    """Columns: member numbers, source ports, instants (s)."""

    src: np.ndarray
    dst: np.ndarray
    sport: np.ndarray
    at_s: np.ndarray

    def only(self, chosen: np.ndarray) -> Probes:
        """Those rows."""
        return Probes(self.src[chosen], self.dst[chosen], self.sport[chosen], self.at_s[chosen])


@dataclass(frozen=True)
class Plan:
    """Probes of one job as columns (member numbers, offset in the round), in order of offset.

    ``sports``: source ports, a column per turn of ``turn_rounds`` rounds (or one for all); ``epoch_s``: rounds begin
    at multiples of ``round_s`` after minus that; ``alternate``: odd rounds swap the ends; ``packets``: most of a
    train, 0 = any.
    """

    job: str
    version: int
    round_s: float
    src: np.ndarray
    dst: np.ndarray
    sports: np.ndarray
    offset_s: np.ndarray
    turn_rounds: int = 1
    epoch_s: float = 0.0
    alternate: bool = False
    packets: int = 0

    def during(self, second: int) -> Probes:
        """The probes within [second, second + 1)."""
        since = second + self.epoch_s
        sports = self.sports.reshape(len(self.src), -1) if len(self.src) else self.sports.reshape(0, 1)
        parts = []
        for number in range(int(np.floor(since / self.round_s)), int(np.floor((since + 1) / self.round_s)) + 1):
            begin = number * self.round_s - self.epoch_s
            low, high = np.searchsorted(self.offset_s, [second - begin, second + 1 - begin], side="left")
            ends = (self.dst, self.src) if self.alternate and number % 2 else (self.src, self.dst)
            turn = number // self.turn_rounds % sports.shape[1]
            rows = slice(low, high)
            parts.append((ends[0][rows], ends[1][rows], sports[rows, turn], begin + self.offset_s[rows]))
        return Probes(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def plan_of(message: ProbePlan, numbers: Mapping[str, int], epoch_s: float = 0.0) -> Plan:
    """The plan in a message; ``numbers``: endpoint to member. Probes of unknown endpoints are left out.

    ``epoch_s``: the Unix time of the simulation's beginning.
    """
    round_s = max(message.expected.round_s, 0.1)
    count = max(len(message.slots), 1)
    later = {(src, dst): ports for src, dst, ports in message.turns.changing} if message.turns else {}
    turns = message.turns.turns if message.turns else 1
    rows, ports = [], []
    for n, slot in enumerate(message.slots if message.mode != "disabled" else ()):
        for src, dst, sport in slot:
            if src in numbers and dst in numbers:
                jitter_s = message.jitter_s * crc32(f"{src}>{dst}".encode()) / 2**32
                rows.append((numbers[src], numbers[dst], round_s * n / count + jitter_s))
                ports.append((sport, *later.get((src, dst), (sport,) * (turns - 1))))
    turn_rounds = message.turns.turn_rounds if message.turns else 1
    return _plan(
        message.job, message.version, round_s, rows, ports, turn_rounds, epoch_s, message.alternate, _packets(message)
    )


def _packets(message: ProbePlan) -> int:
    """As many packets as the budget of an RNIC holds in a slot, at least one; 0 = any."""
    pps, slots = message.budget.pps_per_rnic, max(len(message.slots), 1)
    if pps is None:
        return 0
    return max(1, int(pps * message.expected.round_s / slots / message.probes_per_slot + 1e-6))


def true_pairs(world: World, second: float, version: int) -> list[Plan]:
    """A plan per job over its true edges at ``second``, each once, the k-th target of a source in second k."""
    plans = []
    for job in world.jobs:
        sent: dict[int, int] = {}
        rows, ports = [], []
        edges = job.phase_at(second).member_edges()
        for a, b in edges[world.draw("edges").permutation(len(edges))].tolist():
            src, dst = (a, b) if sent.get(a, 0) <= sent.get(b, 0) else (b, a)
            rows.append((src, dst, float(sent.get(src, 0)) + (src * 0.618) % 0.8))
            ports.append((edge_port(src, dst),))
            sent[src] = sent.get(src, 0) + 1
        plans.append(_plan(job.name, version, float(max(sent.values(), default=1)), rows, ports))
    return plans


def _plan(
    job: str,
    version: int,
    round_s: float,
    rows: list[tuple[int, int, float]],
    ports: Sequence[tuple[int, ...]],
    *how: Any,
) -> Plan:
    table = np.array(rows, dtype=float).reshape(-1, 3)
    order = np.lexsort((table[:, 1], table[:, 0], table[:, 2]))
    sports = np.array(ports, dtype=int).reshape(len(rows), -1) if rows else np.zeros((0, 1), dtype=int)
    src, dst = (table[order, column].astype(int) for column in range(2))
    return Plan(job, version, round_s, src, dst, sports[order], table[order, 2], *how)
