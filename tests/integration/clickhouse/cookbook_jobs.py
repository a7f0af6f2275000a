"""What the cookbook must say of jobs, their training, skeletons, plans and probes, worked out from the recordings."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from statistics import median

import pytest

from tests.integration.clickhouse.cookbook_incidents import RNIC
from tests.integration.clickhouse.cookbook_world import World

JOB = "job-9504"
ILL = ("c-0545-014/mlx5_5", "c-01b1-002/mlx5_5")
QUIET = "c-1a80-001"
"""The job and the pair of the bundled incident; the agent that dies in the simulated one."""


def steps_lost(bundled: World, _: World) -> None:
    last = bundled.incident(RNIC)
    assert last.resolved_us is not None
    steps = bundled.values("job-progress")
    usual_s = median(step.step_s for step in steps if step.t_us <= last.onset_us)
    done = 0.0
    for step in steps:
        inside_us = min(step.t_us, last.resolved_us) - max(step.t_us - step.step_s * 1e6, last.onset_us)
        done += max(0.0, inside_us / (step.step_s * 1e6))
    expected = (last.resolved_us - last.onset_us) / 1e6 / usual_s
    [row] = bundled.ask("steps_lost")
    assert (row["job"], row["component"]) == (JOB, RNIC)
    assert row["steps_lost"] == pytest.approx(expected - done, abs=0.01)
    assert row["progress_preserved"] == pytest.approx(done / expected, abs=0.001)


def useful_progress(_: World, simulated: World) -> None:
    steps = defaultdict(list)
    for step in simulated.values("job-progress"):
        steps[step.job].append(step)
    answer = {row["job"]: row for row in simulated.ask("useful_progress")}
    assert set(answer) == set(steps)
    for job, own in steps.items():
        elapsed_s = (max(step.t_us for step in own) - min(step.t_us - step.step_s * 1e6 for step in own)) / 1e6
        useful = len({step.step for step in own}) * median(step.step_s for step in own) / elapsed_s
        assert answer[job]["useful_progress"] == pytest.approx(min(1.0, useful), abs=0.001)
        assert answer[job]["steps_repeated"] == 0


def rtt_heat_map(bundled: World, _: World) -> None:
    rail_of = {e.endpoint: e.rail for map_ in bundled.values("endpoint-map") for e in map_.endpoints}
    sent: Counter[tuple[int, int]] = Counter()
    lost: Counter[tuple[int, int]] = Counter()
    highest: dict[tuple[int, int], float] = defaultdict(float)
    for train in bundled.trains():
        cell = (train.of.t_us // 60_000_000, rail_of[train.src])
        sent[cell] += train.of.sent
        lost[cell] += train.of.lost
        highest[cell] = max([highest[cell], *train.of.rtt_us])
    answer = bundled.ask("rtt_heat_map", job=JOB)
    cells = {(int(row["minute"].timestamp()) // 60, row["rail"]): row for row in answer}
    assert set(cells) == set(sent)
    for cell, row in cells.items():
        assert row["loss"] == pytest.approx(lost[cell] / sent[cell])
        assert row["rtt_max_us"] == pytest.approx(highest[cell], rel=1e-6)
    assert max(answer, key=lambda row: row["loss"])["rail"] == 5


def worst_pairs(bundled: World, _: World) -> None:
    own = [train.of for train in bundled.trains() if (train.src, train.of.dst) == ILL]
    first, second, *_more = bundled.ask("worst_pairs", job=JOB)
    assert (first["src"], first["dst"]) == ILL
    assert first["lost"] == sum(train.lost for train in own)
    assert first["loss"] == pytest.approx(first["lost"] / sum(train.sent for train in own))
    assert first["loss"] > 100 * second["loss"]
    assert first["rtt_max_us"] == pytest.approx(max(rtt for train in own for rtt in train.rtt_us), rel=1e-6)


def pair_second_by_second(bundled: World, _: World) -> None:
    own = [train.of for train in bundled.trains() if (train.src, train.of.dst) == ILL]
    answer = bundled.ask("pair_second_by_second", job=JOB, src=ILL[0], dst=ILL[1])
    by_second = Counter(-(-train.t_us // 1_000_000) for train in own)
    assert [int(row["time"].timestamp()) for row in answer] == sorted(by_second)
    assert [row["sent"] for row in answer] == [1000 * by_second[second] for second in sorted(by_second)]
    assert sum(row["lost"] for row in answer) == sum(train.lost for train in own)
    sampled = {-(-train.t_us // 1_000_000) for train in own if train.rtt_us}
    assert {int(row["time"].timestamp()) for row in answer if row["rtt_us"] is not None} == sampled < set(by_second)


def placement(bundled: World, _: World) -> None:
    [newest] = bundled.values("endpoint-map")
    answer = bundled.ask("placement", job=JOB)
    assert sum(len(row["rnics"]) for row in answer) == len(newest.endpoints) == 128
    assert {row["host"] for row in answer} == {endpoint.host for endpoint in newest.endpoints}
    first = next(row for row in answer if row["container"] == "c-0545-014")
    assert first["ranks"] == sorted(e.rank for e in newest.endpoints if e.container == "c-0545-014")
    assert first["switches"] == [f"leaf-0-{rail}" for rail in range(8)]


def traffic_by_rail(bundled: World, _: World) -> None:
    sent: Counter[int] = Counter()
    for message in bundled.values("rnic-bursts"):
        sent[int(message.endpoint[-1])] += sum(burst.bytes for burst in message.bursts if burst.direction == "tx")
    told: Counter[int] = Counter()
    for row in bundled.ask("traffic_by_rail", job=JOB):
        told[row["rail"]] += row["tx_bytes"]
    assert told == sent


def skeleton_coverage(bundled: World, _: World) -> None:
    answer = bundled.ask("skeleton_coverage", job=JOB)
    made = bundled.values("skeleton-updates")
    assert [(row["version"], row["state"], row["coverage"]) for row in answer] == [
        (each.version, each.state, each.coverage) for each in made
    ]
    assert answer[0]["state"] == "forming" and any(row["state"] == "trusted" for row in answer)


def plan_sizes(bundled: World, simulated: World) -> None:
    [row] = bundled.ask("plan_sizes")
    plans = bundled.values("probe-plans")
    assert (row["mode"], row["probes"], row["basic_probes"]) == (
        *(plans[-1].mode, plans[-1].expected.probes),
        plans[0].expected.probes,
    )
    assert row["saved"] == pytest.approx(1 - plans[-1].expected.probes / plans[0].expected.probes)
    assert len(simulated.ask("plan_sizes")) == 2


def planned_but_not_probed(bundled: World, simulated: World) -> None:
    probed = {(train.src, train.of.dst) for train in bundled.trains()}
    plan = bundled.values("probe-plans")[-1]
    planned = {(src, dst) for slot in plan.slots for src, dst, _ in slot}
    answer = bundled.ask("planned_but_not_probed", job=JOB)
    assert {(row["src"], row["dst"]) for row in answer} == planned - probed
    job = simulated.values("probe-plans")[-1].job
    assert all(row["source_probed"] >= 0 for row in simulated.ask("planned_but_not_probed", job=job))


def probes_by_outcome(bundled: World, simulated: World) -> None:
    for world in (bundled, simulated):
        counted = Counter((train.job, train.of.outcome) for train in world.trains())
        jobs = Counter(train.job for train in world.trains())
        answer = world.ask("probes_by_outcome")
        assert {(row["job"], row["outcome"]): row["trains"] for row in answer} == dict(counted)
        assert all(row["share"] == pytest.approx(row["trains"] / jobs[row["job"]]) for row in answer)


def agents_missing(bundled: World, simulated: World) -> None:
    assert bundled.ask("agents_missing", silent_s=12.0) == []
    [row] = simulated.ask("agents_missing", silent_s=12.0)
    seen_us = sorted(each.t_us for each in simulated.values("agent-health") if each.agent == QUIET)
    assert (row["agent"], row["reports"]) == (QUIET, len(seen_us))
    gaps_us = [later - earlier for earlier, later in pairwise(seen_us)]
    assert row["longest_s"] == pytest.approx(max(gaps_us) / 1e6) and row["longest_s"] > 50


def agents_load(bundled: World, _: World) -> None:
    reports = defaultdict(list)
    for each in bundled.values("agent-health"):
        reports[each.agent].append(each)
    answer = {row["agent"]: row for row in bundled.ask("agents_load")}
    assert set(answer) == set(reports)
    for agent, row in answer.items():
        assert row["rss_mb"] == pytest.approx(max(each.rss_bytes for each in reports[agent]) / 1e6)
        assert (row["dropped"], row["not_ok"]) == (0, 0.0)


def clock_quality(bundled: World, simulated: World) -> None:
    assert all(row["beyond_1ms"] == 0 and row["sources"] == ["ptp"] for row in bundled.ask("clock_quality"))
    first, second, *_ = simulated.ask("clock_quality")
    assert first["host"] == "h-3633" and first["delay_range_ms"] > 2_000 > 500 > second["delay_range_ms"]


def late_data(bundled: World, simulated: World) -> None:
    answer = {row["topic"]: row for row in simulated.ask("late_data")}
    under_way: dict[object, float] = {}
    for each in simulated.told["probe-results"]:  # of what came twice the last one counts
        for place, train in enumerate(each.value.results):  # type: ignore[attr-defined]
            producer = each.value.producer  # type: ignore[attr-defined]
            under_way[producer.id, producer.seq, place] = (each.arrival_us - train.t_us) / 1e6
    probes = answer["probe-results"]
    assert (probes["rows"], probes["late"]) == (len(under_way), sum(delay > 5 for delay in under_way.values()))
    assert probes["delay_max_s"] == pytest.approx(max(under_way.values()), rel=1e-6)
    assert set(answer) == set(simulated.told) & {"agent-health", "device-events", "flow-tables", "probe-results"} | {
        *("rnic-counters", "switch-queues")
    }
    assert all(row["late"] == 0 for row in bundled.ask("late_data"))
