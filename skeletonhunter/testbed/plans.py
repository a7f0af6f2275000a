"""Who probes whom when? Probe plans as columns, and where they come from.

A plan repeats every ``round_s`` seconds: slot n of N stands at n / N of it. Without a planner, every source walks the
job's true pairs at one target per second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

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
class Plan:
    """Probes of one job as columns (member numbers, source port, offset in the round), in order of offset."""

    job: str
    version: int
    round_s: float
    src: np.ndarray
    dst: np.ndarray
    sport: np.ndarray
    offset_s: np.ndarray

    def during(self, second: int) -> tuple[np.ndarray, np.ndarray]:
        """Indices and instants (s) of the probes within [second, second + 1)."""
        index, at = [], []
        first = int(np.floor(second / self.round_s))
        for turn in range(first, int(np.floor((second + 1) / self.round_s)) + 1):
            begin = turn * self.round_s
            low, high = np.searchsorted(self.offset_s, [second - begin, second + 1 - begin], side="left")
            index.append(np.arange(low, high))
            at.append(begin + self.offset_s[low:high])
        return np.concatenate(index), np.concatenate(at)


def plan_of(message: ProbePlan, numbers: Mapping[str, int]) -> Plan:
    """The plan in a message; ``numbers``: endpoint to member. Probes of unknown endpoints are left out."""
    round_s = max(message.expected.round_s, 0.1)
    count = max(len(message.slots), 1)
    rows = [
        (numbers[src], numbers[dst], sport, round_s * n / count)
        for n, slot in enumerate(message.slots)
        for src, dst, sport in slot
        if src in numbers and dst in numbers and message.mode != "disabled"
    ]
    return _plan(message.job, message.version, round_s, rows)


def true_pairs(world: World, second: float, version: int) -> list[Plan]:
    """A plan per job over its true edges at ``second``, each once, the k-th target of a source in second k."""
    plans = []
    for job in world.jobs:
        sent: dict[int, int] = {}
        rows = []
        edges = job.phase_at(second).member_edges()
        for a, b in edges[world.draw("edges").permutation(len(edges))].tolist():
            src, dst = (a, b) if sent.get(a, 0) <= sent.get(b, 0) else (b, a)
            rows.append((src, dst, edge_port(src, dst), float(sent.get(src, 0)) + (src * 0.618) % 0.8))
            sent[src] = sent.get(src, 0) + 1
        plans.append(_plan(job.name, version, float(max(sent.values(), default=1)), rows))
    return plans


def _plan(job: str, version: int, round_s: float, rows: list[tuple[int, int, int, float]]) -> Plan:
    rows.sort(key=lambda row: (row[3], row[0], row[1]))
    table = np.array(rows, dtype=float).reshape(-1, 4)
    src, dst, sport = (table[:, column].astype(int) for column in range(3))
    return Plan(job, version, round_s, src, dst, sport, table[:, 3])
