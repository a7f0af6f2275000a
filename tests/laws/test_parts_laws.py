"""The part of a fabric that some RNICs use is what lies on shortest paths, as distances between all switches say."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from probe_planner.parts import Plant
from schemas.envelope import Clock, Producer
from schemas.maps import Ecmp, FabricMap, Link, Node

FAR = 99
SWITCHES, RNICS = 6, 5


def fabric(switch_links: list[tuple[int, int]], cables: list[tuple[int, int]]) -> FabricMap:
    nodes = [Node(id=f"s{n}", kind="leaf") for n in range(SWITCHES)] + [
        Node(id=f"h{n}/r", kind="rnic") for n in range(RNICS)
    ]
    links = [Link(id=f"l{n}", a=f"s{a}/{n}", b=f"s{b}/{n}") for n, (a, b) in enumerate(switch_links)]
    links += [Link(id=f"c{n}", a=f"h{rnic}/r/{n}", b=f"s{at}/c{n}") for n, (rnic, at) in enumerate(cables)]
    return FabricMap(
        v=1,
        t_us=0,
        producer=Producer(id="p", kind="k", boot="b", seq=0),
        clock=Clock(source="none", offset_us=0.0, error_us=0.0),
        fabric="f",
        version=1,
        nodes=tuple(nodes),
        links=tuple(links),
        ecmp=Ecmp(method="traced"),
    )


def plainly(
    switch_links: list[tuple[int, int]], cables: list[tuple[int, int]], asked: set[int]
) -> tuple[set[str], set[str]]:
    """Names of nodes and of links, by the distances between all switches."""
    hops = {(a, b): 0 if a == b else FAR for a, b in product(range(SWITCHES), repeat=2)}
    hops |= {(a, b): min(1, hops[a, b]) for pair in switch_links for a, b in (pair, pair[::-1])}
    for through, a, b in product(range(SWITCHES), repeat=3):
        hops[a, b] = min(hops[a, b], hops[a, through] + hops[through, b])
    ends = {rnic: {at for owner, at in cables if owner == rnic} for rnic in asked}
    access = set().union(*ends.values())
    nodes = {f"s{at}" for at in access} | {f"h{rnic}/r" for rnic, at in ends.items() if at}
    links = {f"c{n}" for n, (rnic, _) in enumerate(cables) if rnic in asked}
    for begin, end in product(access, [at for at in ends.values() if at]):
        shortest = min(hops[begin, at] for at in end)
        for n, pair in enumerate(switch_links):
            for a, b in (pair, pair[::-1]):
                if shortest < FAR and hops[begin, a] + 1 + min(hops[b, at] for at in end) == shortest:
                    links.add(f"l{n}")
                    nodes |= {f"s{a}", f"s{b}"}
    return nodes, links


_SWITCH = st.integers(0, SWITCHES - 1)
_WAYS = st.lists(st.tuples(_SWITCH, _SWITCH), max_size=12)
_CABLES = st.lists(st.tuples(st.integers(0, RNICS - 1), _SWITCH), max_size=8)


@given(_WAYS, _CABLES, st.sets(st.integers(0, RNICS - 1)))
def test_a_part_is_what_lies_on_shortest_paths(
    switch_links: list[tuple[int, int]], cables: list[tuple[int, int]], asked: set[int]
) -> None:
    plant = Plant()
    plant.read(fabric(switch_links, cables))
    nodes, links, names = plant.part([f"h{n}/r" for n in asked])
    expected = plainly(switch_links, cables, asked)
    assert ({node.id for node in nodes}, set(names)) == expected
    assert [link.id for link in links] == [each for each in _ids(switch_links, cables) if each in names]


def _ids(switch_links: list[tuple[int, int]], cables: list[tuple[int, int]]) -> list[str]:
    return [f"l{n}" for n in range(len(switch_links))] + [f"c{n}" for n in range(len(cables))]
