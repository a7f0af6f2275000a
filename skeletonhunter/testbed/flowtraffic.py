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
        self.peers: dict[int, dict[int, list[int]]] = {}

    def second(self, second: int) -> None:
        """Adds the packets of [second, second + 1)."""
        for job in self.world.jobs:
            for src, targets in self._peers(job.phase_at(second)).items():
                packets = self.sent[src, second] / PACKET_BYTES / len(targets)
                if packets >= 1.0:
                    for dst in targets:
                        self.ledger.add(src, dst, packets, second)

    def _peers(self, phase: Phase) -> dict[int, list[int]]:
        if id(phase) not in self.peers:
            found: dict[int, list[int]] = {}
            for a, b in phase.member_edges().tolist():
                found.setdefault(a, []).append(b)
                found.setdefault(b, []).append(a)
            self.peers[id(phase)] = found
        return self.peers[id(phase)]
