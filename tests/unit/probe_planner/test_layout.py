"""Slots hold while pairs come and go: no RNIC twice in one, at most Δ + 1 of them, and who stays stays."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from probe_planner.candidates import NamePair
from probe_planner.layout import Layout, lay_out

NAMES = [f"e{number:02d}" for number in range(14)]
RNICS = {name: f"h/{name}" for name in NAMES}
PAIRS = list(combinations(NAMES, 2))


def check(layout: Layout, pairs: set[NamePair], per_slot: int) -> None:
    placed = list(layout.placed())
    busy = Counter((slot, name) for slot, src, dst in placed for name in (src, dst))
    assert max(busy.values(), default=0) <= per_slot
    expected = Counter({pair: layout.passes for pair in pairs})
    assert Counter((min(src, dst), max(src, dst)) for _, src, dst in placed) == expected
    if layout.passes == 2:
        assert all(count == 1 for count in Counter((src, dst) for _, src, dst in placed).values())
    assert all(0 <= slot < layout.slots for slot, _, _ in placed)
    degree = Counter(name for pair in pairs for name in pair)
    assert layout.busiest == max(degree.values(), default=0)
    assert layout.peers == dict(degree)


@given(st.lists(st.sampled_from(PAIRS), unique=True), st.sampled_from([1, 2]), st.integers(1, 3), st.data())
@settings(max_examples=150, deadline=None)
def test_pairs_come_and_go(start: list[NamePair], passes: int, per_slot: int, data: st.DataObject) -> None:
    layout, pairs = lay_out(start, RNICS, passes, per_slot), set(start)
    check(layout, pairs, per_slot)
    assert layout.within_bound and layout.slots >= layout.least_slots
    for _ in range(3):
        gone = set(data.draw(st.lists(st.sampled_from(sorted(pairs)), unique=True))) if pairs else set()
        layout.remove(sorted(gone))
        pairs -= gone
        others = [pair for pair in PAIRS if pair not in pairs]
        come = data.draw(st.lists(st.sampled_from(others), unique=True)) if others else []
        before = {pair: layout.probes_of([pair]) for pair in pairs}
        moved = layout.insert(come, RNICS)
        assert moved is not None and moved <= pairs
        assert {pair for pair in pairs if layout.probes_of([pair]) != before[pair]} <= moved
        pairs |= set(come)
        check(layout, pairs, per_slot)


@given(st.lists(st.sampled_from(PAIRS), unique=True), st.integers(1, 2))
@settings(max_examples=80, deadline=None)
def test_everybody_sends_half_of_its_probes_and_one_at_a_time(pairs: list[NamePair], per_slot: int) -> None:
    layout = lay_out(pairs, RNICS, 1, per_slot)
    sent = Counter(src for _, src, _ in layout.placed())
    assert all(count <= -(-layout.colouring.colours // 2) for count in sent.values())
    degree = Counter(name for pair in pairs for name in pair)
    assert all(count <= -(-max(degree.values()) // 2) + 1 for count in sent.values())
    at_once = Counter((slot, src) for slot, src, _ in layout.placed())
    answered = Counter((slot, dst) for slot, _, dst in layout.placed())
    assert max([*at_once.values(), *answered.values()], default=0) <= 1


@given(st.integers(3, 14), st.integers(0, 13))
@settings(max_examples=40, deadline=None)
def test_whoever_comes_back_finds_room_without_moving_others(size: int, who: int) -> None:
    name = NAMES[who % size]
    whole = list(combinations(NAMES[:size], 2))
    layout = lay_out(whole, RNICS, 2, 1)
    own = [pair for pair in whole if name in pair]
    assert sorted(layout.pairs_of(name, RNICS[name])) == own
    layout.remove(own)
    assert layout.insert(own, RNICS) == set()
    check(layout, set(whole), 1)


def test_two_endpoints_on_one_rnic_are_never_probed_at_once_and_are_laid_out_anew() -> None:
    rnic_of = {"a1": "A/0", "a2": "A/0", "b1": "B/0", "b2": "B/0", "c1": "C/0"}
    layout = lay_out([("a1", "b1"), ("a2", "b2"), ("a1", "b2"), ("a2", "c1")], rnic_of, 2, 1)
    for slot in range(layout.slots):
        busy = [rnic_of[end] for each, src, dst in layout.placed() if each == slot for end in (src, dst)]
        assert len(busy) == len(set(busy))
    assert layout.insert([("b1", "c1")], rnic_of) is None
    simple = lay_out([("a1", "b1")], rnic_of, 2, 1)
    assert simple.insert([("a2", "b2")], rnic_of) is None, "a second edge between the same RNICs"


@given(st.integers(4, 13), st.sampled_from([1, 2]), st.data())
@settings(max_examples=60, deadline=None)
def test_a_clique_that_grows_moves_others_and_says_which(size: int, passes: int, data: st.DataObject) -> None:
    """Kempe chains and fans are needed here: the slots of a clique are full."""
    layout = lay_out(list(combinations(NAMES[:size], 2)), RNICS, passes, 1)
    pairs = set(layout.edge_of)
    for new in range(size, 14):
        come = data.draw(st.permutations([(name, NAMES[new]) for name in NAMES[:new]]))
        before = {pair: layout.probes_of([pair]) for pair in pairs}
        moved = layout.insert(come, RNICS)
        assert moved is not None
        assert {pair for pair in pairs if layout.probes_of([pair]) != before[pair]} <= moved
        pairs |= set(come)
        check(layout, pairs, 1)
        assert layout.within_bound
