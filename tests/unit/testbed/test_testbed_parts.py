"""The parts of the testbed by themselves: routes, edges, intervals, steps, physics, plans, streams."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from skeletonhunter.testbed.clos import RailSpec, rail_fabric
from skeletonhunter.testbed.effects import Silence
from skeletonhunter.testbed.fabric import port_node
from skeletonhunter.testbed.intervals import Intervals, always, recurring
from skeletonhunter.testbed.parallelism import Degrees, rank_edges, rank_groups
from skeletonhunter.testbed.plans import Plan
from skeletonhunter.testbed.producers import Span, Stream, draw_machine
from skeletonhunter.testbed.scenario import ScenarioError, TelemetryPlan, read_scenario
from skeletonhunter.testbed.steps import GRID_S, Rhythm, hang, pace_of, schedule
from skeletonhunter.testbed.traffic import DP, PP, RX, TX, StepShape, curve, step_bursts

DATA = Path(__file__).parents[2] / "data"
RNG = np.random.default_rng


@pytest.mark.parametrize("options", [{}, {"dual_tor": True}, {"segments_per_pod": 2}, {"rails": 2, "spines": 1}])
def test_routes_lead_from_rnic_to_rnic_along_cables(options: dict[str, Any]) -> None:
    spec = RailSpec("f", tuple(f"h{n}" for n in range(12)), hosts_per_leaf=3, **options)
    fabric = rail_fabric(spec)
    for sport in range(49152, 49172):
        src, dst = ("h0/mlx5_1", "10.0.0.1"), (f"h{1 + sport % 11}/mlx5_{sport % 2}", "10.0.0.2")
        hops = fabric.route(src, dst, sport)
        nodes = [port_node(fabric.port_of(hops[0])), *(port_node(fabric.far_port_of(hop)) for hop in hops)]
        assert (nodes[0], nodes[-1]) == (src[0], dst[0])
        assert [port_node(fabric.port_of(hop)) for hop in hops] == nodes[:-1]
        assert hops == fabric.route(src, dst, sport)
        assert len(set(nodes)) == len(nodes)


def test_routes_avoid_dead_switches_and_keep_the_old_way_where_there_is_none() -> None:
    fabric = rail_fabric(RailSpec("f", tuple(f"h{n}" for n in range(4)), rails=1, hosts_per_leaf=2, spines=3))
    src, dst = ("h0/mlx5_0", "10.0.0.1"), ("h3/mlx5_0", "10.0.0.2")
    dead = frozenset({"spine-0", "spine-1"})
    for sport in range(50_000, 50_020):
        nodes = {port_node(fabric.far_port_of(hop)) for hop in fabric.route(src, dst, sport, dead)}
        assert "spine-2" in nodes
        everything = frozenset({"spine-0", "spine-1", "spine-2"})
        assert fabric.route(src, dst, sport, everything) == fabric.route(src, dst, sport)


def test_edges_are_those_of_the_papers_figure() -> None:
    """Fig. 9: 4,480 directed pairs of the dense job, 3,840 of the one with experts, 512 ranks each."""
    dense = rank_edges(Degrees(tp=8, pp=8, dp=8))
    moe = rank_edges(Degrees(tp=8, pp=4, dp=4, ep=4))
    assert (2 * len(dense), 2 * len(moe)) == (4_480, 3_840)
    assert {b - a for a, b, kind in dense if kind == "pp"} == {8}
    assert {b - a for a, b, kind in dense if kind == "dp"} == {64 * n for n in range(1, 8)}
    assert {b - a for a, b, kind in moe if kind == "ep"} == {8, 16, 24}
    assert sorted(chain.from_iterable(rank_groups(Degrees(8, 4, 4, 4), "dp"))) == list(range(512))


PIECES = st.lists(st.floats(0.01, 50.0), min_size=2, max_size=12).map(np.cumsum)


@given(PIECES, st.lists(st.floats(-10.0, 700.0), min_size=1), st.floats(0.01, 30.0))
def test_shares_of_intervals_are_what_sampling_finds(knots: np.ndarray, at: list[float], width: float) -> None:
    even = knots[: len(knots) // 2 * 2]
    found = Intervals(even[::2], even[1::2])
    instants = np.array(at)
    share = found.share(instants, width)
    grid = instants[:, None] + width * (np.arange(400) + 0.5) / 400
    assert np.allclose(share, found.holds(grid).mean(axis=1), atol=0.02)
    gaps = found.gaps(float(even[0]) - 1.0, float(even[-1]) + 1.0)
    both = found.covered_s(np.array([1e9]))[0] + gaps.covered_s(np.array([1e9]))[0]
    assert both == pytest.approx(even[-1] - even[0] + 2.0)
    assert not (found.holds(grid) & gaps.holds(grid)).any()


def test_intervals_must_not_overlap() -> None:
    with pytest.raises(ValueError, match="must not overlap"):
        Intervals(np.array([0.0, 1.0]), np.array([2.0, 3.0]))


def test_a_hole_of_more_than_four_seconds_hangs_the_job_until_it_is_restarted() -> None:
    pace = np.ones(200)
    pace[20:26] = 0.0
    assert np.array_equal(hang(pace, 10.0), pace)
    pace[20:40] = 0.0
    assert (hang(pace, 10.0) == 0.0).sum() == 20 + round(10.0 / GRID_S)


def test_ten_microseconds_cost_a_fifth_and_loss_costs_more() -> None:
    assert pace_of(np.array([0.0]), np.array([10.0]))[0] == pytest.approx(1 / 1.2)
    assert pace_of(np.array([0.0, 0.01, 1.0]), np.zeros(3)).tolist() == [1.0, pytest.approx(1 / 1.32), 0.0]


def test_steps_take_as_long_as_the_pace_says() -> None:
    pace = np.ones(400)
    pace[100:200] = 0.5
    steps = schedule(Rhythm(10.0, 0.0), (-3.0, 200.0), pace, RNG(0))
    assert steps[0].end_s == pytest.approx(7.0)
    assert all(step.finished for step in steps)
    (slow,) = [step for step in steps if step.start_s >= 50.0 and step.end_s <= 100.0]
    assert slow.end_s - slow.start_s == pytest.approx(20.0)
    pace[100:140] = 0.0
    steps = schedule(Rhythm(10.0, 0.0), (-3.0, 200.0), hang(pace, 20.0), RNG(0))
    (broken,) = [step for step in steps if not step.finished and step.end_s < 200.0]
    assert broken.end_s == pytest.approx(50.0)
    assert min(step.start_s for step in steps if step.start_s > 50.0) == pytest.approx(90.0)


@pytest.mark.parametrize(("profile", "spread"), [("steady", 0.005), ("data_dependent", 0.07)])
def test_step_durations_vary_as_in_real_jobs(profile: str, spread: float) -> None:
    real = np.array(json.loads((DATA / "step_durations.json").read_text())[profile])
    steps = schedule(Rhythm(10.0, spread), (0.0, 5_000.0), np.ones(10_000), RNG(5))
    durations = np.array([step.end_s - step.start_s for step in steps if step.finished])
    assert ks_2samp(real, durations / np.median(durations)).pvalue > 0.05
    wrong = schedule(Rhythm(10.0, 4.0 * spread), (0.0, 5_000.0), np.ones(10_000), RNG(5))
    other = np.array([step.end_s - step.start_s for step in wrong if step.finished])
    assert ks_2samp(real, other / np.median(other)).pvalue < 0.05


def test_throughput_looks_like_the_papers_figure() -> None:
    """Fig. 7 at 1 Hz: 5 % of the time bursts of 13.2 Gb/s, 36 % idle, 59 % ripple of 2.05 Gb/s (1.5 to 2.6)."""
    shape = StepShape(reduce_share=0.05, idle_share=0.35, reduce_gbps=14.0, ripple_gbps=2.0, micro_batches=90)
    degrees, rng = Degrees(tp=1, pp=4, dp=4), RNG(2)
    steps = schedule(Rhythm(80.5, 0.014), (0.0, 805.0), np.ones(2_000), rng)
    parts = [step_bursts(degrees, shape, step, rng) for step in steps]
    mine = [part.where((part.rank == 0) & (part.direction == TX)) for part in parts]
    start, end, size = (
        np.concatenate([getattr(part, name) for part in mine]) for name in ("start_s", "end_s", "bytes")
    )
    order = np.argsort(start)
    moved = np.interp(np.arange(0.0, 805.0), *curve(start[order], end[order], size[order]))
    gbps = np.diff(moved) * 8 / 1e9
    burst, idle = gbps > 8.0, gbps < 0.5
    assert burst.mean() == pytest.approx(0.051, abs=0.01)
    assert idle.mean() == pytest.approx(0.364, abs=0.04)
    assert np.median(gbps[burst]) == pytest.approx(13.2, abs=1.0)
    assert np.quantile(gbps[~burst & ~idle], [0.1, 0.5, 0.9]) == pytest.approx([1.545, 2.05, 2.56], abs=0.6)


def test_what_one_stage_sends_the_next_one_receives() -> None:
    degrees = Degrees(tp=2, pp=3, dp=2)
    (step,) = schedule(Rhythm(10.0, 0.0), (0.0, 9.0), np.ones(40), RNG(1))
    bursts = step_bursts(degrees, StepShape(micro_batches=5), step, RNG(1))
    stage = degrees.stage_of()[bursts.rank]
    passed = bursts.kind == PP
    for lower in range(2):
        sent = bursts.bytes[passed & (bursts.direction == TX) & (stage == lower)].sum()
        received = bursts.bytes[passed & (bursts.direction == RX) & (stage == lower)].sum()
        assert (sent > 0) and (received > 0)
    assert bursts.bytes[bursts.direction == TX].sum() == bursts.bytes[bursts.direction == RX].sum()
    reduced = bursts.kind == DP
    assert sorted(set(bursts.rank[reduced].tolist())) == list(range(degrees.ranks))


@given(st.floats(0.1, 9.0), st.integers(1, 12))
def test_every_probe_of_a_plan_comes_once_a_round(round_s: float, count: int) -> None:
    offsets = np.arange(count) * round_s / count
    plan = Plan("j", 1, round_s, *(np.arange(count) for _ in range(3)), offsets)
    at = np.concatenate([plan.during(second).at_s for second in range(40)])
    index = np.concatenate([plan.during(second).src for second in range(40)])
    assert np.all(np.diff(at) >= -1e-9)
    for probe in range(count):
        own = at[index == probe]
        assert np.allclose(np.diff(own), round_s)
        assert len(own) in (int(40 // round_s), int(40 // round_s) + 1)


@given(st.integers(1, 4), st.integers(1, 3), st.booleans(), st.sampled_from([0.0, 1_750_000_000.0]))
def test_turns_and_alternation_follow_the_number_of_the_round(
    turns: int, rounds: int, alternate: bool, epoch_s: float
) -> None:
    sports = 50_000 + np.arange(turns)[None, :]
    plan = Plan("j", 1, 0.5, np.array([1]), np.array([2]), sports, np.array([0.25]), rounds, epoch_s, alternate)
    for second in range(20):
        found = plan.during(second)
        numbers = [round((at - 0.25 + epoch_s) * 2) for at in found.at_s.tolist()]
        assert numbers == [2 * (second + int(epoch_s)), 2 * (second + int(epoch_s)) + 1]
        assert found.sport.tolist() == [50_000 + number // rounds % turns for number in numbers]
        assert found.src.tolist() == [2 if alternate and number % 2 else 1 for number in numbers]


def _stream(**changes: Any) -> Stream:
    span = Span(1_750_000_000_000_000, 100)
    options = {"noise": TelemetryPlan(lost=0.0, repeated=0.0, late=0.0)} | changes
    machine = draw_machine("h-1", span, RNG(0))
    scope = {"fabric": "f"}
    return Stream("device-events", "h-1", "host-agent", machine, "f", scope, RNG(1), **options)


def test_a_stream_counts_what_it_sends_and_stamps_by_its_clock() -> None:
    stream = _stream()
    lines = [line for second in range(50) for line in stream.send(second, {"device": "host:h-1"})]
    values = [orjson.loads(line.raw) for line in lines]
    assert [value["producer"]["seq"] for value in values] == list(range(50))
    assert all(abs(value["t_us"] - stream.machine.span.at(n)) < 20 for n, value in enumerate(values))
    assert all(3_000 < line.arrival_us - stream.machine.span.at(n) < 500_000 for n, line in enumerate(lines))


def test_a_silent_agent_sends_nothing_and_a_held_one_late() -> None:
    when = always(10.0, 20.0)
    silent = _stream(silences=(Silence("h-1", when),))
    assert [second for second in range(30) if silent.send(second, {"a": 1})] == [*range(11), *range(21, 30)]
    held = _stream(silences=(Silence("h-1", when, "device-events", late_s=25.0),))
    (line,) = held.send(15, {"a": 1})
    assert line.arrival_us > held.machine.span.at(40)
    other = _stream(silences=(Silence("h-1", when, "flow-tables"), Silence("h-2", when)))
    assert other.send(15, {"a": 1})


def test_flaps_come_and_go_within_their_time() -> None:
    flaps = recurring((50.0, 90.0), (0.1, 1.0), (0.8, 4.0), RNG(3))
    assert flaps.first_s == 50.0
    assert flaps.last_s <= 90.0
    assert len(flaps.start_s) > 8


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "name = 'x'\nsecond = 3", "unknown field `second`"),
        ("a.toml", "name = 'x'\nseconds = 3", "Expected `int` >= 30 - at `$.seconds`"),
        ("a.toml", "name = ", "not TOML"),
        ("a.json", '{"seed": 1}', "missing required field `name`"),
        (
            "a.json",
            '{"name": "x", "jobs": [{"kind": "sparse"}]}',
            "Invalid enum value 'sparse' - at `$.jobs[0].kind`",
        ),
    ],
)
def test_a_wrong_scenario_is_refused_with_its_place(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ScenarioError) as caught:
        read_scenario(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)
