"""Which packets of the jobs pass through the hosts' flow tables? Adds each second's traffic of the jobs to the ledger.

A member's bytes of a second are spread evenly over its edges; a second without bytes leaves the flow idle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skeletonhunter.testbed.activity import JobActivity
from skeletonhunter.testbed.flows import FlowLedger
from skeletonhunter.testbed.jobs import Phase
from skeletonhunter.testbed.overlay import PACKET_BYTES
from skeletonhunter.testbed.traffic import TX
from skeletonhunter.testbed.world import World


class JobFlows:
    """The jobs' own flows, second by second."""

    def __init__(self, world: World, activities: Sequence[JobActivity], ledger: FlowLedger) -> None:
        self.world, self.ledger = world, ledger
        seconds = np.arange(world.span.seconds + 1, dtype=float)
        self.sent = np.zeros((len(world.members), world.span.seconds))
        for activity in activities:
            for member in activity.job.members:
                self.sent[member.number] = np.diff(activity.bytes_until(member.number, TX, seconds))
        self.flows: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def second(self, second: int) -> None:
        """Adds the packets of [second, second + 1)."""
        for job in self.world.jobs:
            flows, src, fan_out = self._flows(job.phase_at(second))
            packets = self.sent[src, second] / PACKET_BYTES / fan_out
            busy = packets >= 1.0
            self.ledger.add(flows[busy], packets[busy], second, np.ones(int(busy.sum()), dtype=bool))

    def _flows(self, phase: Phase) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Flow numbers of a phase, their sources, and over how many flows each source spreads its bytes."""
        if id(phase) not in self.flows:
            edges = phase.member_edges()
            pairs = np.concatenate([edges, edges[:, ::-1]])
            numbers = np.array([self.ledger.number(a, b) for a, b in pairs.tolist()], dtype=int)
            fan_out = np.bincount(pairs[:, 0], minlength=len(self.world.members))[pairs[:, 0]]
            self.flows[id(phase)] = (numbers, pairs[:, 0], fan_out)
        return self.flows[id(phase)]
