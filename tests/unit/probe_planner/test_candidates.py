"""Who may be probed, which pairs there are, and what a budget keeps of them."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe_planner.candidates import NamePair, basic_candidates, skeleton_candidates
from probe_planner.extras import extra_slots
from probe_planner.parameters import PlannerParameters
from probe_planner.ranking import Limits, binds, select
from probe_planner.roster import Roster, read_roster
from schemas.maps import Endpoint, EndpointMap, EndpointState
from tests.simulated_jobs import Shape, endpoint_map

PARAMETERS = PlannerParameters()


def job(places: list[tuple[str, int, EndpointState]]) -> EndpointMap:
    """Endpoints given as (host, rail, state); a host may hold several on one rail (in different containers)."""
    endpoints = tuple(
        Endpoint(
            endpoint=f"c{number}/r{rail}", container=f"c{number}", host=host, rnic=f"r{rail}", rail=rail, state=state
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


def slow_basic(roster: Roster) -> set[NamePair]:
    return {
        (min(a.endpoint, b.endpoint), max(a.endpoint, b.endpoint))
        for a, b in combinations(roster.usable.values(), 2)
        if a.rail == b.rail and a.host != b.host
    }


@given(places)
@settings(max_examples=150, deadline=None)
def test_the_basic_list_is_every_pair_of_ready_endpoints_on_one_rail_and_different_hosts(
    chosen: list[tuple[str, int, EndpointState]],
) -> None:
    roster = read_roster(job(chosen), PARAMETERS)
    basic = basic_candidates(roster, most=10_000)
    pairs = basic.all(roster)
    assert set(pairs) == slow_basic(roster) and len(pairs) == len(set(pairs))
    assert basic.beyond(roster) == 0 and not basic.thinned
    assert set(basic.ranked(pairs)) == set(pairs)
    for name in roster.listed:
        expected = {pair for pair in pairs if name in pair}
        if name in roster.usable:
            assert set(basic.around(name, roster)) == expected


@given(places, st.integers(0, 30))
@settings(max_examples=100, deadline=None)
def test_a_thinned_basic_list_says_how_much_is_beyond(chosen: list[tuple[str, int, EndpointState]], most: int) -> None:
    roster = read_roster(job(chosen), PARAMETERS)
    basic = basic_candidates(roster, most)
    pairs, whole = set(basic.all(roster)), slow_basic(roster)
    assert pairs <= whole and len(pairs) <= most
    assert len(pairs) + basic.beyond(roster) == len(whole)
    first = basic.first_beyond(roster, 5) if basic.thinned else []
    assert set(first) <= whole - pairs


def test_a_thinned_basic_list_reaches_everybody_equally() -> None:
    roster = read_roster(endpoint_map(Shape(tp=1, pp=1, dp=40)), PARAMETERS)
    peers = Counter(name for pair in basic_candidates(roster, 100).all(roster) for name in pair)
    assert set(peers.values()) == {4} and len(peers) == 40


def test_the_coming_of_one_changes_only_its_own_pairs_of_a_thinned_list() -> None:
    whole = endpoint_map(Shape(tp=1, pp=1, dp=40))
    waiting = msgspec.structs.replace(whole.endpoints[7], state="starting")
    partial = msgspec.structs.replace(whole, endpoints=(*whole.endpoints[:7], waiting, *whole.endpoints[8:]))
    before, after = (read_roster(each, PARAMETERS) for each in (partial, whole))
    lists = [set(basic_candidates(roster, 100).all(roster)) for roster in (before, after)]
    assert lists[0] < lists[1]
    assert all(waiting.endpoint in pair for pair in lists[1] - lists[0])


def test_of_two_kinds_the_more_important_counts_and_pipelines_come_first() -> None:
    roster = read_roster(endpoint_map(Shape(tp=1, pp=1, dp=4)), PARAMETERS)
    a, b, c, d = sorted(roster.usable)
    found = skeleton_candidates([(a, b, "dp"), (b, a, "pp"), (c, d, "dp"), (a, c, "other"), (a, d, "ep")], roster)
    assert found.ranked(found.all(roster)) == [(a, b), (a, d), (c, d), (a, c)]
    assert sorted(found.around(a, roster)) == [(a, b), (a, c), (a, d)]


def test_nobody_is_probed_on_its_own_host() -> None:
    roster = read_roster(job([("h1", 0, "ready"), ("h1", 0, "ready"), ("h2", 0, "ready")]), PARAMETERS)
    edges = [("c0/r0", "c1/r0", "dp"), ("c0/r0", "c2/r0", "dp")]
    found = skeleton_candidates(edges, roster)
    assert found.all(roster) == [("c0/r0", "c2/r0")]
    assert not skeleton_candidates(edges[:1], roster).any(roster)


@pytest.mark.parametrize("barred", ["c1/r0", "container:c1", "rnic:h2/r0", "host:h2"])
@pytest.mark.parametrize("how", ["quarantined", "disabled"])
def test_what_is_quarantined_or_disabled_is_left_out_with_the_reason(barred: str, how: str) -> None:
    parameters = msgspec.structs.replace(PARAMETERS, **{how: (barred,)})
    roster = read_roster(job([("h1", 0, "ready"), ("h2", 0, "ready"), ("h3", 0, "ready")]), parameters)
    assert sorted(roster.usable) == ["c0/r0", "c2/r0"]
    (excluded,) = roster.exclusions({"c0/r0": 1, "c2/r0": 1}, "other")
    assert (excluded.endpoint, excluded.why) == ("c1/r0", f"{how} by the settings ({barred})")


def test_what_the_map_withholds_is_left_out_with_its_reason() -> None:
    whole = job([("h1", 0, "ready"), ("h2", 0, "ready")])
    withheld = msgspec.structs.replace(whole.endpoints[0], withheld="quarantined after incident-7")
    roster = read_roster(msgspec.structs.replace(whole, endpoints=(withheld, whole.endpoints[1])), PARAMETERS)
    assert roster.why_not == {"c0/r0": "quarantined after incident-7"}


names = st.integers(0, 11).map(lambda number: f"e{number:02d}")
pair_lists = st.lists(
    st.tuples(names, names).filter(lambda pair: pair[0] < pair[1] and int(pair[0][1:]) // 2 != int(pair[1][1:]) // 2),
    unique=True,
    max_size=40,
)


@given(pair_lists, st.integers(1, 6) | st.none(), st.integers(1, 6) | st.none(), st.sets(names, max_size=3), st.data())
@settings(max_examples=150, deadline=None)
def test_a_selection_keeps_the_limits_and_names_the_one_that_has_no_room(
    pairs: list[NamePair], targets: int | None, most: int | None, suspected: set[str], data: st.DataObject
) -> None:
    rnic_of = {f"e{number:02d}": f"r{number // 2}" for number in range(12)}
    limits = Limits(rnic_of, targets, most)
    since = {pair: data.draw(st.integers(0, 9)) for pair in pairs[::3]}
    found = select(pairs, limits, suspected, since)
    assert sorted([*found.kept, *found.left_out]) == sorted(pairs)
    peers = Counter(name for pair in found.kept for name in pair)
    probes = Counter(rnic_of[name] for pair in found.kept for name in pair)
    assert targets is None or max(peers.values(), default=0) <= targets
    assert most is None or max(probes.values(), default=0) <= most
    for pair, why in found.left_out.items():
        full = any(peers[name] >= (targets or 99) for name in pair)
        assert why == ("targets_per_rnic" if full else "round_s")
        assert full or any(probes[rnic_of[name]] >= (most or 99) for name in pair)
    assert binds(pairs, limits) == bool(found.left_out)


def test_the_suspected_come_first_then_what_nothing_covers_then_the_oldest() -> None:
    rnic_of = {f"e{number}": f"r{number}" for number in range(6)}
    pairs = [("e0", "e1"), ("e0", "e2"), ("e0", "e3"), ("e0", "e4"), ("e0", "e5")]
    limits = Limits(rnic_of, targets=2, most=None)
    assert select(pairs, limits, set(), {}).kept == [("e0", "e1"), ("e0", "e2")]
    assert select(pairs, limits, {"e4"}, {}).kept == [("e0", "e1"), ("e0", "e4")]
    assert select(pairs, limits, set(), {("e0", "e5"): 3, ("e0", "e4"): 7}).kept == [("e0", "e1"), ("e0", "e5")]
    both = [("e0", "e1"), ("e0", "e2"), ("e1", "e2"), ("e3", "e4")]
    assert ("e3", "e4") in select(both, Limits(rnic_of, targets=1, most=None), set(), {}).kept


@given(
    st.dictionaries(st.tuples(names, names).filter(lambda pair: pair[0] < pair[1]), st.integers(1, 9), max_size=12),
    st.integers(0, 6),
    st.integers(1, 2),
)
@settings(max_examples=100, deadline=None)
def test_extra_slots_keep_each_rnic_within_its_share(weights: dict[NamePair, int], count: int, per_slot: int) -> None:
    rnic_of = {f"e{number:02d}": f"r{number // 2}" for number in range(12)}
    inside = {pair: weight for pair, weight in weights.items() if rnic_of[pair[0]] != rnic_of[pair[1]]}
    slots = extra_slots(inside, rnic_of, count, per_slot)
    assert len(slots) == (count if inside else 0)
    had = Counter((min(pair), max(pair)) for slot in slots for pair in slot)
    for slot in slots:
        busy = Counter(rnic_of[name] for pair in slot for name in pair)
        assert max(busy.values()) <= per_slot
    assert set(had) <= set(inside)
    if count and inside:
        heaviest = max(inside.items(), key=lambda item: item[1])[1]
        assert any(inside[pair] == heaviest for pair in had)
