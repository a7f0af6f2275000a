"""Laws of the planner, for any job: slots within Δ + 1, nothing twice, all covered or named, the same every time."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from probe_planner.engine import PlannerEngine
from probe_planner.parameters import PlannerParameters
from schemas.folding import Observation, TimeReached
from schemas.instants import SECOND_US
from schemas.maps import EndpointMap, EndpointState
from schemas.probing import ProbePlan
from schemas.skeletons import Edge
from tests.simulated_jobs import BEGIN_US, Shape
from tests.unit.probe_planner.planning import Planning, busiest, fabric, job_map, rnics, skeleton, undirected

SHAPES = st.builds(Shape, tp=st.integers(1, 2), pp=st.integers(1, 4), dp=st.integers(1, 4), ep=st.integers(1, 2))
STATES: st.SearchStrategy[EndpointState] = st.sampled_from(["ready", "ready", "ready", "starting", "gone"])
BOUNDS = st.fixed_dictionaries(
    {
        "round_s": st.sampled_from([None, 0.3, 1.0]),
        "targets_per_rnic": st.sampled_from([None, 1, 3]),
        "directions": st.sampled_from(["both", "alternate"]),
        "probes_per_slot": st.integers(1, 2),
        "pps_per_rnic": st.sampled_from([2000.0, 4000.0]),
        "alpha": st.integers(1, 3),
        "rotate_s": st.sampled_from([5.0, 300.0]),
        "whole_after_s": st.sampled_from([1.0, 4.0]),
    }
)


def states(data: st.DataObject, shape: Shape) -> dict[int, EndpointState]:
    return {number: data.draw(STATES) for number in range(shape.ranks // shape.tp)}


def random_edges(data: st.DataObject, job: EndpointMap) -> tuple[Edge, ...]:
    names = sorted(endpoint.endpoint for endpoint in job.endpoints)
    pairs = list(combinations(names, 2))
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True, max_size=40)) if pairs else []
    return tuple((a, b, data.draw(st.sampled_from(["pp", "dp", "ep", "other"]))) for a, b in sorted(chosen))


def check(plan: ProbePlan, job: EndpointMap, edges: tuple[Edge, ...], bounds: PlannerParameters) -> None:
    """Everything that holds of any plan."""
    rnic_of, places = rnics(job.endpoints), {each.endpoint: each for each in job.endpoints}
    ready = {name for name, place in places.items() if place.state == "ready"}
    probed = undirected(plan)
    assert busiest(plan, rnic_of) <= bounds.probes_per_slot
    for a, b in probed:
        assert {a, b} <= ready and places[a].host != places[b].host
    if plan.mode == "skeleton":
        wanted = {(a, b) for a, b, _ in edges if {a, b} <= ready and places[a].host != places[b].host}
    else:
        together = combinations(sorted(ready), 2)
        wanted = {(a, b) for a, b in together if places[a].rail == places[b].rail and places[a].host != places[b].host}
    left_out = {(each.a, each.b) for each in plan.left_out}
    assert probed | left_out == wanted and not probed & left_out and plan.left_out_count == len(left_out)
    excluded = {each.endpoint for each in plan.excluded}
    assert excluded == set(places) - {name for pair in probed for name in pair}
    _check_slots(plan, probed, rnic_of, bounds)


def _check_slots(
    plan: ProbePlan, probed: set[tuple[str, str]], rnic_of: Mapping[str, str], bounds: PlannerParameters
) -> None:
    degree = max(Counter(rnic_of[name] for pair in probed for name in pair).values(), default=0)
    passes = 2 if bounds.directions == "both" else 1
    assert len(plan.slots) <= passes * -(-(degree + 1) // bounds.probes_per_slot)
    assert len(plan.slots) >= passes * -(-degree // bounds.probes_per_slot)
    assert plan.expected.lower_bound_s <= plan.expected.round_s + 1e-9
    assert bounds.round_s is None or plan.expected.round_s <= bounds.round_s + 1e-9
    peers = Counter(name for pair in probed for name in pair)
    assert bounds.targets_per_rnic is None or max(peers.values(), default=0) <= bounds.targets_per_rnic
    if plan.slots:
        packets = Counter(rnic_of[name] for slot in plan.slots for src, dst, _ in slot for name in (src, dst))
        assert max(packets.values()) * bounds.train_packets <= bounds.pps_per_rnic * plan.expected.round_s + 1e-6
    times = Counter((src, dst) for slot in plan.slots for src, dst, _ in slot)
    assert all(count == 1 for count in times.values())
    assert sum(times.values()) == plan.expected.probes == passes * len(probed)


@given(SHAPES, BOUNDS, st.booleans(), st.booleans(), st.data())
@settings(max_examples=80, deadline=None)
def test_any_plan_of_any_life_of_a_job(
    shape: Shape, bounds: dict[str, Any], mapped: bool, own_edges: bool, data: st.DataObject
) -> None:
    planning = Planning(PlannerParameters(**bounds))
    edges: tuple[Edge, ...] = random_edges(data, job_map(shape)) if own_edges else skeleton(shape).edges
    if mapped:
        planning.tell(fabric(shape, hosts_per_leaf=2, spines=2))
    for version in range(1, 5):
        job = job_map(shape, version, states(data, shape))
        trusted = data.draw(st.booleans())
        update = skeleton(shape, version, version, edges=edges, state="trusted" if trusted else "forming")
        planning.tell(job, update, seconds=data.draw(st.integers(1, 6)))
        check(planning.plan, job, edges, planning.parameters)
        assert trusted or planning.plan.mode == "basic"


@given(SHAPES, BOUNDS, st.data())
@settings(max_examples=40, deadline=None)
def test_the_agent_that_follows_deltas_has_the_plan_that_is_sent_whole(
    shape: Shape, bounds: dict[str, Any], data: st.DataObject
) -> None:
    planning = Planning(PlannerParameters(**{**bounds, "whole_after_s": 1.0}))
    planning.tell(fabric(shape, hosts_per_leaf=2, spines=2))
    for version in range(1, 5):
        planning.tell(job_map(shape, version, states(data, shape)), skeleton(shape, version, version), seconds=3)
        last = planning.sent[-1]
        assert isinstance(last, ProbePlan), "a whole plan follows every delta"
        followed = msgspec.structs.replace(planning.plan, t_us=last.t_us, producer=last.producer)
        assert followed == last
    versions = [message.version for message in planning.sent]
    assert versions == sorted(versions)
    assert len({message.plan for message in planning.sent}) == len(set(versions)), "an id and a version are one"


@given(SHAPES, BOUNDS, st.data())
@settings(max_examples=30, deadline=None)
def test_the_same_on_every_run_in_any_order_within_a_second_and_after_pickles(
    shape: Shape, bounds: dict[str, Any], data: st.DataObject
) -> None:
    lives = [(job_map(shape, v, states(data, shape)), skeleton(shape, v, v)) for v in range(1, 4)]
    shuffled = [data.draw(st.permutations(list(life))) for life in lives]
    plain, other = Planning(PlannerParameters(**bounds)), Planning(PlannerParameters(**bounds))
    for planning in (plain, other):
        planning.tell(fabric(shape, hosts_per_leaf=2, spines=2))
    for life, mixed in zip(lives, shuffled, strict=True):
        plain.tell(*life, seconds=2)
        other.state = pickle.loads(pickle.dumps(other.state))
        other.tell(*mixed, seconds=2)
    assert plain.sent == other.sent


@given(SHAPES, st.data())
@settings(max_examples=20, deadline=None)
def test_the_order_of_endpoints_and_edges_changes_nobody_probed(shape: Shape, data: st.DataObject) -> None:
    job, update = job_map(shape), skeleton(shape)
    mixed = msgspec.structs.replace(job, endpoints=tuple(data.draw(st.permutations(job.endpoints))))
    one, two = Planning(), Planning()
    one.tell(job, update)
    two.tell(mixed, msgspec.structs.replace(update, edges=tuple(data.draw(st.permutations(update.edges)))))
    assert undirected(one.plan) == undirected(two.plan)
    assert one.plan.excluded == two.plan.excluded


def test_memory_does_not_grow_with_time() -> None:
    shape = Shape(tp=2, pp=4, dp=4)
    engine = PlannerEngine(PlannerParameters())
    state, sizes = engine.start("j"), []
    for version in range(1, 41):
        gone: dict[int, EndpointState] = {version % 7: "gone"}
        for value, topic in (
            (job_map(shape, version, gone), "endpoint-map"),
            (skeleton(shape, version, version), "skeleton-updates"),
        ):
            state, _ = engine.step(state, Observation(topic, value))
        state, _ = engine.step(state, TimeReached(BEGIN_US + version * SECOND_US))
        sizes.append(len(pickle.dumps(state)))
    assert max(sizes[20:]) <= 1.05 * max(sizes[:20])
