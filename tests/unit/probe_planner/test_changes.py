"""Plans that change: deltas and whole plans agree, budgets take turns, suspicion gets extra probes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from probe_planner.parameters import PlannerParameters
from schemas.folding import Observation
from schemas.plan_changes import apply_delta, newer_plan
from schemas.probing import ProbePlan, ProbePlanDelta
from tests.simulated_jobs import Shape, name_of
from tests.unit.probe_planner.planning import (
    Planning,
    busiest,
    directed,
    edges_of,
    fabric,
    job_map,
    rnics,
    skeleton,
    suspects,
    undirected,
)

SHAPE = Shape(tp=2, pp=4, dp=4)
SMALL = Shape(tp=2, pp=2, dp=4)


def same(one: ProbePlan, other: ProbePlan) -> bool:
    return msgspec.structs.replace(one, t_us=other.t_us, producer=other.producer) == other


def started(shape: Shape = SHAPE, **bounds: Any) -> Planning:
    planning = Planning(PlannerParameters(**bounds))
    planning.tell(job_map(shape), skeleton(shape), fabric(shape, hosts_per_leaf=2))
    return planning


def container(shape: Shape, number: int) -> set[str]:
    return {name_of(shape, number * shape.tp + rank) for rank in range(shape.tp)}


@pytest.mark.parametrize("directions", ["both", "alternate"])
def test_a_container_that_leaves_and_comes_back_touches_only_its_own_pairs(directions: str) -> None:
    planning = started(directions=directions)
    first, own = planning.plan, container(SHAPE, 5)
    (gone,) = planning.tell(job_map(SHAPE, 2, {5: "gone"}), skeleton(SHAPE, 2, 2))
    assert isinstance(gone, ProbePlanDelta) and not gone.added
    assert all(src in own or dst in own for _, src, dst, _ in gone.removed)
    assert {each.endpoint for each in gone.excluded} == own and {each.why for each in gone.excluded} == {"gone"}
    assert directed(planning.plan) == {pair for pair in directed(first) if not own & set(pair)}
    (back,) = planning.tell(job_map(SHAPE, 3), skeleton(SHAPE, 3, 3))
    assert isinstance(back, ProbePlanDelta) and not back.removed
    assert all(src in own or dst in own for _, src, dst, _ in back.added)
    assert set(back.included) == own
    assert undirected(planning.plan) == undirected(first)
    assert planning.plan.expected.link_coverage == 1.0


def test_the_whole_plan_follows_with_the_same_id_for_those_who_come_late() -> None:
    planning = started(whole_after_s=5.0)
    (delta,) = planning.tell(job_map(SHAPE, 2, {5: "gone"}), skeleton(SHAPE, 2, 2))
    followed = planning.plan
    later = planning.tell(seconds=12)
    (whole,) = later
    assert isinstance(whole, ProbePlan) and isinstance(delta, ProbePlanDelta)
    assert (whole.plan, whole.version) == (delta.plan, delta.version)
    assert whole.t_us - delta.t_us == 5_000_000
    assert same(followed, whole)
    assert planning.plan is followed, "who followed the delta goes on with it"


def test_readiness_activates_its_pairs_of_the_basic_list_one_after_the_other() -> None:
    planning = Planning()
    waiting = dict.fromkeys(range(10, 16), "starting")
    planning.tell(job_map(SHAPE, 1, waiting), fabric(SHAPE, hosts_per_leaf=2))  # type: ignore[arg-type]
    assert planning.plan.mode == "basic"
    for version, number in enumerate((10, 11, 12, 13), start=2):
        del waiting[number]
        (message,) = planning.tell(job_map(SHAPE, version, waiting))  # type: ignore[arg-type]
        own = container(SHAPE, number)
        assert isinstance(message, ProbePlanDelta)
        new = {(src, dst) for _, src, dst, _ in message.added}
        assert {pair for pair in new if own & set(pair)} == {
            pair for pair in directed(planning.plan) if own & set(pair)
        }
        assert set(message.included) == own
    rnic_of = rnics(job_map(SHAPE).endpoints)
    assert busiest(planning.plan, rnic_of) == 1


def test_half_the_job_leaving_is_a_whole_plan() -> None:
    planning = started()
    (message,) = planning.tell(job_map(SHAPE, 2, dict.fromkeys(range(8), "gone")), skeleton(SHAPE, 2, 2))
    assert isinstance(message, ProbePlan)


def test_an_endpoint_on_another_host_is_a_whole_plan() -> None:
    planning = started()
    moved = job_map(SHAPE, 2)
    elsewhere = msgspec.structs.replace(moved.endpoints[0], host="h-new")
    moved = msgspec.structs.replace(moved, endpoints=(elsewhere, *moved.endpoints[1:]))
    messages = planning.tell(moved, skeleton(SHAPE, 2, 2))
    assert all(isinstance(message, ProbePlan) for message in messages)


def test_a_delta_for_another_plan_is_refused_and_not_followed() -> None:
    planning = started()
    first = planning.plan
    (one,) = planning.tell(job_map(SHAPE, 2, {5: "gone"}), skeleton(SHAPE, 2, 2))
    (two,) = planning.tell(job_map(SHAPE, 3, {5: "gone", 6: "gone"}), skeleton(SHAPE, 3, 3))
    assert isinstance(one, ProbePlanDelta) and isinstance(two, ProbePlanDelta)
    with pytest.raises(ValueError, match="is for the plan"):
        apply_delta(first, two)
    assert newer_plan(first, two) is first and newer_plan(None, one) is None
    broken = msgspec.structs.replace(one, removed=((0, "x", "y", 1),))
    with pytest.raises(ValueError, match="not there"):
        apply_delta(first, broken)
    with pytest.raises(ValueError, match="beyond its 1 slots"):
        apply_delta(first, msgspec.structs.replace(one, slots=1, removed=()))


def test_suspected_components_get_extra_slots_within_the_budget_and_give_them_back() -> None:
    planning = started(round_s=1.0)
    before = planning.plan
    rnic_of = rnics(job_map(SHAPE).endpoints)
    bad = name_of(SHAPE, 0)
    (message,) = planning.tell(suspects(1, **{f"rnic__{rnic_of[bad].replace('/', '_slash_')}": 3}))
    assert isinstance(message, ProbePlanDelta) and not message.removed
    plan = planning.plan
    assert plan.extra and all(bad in probe for probe in plan.extra)
    assert plan.suspects == (f"rnic:{rnic_of[bad]}",)
    assert len(before.slots) < len(plan.slots) <= len(before.slots) * 1.25 + 1
    assert plan.expected.round_s <= 1.0 and busiest(plan, rnic_of) == 1
    assert plan.expected.probes == sum(map(len, plan.slots))
    (message,) = planning.tell(suspects(2))
    assert isinstance(message, ProbePlanDelta) and not message.added
    assert planning.plan.slots == before.slots and planning.plan.extra == ()


def test_a_suspected_link_gets_probes_of_the_pairs_that_cross_it() -> None:
    planning = started()
    view = fabric(SHAPE, hosts_per_leaf=2)
    link = next(each for each in view.links if "spine" in each.b)
    planning.tell(suspects(1, **{f"link__{link.id}": 2}))
    leaf = link.a.rpartition("/")[0]
    below = {each.a.rpartition("/")[0] for each in view.links if each.b.rpartition("/")[0] == leaf}
    rnic_of = rnics(job_map(SHAPE).endpoints)
    assert planning.plan.extra
    assert all(len({rnic_of[name] for name in probe} & below) == 1 for probe in planning.plan.extra)


def test_without_extra_share_or_room_suspicion_changes_nothing() -> None:
    for bounds in ({"extra_share": 0.0}, {"round_s": 0.4}):
        planning = started(SMALL, **bounds)
        assert planning.tell(suspects(1, rnic__h000_slash_mlx5_0=3)) == []


def test_what_the_budget_leaves_out_is_listed_and_has_its_turn() -> None:
    planning = started(SMALL, targets_per_rnic=2, rotate_s=20.0)
    wanted = {(a, b) for a, b, _ in edges_of(SMALL)}
    first = planning.plan
    left = {(each.a, each.b) for each in first.left_out}
    assert left and first.left_out_count == len(left)
    assert undirected(first) | left == wanted and not undirected(first) & left
    assert {each.why for each in first.left_out} == {"targets_per_rnic"}
    probed = set(undirected(first))
    for _ in range(12):
        planning.tell(seconds=20)
        probed |= undirected(planning.plan)
    assert probed == wanted
    assert planning.plan.version > first.version


def test_the_busiest_link_stretches_the_slots_and_the_round_still_fits() -> None:
    bounds: dict[str, Any] = {"link_gbps": 0.02, "link_share": 0.1, "pps_per_rnic": 20_000.0}
    loose, tight = started(SMALL, **bounds), started(SMALL, round_s=1.0, **bounds)
    assert loose.plan.coverage is not None
    slot_s = loose.plan.expected.round_s / len(loose.plan.slots)
    bits = loose.plan.coverage.most_per_slot * 200 * 128 * 8
    assert slot_s == pytest.approx(bits / 2e6)
    assert loose.plan.expected.round_s > 1.0 >= tight.plan.expected.round_s
    assert tight.plan.left_out_count > 0


def test_more_probes_at_a_time_make_shorter_rounds_of_longer_slots() -> None:
    one, two = started(), started(probes_per_slot=2)
    rnic_of = rnics(job_map(SHAPE).endpoints)
    assert busiest(one.plan, rnic_of) == 1 and busiest(two.plan, rnic_of) == 2
    assert len(two.plan.slots) == -(-len(one.plan.slots) // 4) * 2
    assert two.plan.probes_per_slot == 2
    assert directed(one.plan) == directed(two.plan)


def test_alternating_plans_say_so_and_have_each_pair_once() -> None:
    plan = started(directions="alternate").plan
    assert plan.alternate and not started().plan.alternate
    assert len(directed(plan)) == len(undirected(plan)) == len(edges_of(SHAPE))


def test_input_is_not_changed() -> None:
    planning = Planning()
    values = [job_map(SHAPE), skeleton(SHAPE), fabric(SHAPE)]
    before = [msgspec.json.encode(value) for value in values]
    planning.tell(*values)
    planning.tell(job_map(SHAPE, 2, {3: "gone"}), skeleton(SHAPE, 2, 2))
    assert [msgspec.json.encode(value) for value in values] == before


def test_a_fabric_that_comes_later_changes_ports_once() -> None:
    planning = Planning()
    planning.tell(job_map(SMALL), skeleton(SMALL))
    assert planning.plan.coverage is None
    planning.tell(fabric(SMALL, hosts_per_leaf=1, spines=4))
    assert planning.plan.coverage is not None and planning.plan.version == 2
    assert planning.tell(fabric(SMALL, hosts_per_leaf=1, spines=4, version=2)) == []


def test_older_suspicions_and_fabrics_are_ignored() -> None:
    planning = started()
    planning.tell(suspects(3, rnic__h000_slash_mlx5_0=3))
    assert planning.tell(suspects(2)) == []
    state, _ = planning.engine.step(planning.state, Observation("job-fabrics", fabric(SHAPE, version=0)))
    assert state.fabric is not None and state.fabric.version == 1


def test_room_that_somebody_leaves_is_taken_at_once() -> None:
    planning = started(SMALL, targets_per_rnic=1)
    names = {each.endpoint for each in job_map(SMALL).endpoints}
    (message,) = planning.tell(job_map(SMALL, 2, {0: "gone"}), skeleton(SMALL, 2, 2))
    assert isinstance(message, ProbePlan)
    left = {name for each in message.left_out for name in (each.a, each.b)}
    assert not left & container(SMALL, 0)
    assert left | {name for pair in directed(message) for name in pair} == names - container(SMALL, 0)


def test_a_thinned_basic_list_goes_on_by_deltas_and_says_how_much_is_beyond() -> None:
    shape = Shape(tp=2, pp=1, dp=16)
    planning = Planning(PlannerParameters(max_probes=100))
    planning.tell(job_map(shape, 1, {3: "starting"}))
    before = planning.plan
    assert before.left_out_count > 0 and {each.why for each in before.left_out} == {"max_probes"}
    (message,) = planning.tell(job_map(shape, 2))
    assert isinstance(message, ProbePlanDelta)
    whole = 2 * 16 * 15 // 2
    assert planning.plan.left_out_count == whole - len(undirected(planning.plan))
    assert before.left_out_count == 2 * 15 * 14 // 2 - len(undirected(before))
