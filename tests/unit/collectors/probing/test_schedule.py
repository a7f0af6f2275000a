"""A plan over time: each own probe once a round in its slot, as limits allow, and never made up for."""

from __future__ import annotations

from collections import Counter
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.observing import Now
from collectors.probing.schedule import JITTER, Limits, Schedule, Start, own_probes, train_size
from schemas.instants import SECOND_US
from schemas.probing import PortTurns
from tests.unit.collectors.probing.facts import plan

T0 = 1_753_000_000 * SECOND_US
LIMITS = Limits(most_pps=1000.0, train_packets=10)
SLOTS = [[("a/0", "b/0", 50_000)], [("b/0", "a/0", 50_001)], [("a/0", "c/0", 50_002)], []]


def at(us: int) -> Now:
    return Now(T0 + us, us)


def walk(schedule: Schedule, until_us: int, step_us: int = 10_000, begin_us: int = 0) -> list[tuple[int, Start]]:
    return [(us, start) for us in range(begin_us, until_us, step_us) for start in schedule.due(at(us))]


def test_each_own_probe_once_a_round_in_its_slot() -> None:
    schedule = Schedule(plan(SLOTS, round_s=0.4), frozenset({"a/0"}), LIMITS)
    found = walk(schedule, 4 * SECOND_US)
    assert Counter(start.probe.dst for _, start in found) == {"b/0": 10, "c/0": 10}
    for us, start in found:
        assert (us % 400_000) // 100_000 == start.probe.slot
        slot_us = start.probe.slot * 100_000
        inside = [due % 400_000 - slot_us for due in start.packets_us]
        assert len(inside) == 10
        assert all(i * 10_000 <= due <= (i + JITTER) * 10_000 for i, due in enumerate(inside))


def test_the_jitter_differs_from_round_to_round_and_is_not_drawn() -> None:
    first = walk(Schedule(plan(SLOTS, 0.4), frozenset({"a/0"}), LIMITS), 4 * SECOND_US)
    again = walk(Schedule(plan(SLOTS, 0.4), frozenset({"a/0"}), LIMITS), 4 * SECOND_US)
    assert first == again
    assert len({start.packets_us[0] % 400_000 for _, start in first if start.probe.dst == "b/0"}) == 10


def test_agents_with_the_same_clock_are_in_the_same_slot() -> None:
    early = Schedule(plan(SLOTS, 0.4), frozenset({"a/0"}), LIMITS)
    late = Schedule(plan(SLOTS, 0.4), frozenset({"b/0"}), LIMITS)
    ours = {us for us, start in walk(early, 4 * SECOND_US, begin_us=0) if start.probe.slot == 0}
    theirs = {us for us, _ in walk(late, 4 * SECOND_US, begin_us=150_000)}
    assert ours.isdisjoint(theirs)
    assert {us % 400_000 for us in theirs if us > 200_000} == {100_000}


def test_a_disabled_plan_and_other_peoples_probes_are_nothing() -> None:
    assert own_probes(plan(SLOTS, 0.4, mode="disabled"), frozenset({"a/0"})) == ()
    schedule = Schedule(plan(SLOTS, 0.4), frozenset({"z/0"}), LIMITS)
    assert walk(schedule, SECOND_US) == [] and schedule.next_us() is None


@pytest.mark.parametrize(
    ("pps", "slot_s", "wanted"), [(None, 0.05, 10), (200.0, 0.05, 10), (100.0, 0.05, 5), (1.0, 0.05, 1)]
)
def test_the_plans_rate_shortens_trains(pps: float | None, slot_s: float, wanted: int) -> None:
    assert train_size(plan(SLOTS, 0.4, pps), slot_s, 10) == wanted


@given(most_pps=st.floats(1.0, 400.0), targets=st.integers(1, 12))
def test_capped_trains_take_turns_so_that_no_pair_starves(most_pps: float, targets: int) -> None:
    slots = [[("a/0", f"b{n}/0", 50_000 + n)] for n in range(targets)]
    round_s = 0.05 * targets
    schedule = Schedule(plan(slots, round_s, 200.0), frozenset({"a/0"}), Limits(most_pps, 10))
    stride = max(schedule._stride.values())
    rounds = 3 * stride
    found = walk(schedule, round(rounds * round_s * SECOND_US) + 1, 50_000)
    went = Counter(start.probe.dst for _, start in found if start.packets_us)
    held = [start for _, start in found if not start.packets_us]
    sent = sum(len(start.packets_us) for _, start in found)
    assert sent <= most_pps * (rounds + 1) * round_s + 10 * targets
    assert set(went) == {f"b{n}/0" for n in range(targets)}
    assert max(went.values()) - min(went.values()) <= 1
    assert all("capped" in (start.held_back or "") for start in held)
    assert bool(held) == (stride > 1)


def test_rounds_that_nobody_began_are_missed_and_not_made_up_for() -> None:
    schedule = Schedule(plan(SLOTS, 0.4), frozenset({"a/0"}), LIMITS)
    walk(schedule, 800_000)
    found = list(schedule.due(at(10_800_000)))
    went = [start for start in found if start.packets_us]
    assert len(went) <= 2
    missed = [start for start in found if not start.packets_us]
    assert missed and all("missed" in (start.held_back or "") for start in missed)
    after = walk(schedule, 12_800_000, begin_us=10_810_000)
    assert 8 <= len(after) <= 11 and all(start.packets_us for _, start in after)


def test_odd_rounds_of_an_alternating_plan_swap_the_ends() -> None:
    wanted = plan(SLOTS[:1], 0.4, alternate=True)
    first = walk(Schedule(wanted, frozenset({"a/0"}), LIMITS), 4 * SECOND_US)
    second = walk(Schedule(wanted, frozenset({"b/0"}), LIMITS), 4 * SECOND_US)
    rounds = {((T0 + us) // 400_000) % 2 for us, _ in first}, {((T0 + us) // 400_000) % 2 for us, _ in second}
    assert rounds == ({0}, {1})
    assert {(start.probe.src, start.probe.dst, start.sport) for _, start in second} == {("b/0", "a/0", 50_000)}
    assert len(first) == len(second) == 5


@given(most_pps=st.floats(5.0, 60.0))
def test_no_pair_of_an_alternating_plan_starves_when_capped(most_pps: float) -> None:
    slots = [[("a/0", f"b{n}/0", 50_000)] for n in range(4)]
    schedule = Schedule(plan(slots, 0.2, alternate=True), frozenset({"a/0"}), Limits(most_pps, 10))
    found = walk(schedule, round(0.4 * 3 * schedule._stride["a/0"] * SECOND_US), 50_000)
    assert {start.probe.dst for _, start in found if start.packets_us} == {f"b{n}/0" for n in range(4)}


def test_source_ports_change_with_their_turns() -> None:
    turns = PortTurns(turns=3, turn_rounds=2, changing=(("a/0", "b/0", (51_000, 52_000)),))
    found = walk(Schedule(plan(SLOTS, 0.4, turns=turns), frozenset({"a/0"}), LIMITS), 4 * SECOND_US)
    ports = {50_000: 0, 51_000: 1, 52_000: 2}
    for us, start in found:
        turn = (T0 + us) // 400_000 // 2 % 3
        assert start.sport == 50_002 if start.probe.dst == "c/0" else ports[start.sport] == turn
    assert {start.sport for _, start in found} == {50_000, 51_000, 52_000, 50_002}


def test_the_plan_s_jitter_spreads_the_trains_of_a_slot_within_it() -> None:
    slots = [[("a/0", "b/0", 50_000), ("c/0", "d/0", 50_001)], []]
    wanted = plan(slots, 0.4, jitter_s=0.04)
    found = walk(Schedule(wanted, frozenset({"a/0", "c/0"}), LIMITS), 2 * SECOND_US, 1000)
    begins = {start.probe.src: us % 400_000 for us, start in found}
    for src, dst in (("a/0", "b/0"), ("c/0", "d/0")):
        assert 0 <= begins[src] - crc32(f"{src}>{dst}".encode()) / 2**32 * 40_000 <= 1000
    assert all(start.packets_us[-1] % 400_000 < 200_000 for _, start in found)


def test_an_rnic_s_rate_is_shared_by_the_probes_of_a_slot() -> None:
    assert train_size(plan(SLOTS, 0.4, 200.0, probes_per_slot=2), 0.05, 10) == 5


@pytest.mark.parametrize("step_s", [-3600, -1, 1, 3600])
def test_a_stepped_clock_neither_stops_nor_floods(step_s: int) -> None:
    schedule = Schedule(plan(SLOTS, 0.4), frozenset({"a/0"}), LIMITS)
    walk(schedule, 2 * SECOND_US)
    times = range(2 * SECOND_US, 6 * SECOND_US, 10_000)
    found = [start for us in times for start in schedule.due(Now(T0 + us + step_s * SECOND_US, us))]
    went = [start for start in found if start.packets_us]
    assert 14 <= len(went) <= 22


@given(
    round_s=st.floats(0.0, 5.0),
    steps=st.lists(st.integers(1, 3 * SECOND_US), min_size=1, max_size=60),
    slots=st.integers(1, 6),
)
def test_however_it_is_asked_a_round_gives_each_probe_at_most_once(
    round_s: float, steps: list[int], slots: int
) -> None:
    wanted = [[("a/0", f"b{n}/0", 50_000)] for n in range(slots)]
    schedule = Schedule(plan(wanted, round_s), frozenset({"a/0"}), LIMITS)
    now_us, went = 0, Counter[str]()
    for step in steps:
        now_us += step
        went.update(start.probe.dst for start in schedule.due(at(now_us)) if start.packets_us)
        next_us = schedule.next_us()
        assert next_us is not None and next_us <= now_us + 2 * max(schedule._round_us, 1)
    rounds = now_us / schedule._round_us + 2
    assert all(count <= rounds for count in went.values())
