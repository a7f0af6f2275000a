"""One job of 16 containers x 8 RNICs for six minutes, with or without the fault in the one pair's offloaded flow.

The testbed lets everything happen; only what the figure shows is put in its place: the monitored pair's trains, and the
depth of the queue on their last hop.
"""

from __future__ import annotations

import numpy as np
from fig18 import SECONDS, TRAIN, Fig18
from msgspec.structs import replace

from skeletonhunter.testbed.effects import Effects, FlowView, Injection
from skeletonhunter.testbed.intervals import always
from skeletonhunter.testbed.paths import NONE, edge_port
from skeletonhunter.testbed.physics import Impairment, OnPairs, Outcome, Trains
from skeletonhunter.testbed.plans import Plan
from skeletonhunter.testbed.scenario import FabricPlan, JobPlan, Scenario, TelemetryPlan
from skeletonhunter.testbed.simulate import Simulation

FROZEN_S, INVALID_S, DEAD_S, STUTTER_S, ISOLATED_S, RESTORED_S = 76, 86, 187, 202, 213, 260
SLOW_US, STUTTER_US = 70.0, 600.0

STALE = Scenario(
    name="stale-flow-offload",
    description="A job of 128 RNICs; at 86 s an RNIC loses the offload of a flow that the virtual switch still holds.",
    seed=18,
    seconds=SECONDS,
    fabric=FabricPlan(hosts=16, hosts_per_leaf=8, spines=4),
    jobs=(JobPlan(tp=8, pp=4, dp=4, period_s=20.0, spread=0.008, stage_shift_s=0.4),),
    telemetry=TelemetryPlan(lost=0.0, repeated=0.0, late=0.0, unread=2e-4, resets=0.0),
    probes_per_train=TRAIN,
    rtt_samples=1,
)
HEALTHY = replace(STALE, name="healthy-job", description="A healthy job of 128 RNICs for six minutes.", seed=7)


class Healthy(Simulation):
    """The job without the fault: every true pair is probed once a second."""

    def inject(self) -> list[Injection]:
        """Nothing goes wrong."""
        return []

    def first_plans(self) -> list[Plan]:
        """Every true edge once, from alternating ends, so that each endpoint probes and is probed."""
        job = self.world.jobs[0]
        sent = dict.fromkeys((member.number for member in job.members), 0)
        rows = []
        for a, b in job.phases[0].member_edges().tolist():
            src, dst = (a, b) if sent[a] <= sent[b] else (b, a)
            rows.append((src, dst, edge_port(src, dst), 0.02 + 0.16 * sent[src] + 0.1 * ((src * 0.618) % 1.0)))
            sent[src] += 1
        table = np.array(sorted(rows, key=lambda row: row[3]))
        src, dst, sport = (table[:, column].astype(int) for column in range(3))
        return [Plan(job.name, 1, 1.0, src, dst, sport, table[:, 3])]


class StaleFlow(Healthy):
    """The job with the paper's fault in the flow of one pair."""

    def __init__(self, scenario: Scenario, figure: Fig18) -> None:
        self.figure = figure
        self.pair = (-1, -1)
        super().__init__(scenario)
        self.prober.amend = self.put_in
        last_hop = self._path(self.pair)[-1]
        self.queue_reports.shown[last_hop] = figure.depth_bytes

    def inject(self) -> list[Injection]:
        """The RNIC of the pair's source loses the flow; what follows is in the phases of the figure."""
        self.pair = self._shared_pair()
        src, dst = (self.world.members[number] for number in self.pair)
        where = OnPairs(frozenset({self.pair}))
        phases = (
            (FROZEN_S, INVALID_S, "hardware"),
            (INVALID_S, DEAD_S, "software"),
            (DEAD_S, STUTTER_S, None),
            (STUTTER_S, ISOLATED_S, "software"),
            (ISOLATED_S, RESTORED_S, None),
        )
        views = tuple(
            FlowView(where, always(a, b), True, in_rnic=a < INVALID_S, path=path, frozen_s=FROZEN_S)  # type: ignore[arg-type]
            for a, b, path in phases
        )
        impairments = (
            Impairment(where, always(INVALID_S, DEAD_S), delay_us=SLOW_US),
            Impairment(where, always(DEAD_S, STUTTER_S), drop=1.0),
            Impairment(where, always(STUTTER_S, ISOLATED_S), drop=0.15, delay_us=STUTTER_US),
            Impairment(where, always(ISOLATED_S, RESTORED_S), drop=1.0),
        )
        return [
            Injection(
                what="offloading_failure",
                component=f"rnic:{src.node}",
                when=always(INVALID_S, RESTORED_S),
                effects=Effects(impairments=impairments, views=views),
                endpoints=tuple(sorted((src.endpoint, dst.endpoint))),
            )
        ]

    def put_in(self, trains: Trains, outcome: Outcome) -> Outcome:
        """The figure's loss and latency in place of the monitored pair's."""
        for n in np.flatnonzero((trains.src == self.pair[0]) & (trains.dst == self.pair[1])).tolist():
            second = int(trains.start_s[n])
            outcome.lost[n] = self.figure.lost[second]
            outcome.rtt_us[n] = self.figure.rtt_us[second] or 0.0
        return outcome

    def _path(self, pair: tuple[int, int]) -> list[int]:
        rows = self.world.paths.look_up(*(np.array([value]) for value in (*pair, edge_port(*pair))), 0)
        return [hop for hop in self.world.paths.there[rows[0]].tolist() if hop != NONE]

    def _shared_pair(self) -> tuple[int, int]:
        """A probed pair across spines whose every hop is shared with other probed pairs."""
        plan = self.first_plans()[0]
        pairs = list(zip(plan.src.tolist(), plan.dst.tolist(), strict=True))
        paths = [self._path(pair) for pair in pairs]
        users: dict[int, int] = {}
        for path in paths:
            for hop in path:
                users[hop] = users.get(hop, 0) + 1
        for n in self.world.draw("monitored pair").permutation(len(pairs)).tolist():
            if len(paths[n]) == 4 and all(users[hop] >= 2 for hop in paths[n]):
                return pairs[n]
        raise AssertionError("no pair crosses the spines on shared links")
