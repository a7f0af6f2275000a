"""Candidates and slots: who is probed, when, within which budget."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe_planner.candidates import basic_candidates, within_targets
from probe_planner.parameters import PlannerParameters
from probe_planner.schedule import schedule, slot_time_s, source_port
from schemas.maps import Endpoint, EndpointMap, EndpointState
from tests.simulated_jobs import Shape, endpoint_map


def job_map(places: list[tuple[str, int, EndpointState]]) -> EndpointMap:
    """Endpoints given as (host, rail, state); a host may hold several on one rail (in different containers)."""
    endpoints = tuple(
        Endpoint(
            endpoint=f"c{number}/r{rail}",
            container=f"c{number}",
            host=host,
            rnic=f"r{rail}",
            rail=rail,
            state=state,
        )
        for number, (host, rail, state) in enumerate(places)
    )
    return msgspec.structs.replace(endpoint_map(Shape(tp=1, pp=1, dp=1)), endpoints=endpoints)


places = st.lists(
    st.tuples(
        st.sampled_from(["h1", "h2", "h3", "h4", "h5"]),
        st.integers(0, 2),
        st.sampled_from(["ready", "starting", "gone"]),
    ),
    max_size=24,
)


@given(places)
@settings(max_examples=100, deadline=None)
def test_the_basic_list_is_every_pair_of_ready_endpoints_on_one_rail_and_different_hosts(
    chosen: list[tuple[str, int, EndpointState]],
) -> None:
    job = job_map(chosen)
    found = basic_candidates(job, most=10_000)
    ready = [e for e in job.endpoints if e.state == "ready"]
    expected = {
        tuple(sorted((a.endpoint, b.endpoint)))
        for a, b in combinations(ready, 2)
        if a.rail == b.rail and a.host != b.host
    }
    assert set(found.pairs) == expected
    assert len(found.pairs) == len(expected)
    probed = {name for pair in found.pairs for name in pair}
    assert {e.endpoint for e in found.excluded} == {e.endpoint for e in job.endpoints} - probed
    why = {e.endpoint: e.why for e in found.excluded}
    for endpoint in job.endpoints:
        if endpoint.state == "starting":
            assert why[endpoint.endpoint].startswith("not ready")
        if endpoint.state == "gone":
            assert why[endpoint.endpoint] == "gone"


def test_a_thinned_basic_list_reaches_everybody_equally() -> None:
    found = basic_candidates(endpoint_map(Shape(tp=1, pp=1, dp=40)), most=100)
    peers = Counter(name for pair in found.pairs for name in pair)
    assert len(found.pairs) == 80
    assert set(peers.values()) == {4} and len(peers) == 40


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), unique=True), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_targets_are_limited_and_the_most_important_are_kept(pairs: list[tuple[int, int]], most: int) -> None:
    named = [(f"e{a}", f"e{b}") for a, b in pairs if a < b]
    kept = within_targets(named, most)
    assert max(Counter(name for pair in kept for name in pair).values(), default=0) <= most
    assert kept == [pair for pair in named if pair in set(kept)]
    if named:
        assert kept[0] == named[0]
    assert within_targets(named, None) == named


def rail(size: int) -> tuple[list[tuple[str, str]], dict[str, str]]:
    names = [f"e{index:02d}" for index in range(size)]
    return list(combinations(names, 2)), {name: f"host-of-{name}/r0" for name in names}


@given(st.integers(2, 12), st.sampled_from(["both", "alternate"]))
@settings(max_examples=40, deadline=None)
def test_each_pair_once_per_direction_and_no_rnic_twice_in_a_slot(size: int, directions: str) -> None:
    pairs, rnic_of = rail(size)
    made = schedule(pairs, rnic_of, PlannerParameters(directions=directions))  # type: ignore[arg-type]
    for slot in made.slots:
        busy = [rnic_of[end] for src, dst, _ in slot for end in (src, dst)]
        assert len(busy) == len(set(busy))
    probes = Counter((src, dst) for slot in made.slots for src, dst, _ in slot)
    assert set(probes.values()) == {1}
    expected = {pair for a, b in pairs for pair in ((a, b), (b, a))}
    if directions == "both":
        assert set(probes) == expected
    else:
        assert {tuple(sorted(pair)) for pair in probes} == set(pairs)
    passes = 2 if directions == "both" else 1
    assert (size - 1) * passes <= len(made.slots) <= size * passes
    assert made.expected.probes == sum(map(len, made.slots))
    assert made.expected.lower_bound_s <= made.expected.round_s <= 2 * made.expected.lower_bound_s


def test_two_endpoints_on_one_rnic_are_never_probed_at_once() -> None:
    pairs = [("a1", "b1"), ("a2", "b2"), ("a1", "b2"), ("a2", "c1")]
    rnic_of = {"a1": "A/0", "a2": "A/0", "b1": "B/0", "b2": "B/0", "c1": "C/0"}
    for slot in schedule(pairs, rnic_of, PlannerParameters()).slots:
        busy = [rnic_of[end] for src, dst, _ in slot for end in (src, dst)]
        assert len(busy) == len(set(busy))


def test_a_slot_is_as_long_as_the_packet_budget_asks_for() -> None:
    assert slot_time_s(PlannerParameters(slot_s=0.02, train_packets=10, pps_per_rnic=1000)) == 0.02
    assert slot_time_s(PlannerParameters(slot_s=0.02, train_packets=10, pps_per_rnic=20)) == 0.5


@pytest.mark.parametrize("round_s", [0.1, 0.35, 1.0])
def test_what_the_round_cannot_hold_is_left_out(round_s: float) -> None:
    pairs, rnic_of = rail(20)
    made = schedule(pairs, rnic_of, PlannerParameters(round_s=round_s))
    assert made.expected.round_s <= round_s + 1e-9
    assert made.expected.probes > 0
    kept = {tuple(sorted((src, dst))) for slot in made.slots for src, dst, _ in slot}
    assert pairs[0] in kept, "the most important pair stays"


def test_a_round_too_short_for_one_probe_is_empty() -> None:
    pairs, rnic_of = rail(4)
    made = schedule(pairs, rnic_of, PlannerParameters(round_s=0.01))
    assert made.slots == () and made.expected.probes == 0


def test_source_ports_are_spread_within_their_range_and_stable() -> None:
    parameters = PlannerParameters(first_port=60_000, ports=16_384)
    ports = [source_port(f"a{i}", f"b{i}", parameters) for i in range(500)]
    assert min(ports) >= 60_000 and max(ports) <= 65_535
    assert len(set(ports)) > 400
    assert ports == [source_port(f"a{i}", f"b{i}", parameters) for i in range(500)]


def test_nothing_to_probe_is_an_empty_schedule() -> None:
    made = schedule([], {}, PlannerParameters())
    assert (made.slots, made.expected.round_s, made.expected.probes) == ((), 0.0, 0)
