"""Whole simulations: every fault is active and told in the truth, every message keeps the contract."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import orjson
import pytest

from schemas.codec import decode
from schemas.envelope import Value
from schemas.truth import ISSUES, MonitorFaultKind, Truth
from skeletonhunter.testbed.catalogue import scenario_of
from skeletonhunter.testbed.faults import INJECTORS
from skeletonhunter.testbed.scenario import FabricPlan, FaultPlan, JobChange, JobPlan, Scenario, ScenarioError
from skeletonhunter.testbed.simulate import Simulation

SECONDS = 60
ONSET_S, END_S = 25.0, 55.0
SMALL = FabricPlan(hosts=4, rails=4, hosts_per_leaf=2, spines=2)


class Tape:
    """Keeps what a simulation writes, decoded."""

    def __init__(self) -> None:
        self.raw: list[tuple[str, str, int, bytes]] = []
        self.values: dict[str, list[Any]] = defaultdict(list)

    def write_raw(self, topic: str, key: str, arrival_us: int, raw: bytes) -> None:
        self.raw.append((topic, key, arrival_us, raw))
        value: Value = decode(topic, key, raw, arrival_us)
        self.values[topic].append(value)


def simulate(*what: str, seed: int = 3, **changes: Any) -> tuple[Simulation, Tape]:
    faults = tuple(FaultPlan(each, ONSET_S, END_S, severity=0.8) for each in what)
    job = JobPlan(tp=4, pp=2, dp=2, period_s=8.0, spread=0.01)
    options = {"fabric": SMALL, "jobs": (job,), "faults": faults, "seconds": SECONDS} | changes
    simulation = Simulation(Scenario(name=f"test-{'-'.join(what)}", seed=seed, **options))
    tape = Tape()
    simulation.run(tape)
    return simulation, tape


def trains(simulation: Simulation, tape: Tape, wanted: Callable[[Any, Any], bool]) -> list[tuple[float, Any]]:
    """(second, result) of the trains that ``wanted(src, result)`` picks."""
    t0 = simulation.world.span.t0_us
    return [
        ((result.t_us - t0) / 1e6, result)
        for message in tape.values["probe-results"]
        for result in message.results
        if wanted(message.src, result)
    ]


def test_all_issues_and_monitor_faults_can_be_injected() -> None:
    silent = {"skeleton_transition", "target_not_ready"}
    assert set(INJECTORS) == {*ISSUES, "congestion", *msgspec_literals()} - silent


def msgspec_literals() -> tuple[str, ...]:
    from typing import get_args

    return get_args(MonitorFaultKind)


@pytest.mark.parametrize("what", INJECTORS)
def test_a_fault_is_active_and_its_truth_is_told(what: str) -> None:
    simulation, tape = simulate(what)
    truth = msgspec.convert(simulation.truth(), Truth)
    raw = simulation.truth()
    (entry,) = raw["faults"] + raw["monitor_faults"]
    assert len(truth.faults) + len(truth.monitor_faults) == 1
    assert entry["start_us"] == simulation.world.span.at(ONSET_S) or what == "congestion"
    packets_suffer = entry.get("probe_visible", True) and what not in (
        "congestion",
        "congestion_control_misconfiguration",
        "agent_starved",
        "clock_bad",
        "collector_gap",
    )
    assert (entry["touched_trains"] > 0) == packets_suffer
    known = {member.endpoint for member in simulation.world.members}
    assert set(entry["endpoints"]) <= known
    assert tape.values["probe-results"] and tape.values["switch-queues"]


def test_equal_scenarios_are_equal_recordings() -> None:
    first, second = simulate("crc_error")[1].raw, simulate("crc_error")[1].raw
    assert first == second
    assert first != simulate("crc_error", seed=4)[1].raw


def test_healthy_pairs_have_the_papers_round_trip_times() -> None:
    simulation, tape = simulate()
    rtt = [sample for _, result in trains(simulation, tape, lambda *_: True) for sample in result.rtt_us]
    assert np.median(rtt) == pytest.approx(13.0, abs=1.0)
    assert np.std(np.log(rtt)) == pytest.approx(0.39, abs=0.05)
    assert simulation.truth()["faults"] == []


def test_a_corrupting_link_loses_what_crosses_it_and_the_receiving_port_counts_it() -> None:
    simulation, tape = simulate("crc_error")
    (fault,) = simulation.truth()["faults"]
    link = fault["component"].removeprefix("link:")
    crossing = trains(simulation, tape, lambda _, r: link in r.path and r.t_us >= fault["start_us"])
    lost = sum(r.lost for _, r in crossing) / sum(r.sent for _, r in crossing)
    assert lost > 0.2 * fault["drop"]
    others = trains(simulation, tape, lambda _, r: r.t_us < fault["start_us"])
    assert sum(r.lost for _, r in others) / sum(r.sent for _, r in others) < 1e-4
    ends = {port for each in simulation.world.fabric.links if each.id == link for port in (each.a, each.b)}
    counted = {
        f"{message.switch}/{port.port}": port.crc_errors[-1]
        for message in tape.values["switch-queues"]
        for port in message.ports
        if port.crc_errors[-1]
    }
    assert set(counted) <= ends


def test_a_lost_offload_is_slow_and_the_tables_disagree() -> None:
    simulation, tape = simulate("offloading_failure", seed=8)
    (fault,) = simulation.truth()["faults"]
    host, _, rnic = fault["component"].removeprefix("rnic:").partition("/")
    slow = [
        r for s, r in trains(simulation, tape, lambda *_: True) if s > ONSET_S and r.rtt_us and np.median(r.rtt_us) > 45
    ]
    assert slow
    held: dict[str, set[str]] = {}
    for message in tape.values["flow-tables"]:
        after = simulation.world.span.at(ONSET_S + 1) < message.t_us < simulation.world.span.at(END_S)
        if message.host == host and after and message.rnic in (None, rnic):
            flows = {row.flow for row in message.flows if row.at.startswith((f"tunnel:{host}", "rnic:")) and row.src}
            held.setdefault(message.table, set()).update(
                row.flow for row in message.flows if row.flow in flows and row.offloaded
            )
    assert held["vswitch"] - held["rnic"]


def test_only_a_queue_without_control_grows_deep_and_marks_nothing() -> None:
    depths = {}
    for what in ("congestion", "congestion_control_misconfiguration"):
        simulation, tape = simulate(what)
        port = simulation.truth()["faults"][0]["component"].partition(":")[2]
        columns = [
            column
            for message in tape.values["switch-queues"]
            for column in message.ports
            if f"{message.switch}/{column.port}" == port
        ]
        depths[what] = (max(max(c.depth_bytes) for c in columns), max(c.ecn_marked[-1] for c in columns))
    assert depths["congestion"][1] > 0
    assert depths["congestion_control_misconfiguration"][1] == 0
    assert depths["congestion_control_misconfiguration"][0] > 2 * depths["congestion"][0]


def test_a_dead_pair_stops_the_job() -> None:
    simulation, tape = simulate("rnic_port_down", seconds=120)
    t0 = simulation.world.span.t0_us
    ends = [(message.t_us - t0) / 1e6 for message in tape.values["job-progress"]]
    assert not [end for end in ends if ONSET_S + 1 < end < END_S + 20]
    assert [end for end in ends if end < ONSET_S] and [end for end in ends if end > END_S + 20]


def test_a_dead_sidecar_is_silent_and_does_not_answer_while_the_job_goes_on() -> None:
    simulation, tape = simulate("agent_missing")
    (fault,) = simulation.truth()["monitor_faults"]
    container = fault["component"].removeprefix("agent:")
    t0 = simulation.world.span.t0_us
    heard = [(m.t_us - t0) / 1e6 for m in tape.values["agent-health"] if m.agent == container]
    assert not [second for second in heard if ONSET_S + 0.1 < second <= END_S]
    to_it = trains(simulation, tape, lambda _, r: r.dst.startswith(container + "/"))
    assert {r.outcome for second, r in to_it if ONSET_S < second < END_S - 1} == {"lost"}
    ends = [(message.t_us - t0) / 1e6 for message in tape.values["job-progress"]]
    assert [end for end in ends if ONSET_S + 2 < end < END_S]


def test_a_bad_clock_moves_the_stamps_of_its_host_only() -> None:
    simulation, tape = simulate("clock_bad", seed=5)
    (fault,) = simulation.truth()["monitor_faults"]
    host = fault["component"].removeprefix("clock:")
    off: dict[bool, float] = {True: 0.0, False: 0.0}
    for topic, _, arrival_us, raw in tape.raw:
        if topic == "rnic-counters":
            value = orjson.loads(raw)
            mine = value["host"] == host
            off[mine] = max(off[mine], abs(arrival_us - value["t_us"]))
    assert off[True] > 300_000
    assert off[False] < 10_000_000


def test_agents_probe_no_target_that_is_not_ready_and_say_so() -> None:
    job = JobPlan(tp=4, pp=2, dp=2, period_s=8.0, phased=True, ready_s=30.0)
    simulation, tape = simulate(jobs=(job,))
    outcomes = {r.outcome for _, r in trains(simulation, tape, lambda *_: True)}
    assert "target_not_ready" in outcomes and "lost" not in outcomes
    assert tape.values["endpoint-map"][0].state == "starting"
    assert tape.values["endpoint-map"][-1].state == "running"
    assert simulation.truth()["monitor_faults"][0]["kind"] == "target_not_ready"


@pytest.mark.parametrize("what", ["migrate", "resize", "checkpoint", "end"])
def test_jobs_move_grow_pause_and_end(what: str) -> None:
    change = JobChange(20.0, what, dp=3 if what == "resize" else None, lasts_s=10.0)  # type: ignore[arg-type]
    job = JobPlan(tp=4, pp=1, dp=2, period_s=5.0, changes=(change,))
    simulation, tape = simulate(jobs=(job,), seconds=110)
    maps = tape.values["endpoint-map"]
    assert [m.version for m in maps] == list(range(1, len(maps) + 1))
    assert (maps[-1].state == "ended") == (what == "end")
    assert simulation.truth()["monitor_faults"][0]["kind"] == "skeleton_transition"
    ended = [(m.t_us - simulation.world.span.t0_us) / 1e6 for m in tape.values["job-progress"]]
    assert bool([end for end in ended if end > 75.0]) == (what != "end")


@pytest.mark.parametrize("kind", ["moe", "fsdp", "serving", "debugging"])
def test_other_jobs_have_edges_and_traffic(kind: str) -> None:
    job = JobPlan(kind=kind, tp=4, pp=1, dp=2, ep=2 if kind == "moe" else 1, period_s=8.0)  # type: ignore[arg-type]
    simulation, tape = simulate(jobs=(job,), seconds=40)
    assert simulation.truth()["edges"]
    assert any(message.bursts for message in tape.values["rnic-bursts"])


def test_a_fabric_without_room_is_refused() -> None:
    with pytest.raises(ScenarioError, match="no free seat"):
        simulate(jobs=(JobPlan(tp=4, pp=8, dp=8),))
    with pytest.raises(ScenarioError, match=r"faults\[0\]: what is 'gremlins'"):
        simulate("gremlins")


def test_the_catalogue_holds_every_subject() -> None:
    from skeletonhunter.evaluation.scenarios import SIZES, SUBJECTS

    names = {scenario_of(subject, size, 1).name for subject in SUBJECTS for size in SIZES}
    assert len(names) == len(SUBJECTS) * len(SIZES)
    with pytest.raises(ScenarioError, match="there is no subject 'issue-99-x'"):
        scenario_of("issue-99-x", "s", 1)
