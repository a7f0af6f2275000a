"""Versions of the plan: basic until the skeleton is trusted, then its edges; a new one only when something changes."""

from __future__ import annotations

import pickle
from typing import Any

import msgspec
import pytest

from probe_planner.engine import PlannerEngine
from probe_planner.parameters import PlannerParameters
from schemas.folding import DERIVED_CLOCK, Event, Observation, TimeReached, derived_producer
from schemas.instants import SECOND_US
from schemas.maps import EndpointMap, Parallelism
from schemas.plan_changes import newer_plan
from schemas.probing import ProbePlan
from schemas.skeletons import Edge, SkeletonUpdate
from tests.simulated_jobs import BEGIN_US, Shape, endpoint_map, name_of

SHAPE = Shape(tp=2, pp=2, dp=4)
EDGES: tuple[Edge, ...] = tuple(
    sorted((*sorted((name_of(SHAPE, a), name_of(SHAPE, b))), "dp") for a, b in SHAPE.edges())  # type: ignore[misc]
)


def skeleton(version: int = 1, state: str = "trusted", map_version: int = 1, **changes: Any) -> SkeletonUpdate:
    return msgspec.structs.replace(
        SkeletonUpdate(
            v=1,
            t_us=BEGIN_US,
            producer=derived_producer("skeleton", "j", version),
            clock=DERIVED_CLOCK,
            fabric="f",
            job="j",
            skeleton=f"s{version}",
            version=version,
            supersedes=None,
            endpoint_map_version=map_version,
            state=state,  # type: ignore[arg-type]
            confidence=0.9,
            coverage=1.0,
            period_s=10.0,
            groups=(),
            edges=EDGES,
            parallelism=Parallelism(),
            reason="",
        ),
        **changes,
    )


def plans(*values: EndpointMap | SkeletonUpdate, parameters: PlannerParameters | None = None) -> list[ProbePlan]:
    """The plans that are sent when each value is followed by the end of its second."""
    engine = PlannerEngine(parameters or PlannerParameters())
    state, sent = engine.start("j"), []
    for number, value in enumerate(values):
        topic = "endpoint-map" if isinstance(value, EndpointMap) else "skeleton-updates"
        for event in (Observation(topic, value), TimeReached(BEGIN_US + number * SECOND_US)):
            state, emitted = engine.step(state, event)
            assert all(emission.key == "j" for emission in emitted)
            sent.extend(emission.value for emission in emitted)
    followed: list[ProbePlan] = []
    for message in sent:
        now = newer_plan(followed[-1] if followed else None, message)  # type: ignore[arg-type]
        assert now is not None and (not followed or now is not followed[-1])
        followed.append(now)
    return followed


def directed(plan: ProbePlan) -> set[tuple[str, str]]:
    return {(src, dst) for slot in plan.slots for src, dst, _ in slot}


def pairs_of(plan: ProbePlan) -> set[tuple[str, str]]:
    return {(min(probe), max(probe)) for probe in directed(plan)}


def test_basic_before_the_skeleton_is_trusted() -> None:
    (plan,) = plans(endpoint_map(SHAPE), skeleton(state="forming", edges=()))
    assert (plan.mode, plan.version, plan.skeleton_version) == ("basic", 1, None)
    assert len(directed(plan)) == 2 * 8 * 7
    assert plan.excluded == ()


def test_the_skeleton_when_it_is_trusted_and_basic_again_when_it_is_not() -> None:
    found = plans(endpoint_map(SHAPE), skeleton(1), skeleton(2, "degraded"), skeleton(3))
    assert [(plan.mode, plan.version) for plan in found] == [
        ("basic", 1),
        ("skeleton", 2),
        ("basic", 3),
        ("skeleton", 4),
    ]
    assert [plan.skeleton_version for plan in found] == [None, 1, None, 3]
    assert directed(found[1]) == {pair for a, b, _ in EDGES for pair in ((a, b), (b, a))}
    assert len({plan.plan for plan in found}) == 4


def test_a_skeleton_of_another_map_is_not_followed() -> None:
    found = plans(endpoint_map(SHAPE), skeleton(1), endpoint_map(SHAPE, version=2), skeleton(2, map_version=2))
    assert [plan.mode for plan in found] == ["basic", "skeleton", "basic", "skeleton"]


def test_nothing_is_sent_when_nothing_changes() -> None:
    assert len(plans(endpoint_map(SHAPE), skeleton(1), skeleton(2, confidence=0.95), endpoint_map(SHAPE))) == 2


def test_older_versions_are_ignored() -> None:
    assert (
        len(plans(endpoint_map(SHAPE, 5), skeleton(4, map_version=5), endpoint_map(Shape(dp=2), 4), skeleton(3))) == 2
    )


def test_pairs_of_users_between_rails_are_probed_beside_the_basic_list() -> None:
    a, b = name_of(SHAPE, 0), name_of(SHAPE, 5)  # other host, other rail
    user: Edge = (min(a, b), max(a, b), "user")
    within: Edge = (*sorted((name_of(SHAPE, 0), name_of(SHAPE, 1))), "user")  # type: ignore[assignment]
    basic, added, gone = plans(
        endpoint_map(SHAPE),
        skeleton(1, "forming", edges=(user, within)),
        skeleton(2, "forming", edges=()),
    )
    assert added.mode == gone.mode == "basic"
    assert pairs_of(added) - pairs_of(basic) == {user[:2]} and pairs_of(basic) < pairs_of(added)
    assert pairs_of(gone) == pairs_of(basic)


def test_pairs_of_users_go_and_come_with_their_endpoints_and_are_kept_first_by_a_budget() -> None:
    a, b = name_of(SHAPE, 0), name_of(SHAPE, 5)
    user: Edge = (min(a, b), max(a, b), "user")
    whole = endpoint_map(SHAPE)
    states = tuple(
        msgspec.structs.replace(e, state="starting" if e.endpoint == b else "ready") for e in whole.endpoints
    )
    without = msgspec.structs.replace(whole, endpoints=states, version=2)
    forming = skeleton(1, "forming", edges=(user,))
    first, left, back = plans(forming, whole, without, msgspec.structs.replace(whole, version=3))
    assert user[:2] in pairs_of(first) and user[:2] not in pairs_of(left) and pairs_of(back) == pairs_of(first)
    tight = PlannerParameters(targets_per_rnic=1)
    assert user[:2] in pairs_of(plans(forming, whole, parameters=tight)[-1])


@pytest.mark.parametrize("state", ["starting", "gone"])
def test_endpoints_that_are_not_ready_are_left_out_with_the_reason(state: str) -> None:
    whole = endpoint_map(SHAPE)
    endpoints = (msgspec.structs.replace(whole.endpoints[0], state=state), *whole.endpoints[1:])
    partial = msgspec.structs.replace(whole, version=2, endpoints=endpoints)
    for plan in plans(partial, skeleton(1, map_version=2)):
        assert whole.endpoints[0].endpoint not in {name for pair in directed(plan) for name in pair}
        (excluded,) = plan.excluded
        assert excluded.endpoint == whole.endpoints[0].endpoint
        assert state in excluded.why


def test_readiness_activates_the_pairs() -> None:
    whole = endpoint_map(SHAPE, version=2)
    endpoints = (msgspec.structs.replace(whole.endpoints[0], state="starting"), *whole.endpoints[1:])
    found = plans(msgspec.structs.replace(whole, version=1, endpoints=endpoints), whole)
    assert len(directed(found[1])) - len(directed(found[0])) == 2 * 7


def test_edges_within_a_host_are_not_probed() -> None:
    inside = (*sorted((name_of(SHAPE, 0), name_of(SHAPE, 1))), "pp")
    last = plans(endpoint_map(SHAPE), skeleton(1, edges=(*EDGES, inside)))[-1]
    assert directed(last) == {pair for a, b, _ in EDGES for pair in ((a, b), (b, a))}


def test_a_trusted_skeleton_without_edges_does_not_stop_probing() -> None:
    assert [plan.mode for plan in plans(endpoint_map(SHAPE), skeleton(1, edges=()))] == ["basic"]


@pytest.mark.parametrize("values", [(skeleton(1, "disabled"),), (endpoint_map(SHAPE, 2, state="ended"),)])
def test_switched_off_or_ended_is_an_empty_plan(values: tuple[EndpointMap | SkeletonUpdate, ...]) -> None:
    last = plans(endpoint_map(SHAPE), *values)[-1]
    assert (last.mode, last.slots, last.expected.probes) == ("disabled", (), 0)


def test_the_budget_is_kept_and_stated() -> None:
    parameters = PlannerParameters(round_s=0.2, pps_per_rnic=10_000.0, targets_per_rnic=3, directions="alternate")
    for plan in plans(endpoint_map(SHAPE), skeleton(1), parameters=parameters):
        assert (plan.budget.round_s, plan.budget.pps_per_rnic, plan.budget.targets_per_rnic) == (0.2, 10_000.0, 3)
        assert plan.expected.round_s <= 0.2
        names = [name for pair in directed(plan) for name in pair]
        assert max(names.count(name) for name in names) <= 3


def test_the_most_important_edges_are_kept_under_a_budget() -> None:
    a, b, c = name_of(SHAPE, 0), name_of(SHAPE, 4), name_of(SHAPE, 2)
    edges = ((a, b, "dp"), (*sorted((a, c)), "pp"))
    last = plans(endpoint_map(SHAPE), skeleton(1, edges=edges), parameters=PlannerParameters(targets_per_rnic=1))[-1]  # type: ignore[arg-type]
    assert directed(last) == {(a, c), (c, a)}


def test_nothing_before_a_map_is_known() -> None:
    assert plans(skeleton(1)) == []


def test_plans_are_the_same_on_every_run_and_after_a_pickle() -> None:
    values = (endpoint_map(SHAPE), skeleton(1), skeleton(2, "stale", edges=()))
    engine = PlannerEngine(PlannerParameters())
    state, sent = engine.start("j"), []
    for number, value in enumerate(values):
        topic = "endpoint-map" if isinstance(value, EndpointMap) else "skeleton-updates"
        stream: tuple[Event, ...] = (Observation(topic, value), TimeReached(BEGIN_US + number * SECOND_US))
        for event in stream:
            state, emitted = PlannerEngine(PlannerParameters()).step(pickle.loads(pickle.dumps(state)), event)
            sent.extend(emission.value for emission in emitted)
    assert sent == plans(*values)


def test_a_large_job_is_planned_in_well_under_a_second() -> None:
    import time

    large = Shape(tp=8, pp=32, dp=8)
    edges = tuple(
        sorted((*sorted((name_of(large, a), name_of(large, b))), "dp") for a, b in large.edges())  # type: ignore[misc]
    )
    engine = PlannerEngine(PlannerParameters())
    state = engine.start("j")
    for event in (
        Observation("endpoint-map", endpoint_map(large)),
        Observation("skeleton-updates", skeleton(1, edges=edges)),
    ):
        state, _ = engine.step(state, event)
    before_s = time.process_time()
    _, (emission,) = engine.step(state, TimeReached(BEGIN_US))
    assert time.process_time() - before_s < 1.5
    plan = emission.value
    assert isinstance(plan, ProbePlan)
    assert plan.mode == "skeleton" and len(plan.slots) <= 2 * 10
