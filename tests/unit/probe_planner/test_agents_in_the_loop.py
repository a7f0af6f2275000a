"""Simulated agents that follow the planner never spend more than the budget, also while something is suspected."""

from __future__ import annotations

from collections import defaultdict

import pytest
from msgspec.structs import replace

from schemas.codec import decode
from schemas.probing import ProbePlan, ProbeResults
from skeletonhunter.replaying.closed_loop import EnginePlanner
from skeletonhunter.testbed.scenario import FabricPlan, FaultPlan, JobPlan, Scenario
from skeletonhunter.testbed.simulate import Simulation
from streams.parameters import Parameters

SCENARIO = Scenario(
    name="budget",
    seed=11,
    seconds=75,
    fabric=FabricPlan(hosts=6, rails=2, hosts_per_leaf=2, spines=2, paths="hash"),
    jobs=(JobPlan(tp=2, pp=3, dp=2, period_s=6.0, spread=0.005),),
    faults=(FaultPlan(what="rnic_port_down", start_s=45.0, end_s=70.0),),
)


class Listener:
    """Keeps the probe results, and every plan that the agents were given."""

    def __init__(self, parameters: Parameters) -> None:
        self.results: list[ProbeResults] = []
        self.plans: list[ProbePlan] = []
        planner = EnginePlanner(parameters)
        observe = planner.observe

        def listening(lines: object) -> list[ProbePlan]:
            made = observe(lines)  # type: ignore[arg-type]
            self.plans += made
            return made

        planner.observe = listening  # type: ignore[method-assign]
        self.simulation = Simulation(SCENARIO, planner)
        self.simulation.run(self)

    def write_raw(self, topic: str, key: str, arrival_us: int, raw: bytes) -> None:
        """Takes one line."""
        if topic == "probe-results":
            value = decode(topic, key, raw, arrival_us)
            assert isinstance(value, ProbeResults)
            self.results.append(value)


@pytest.mark.parametrize("pps", [200.0, 50.0])
def test_no_rnic_sends_or_answers_more_than_its_budget(pps: float) -> None:
    parameters = Parameters()
    planner = {"pps_per_rnic": pps, "train_packets": 10, "round_s": 2.0, "targets_per_rnic": 3}
    heard = Listener(replace(parameters, planner=replace(parameters.planner, **planner)))  # type: ignore[arg-type]
    member = {each.endpoint: each for each in heard.simulation.world.members}
    packets: dict[tuple[str, int], int] = defaultdict(int)
    spoken: set[tuple[str, str, int]] = set()
    for message in heard.results:
        for result in message.results:
            if (message.src, result.dst, result.t_us) in spoken:
                continue  # delivered twice
            spoken.add((message.src, result.dst, result.t_us))
            for name in (message.src, result.dst):
                packets[f"{member[name].host}/{name.rpartition('/')[2]}", result.t_us // 1_000_000] += result.sent
    assert len({plan.version for plan in heard.plans}) >= 3
    assert any(plan.extra for plan in heard.plans), "the fault is suspected"
    assert max(packets.values()) <= pps + 2 * 10, "a second holds the budget and what straddles its borders"
    for plan in heard.plans:
        peers: dict[str, set[str]] = defaultdict(set)
        for slot in plan.slots:
            for src, dst, _ in slot:
                peers[src].add(dst)
        assert max(map(len, peers.values()), default=0) <= 3
        assert plan.expected.round_s <= 2.0
    minute = [
        sum(count for (rnic, second), count in packets.items() if rnic == name) for name in {r for r, _ in packets}
    ]
    assert max(minute) <= pps * SCENARIO.seconds
