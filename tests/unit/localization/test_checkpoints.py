"""What a fabric's state is after it was written down and read: the same, however little of it is written."""

from __future__ import annotations

import dataclasses
import pickle

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localization import numbering
from localization.evidence import EvidenceStore
from localization.flows import Table
from localization.narrowing import climbed, narrow, steps, wide
from localization.numbering import KeyNumbers
from localization.routes import RouteTable
from localization.sources import Source, Sources
from localization.topology import Topology
from schemas.diagnosis import PairWindows
from schemas.instants import SECOND_US
from schemas.maps import Ecmp
from tests.small_fabric import BEGIN_US, endpoint, envelope, fabric_map, links_of, pairs
from tests.small_tables import snapshot
from tests.unit.localization.test_scale import store_of

integers = st.lists(st.integers(-(2**40), 2**40))


@given(integers)
def test_narrow_numbers_are_the_same_numbers(values: list[int]) -> None:
    found = narrow(np.array(values, np.int64))
    assert wide(found).tolist() == values
    assert climbed(steps(np.array(values, np.int64))).tolist() == values


@pytest.mark.parametrize(("most", "bytes_each"), [(127, 1), (128, 2), (32_768, 4), (2**31, 8)])
def test_numbers_take_no_more_bytes_than_they_need(most: int, bytes_each: int) -> None:
    assert narrow(np.array([0, most], np.int64)).itemsize == bytes_each


def test_keys_that_want_the_same_place_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "SPREAD", np.uint64(0))  # all keys begin to look at the first place
    known = KeyNumbers()
    for batch in ([7, 3, 7], [3, 9, 8, 9], [1, 7, 9]):
        known.of(np.array(batch, np.int64))
    assert known.keys.tolist() == [7, 3, 9, 8, 1]
    assert known.of(np.array([1, 5, 7], np.int64))[0].tolist() == [4, 5, 0]


def with_ports(store: EvidenceStore) -> EvidenceStore:
    """Also some trains whose path is not known, on a fabric whose map says how it spreads flows."""
    store.take("fabric-map", msgspec.structs.replace(fabric_map(Ecmp(method="hash")), version=2))
    some = pairs()[:6]
    store.take(
        "pair-windows",
        PairWindows(
            **envelope("detection:j", 40, 40),
            job="j",
            window_s=1.0,
            src=tuple(endpoint(*src) for src, _ in some),
            dst=tuple(endpoint(*dst) for _, dst in some),
            sport=tuple(range(50_000, 50_006)),
            path=(-1,) * 5 + (0,),
            sent=(100,) * 6,
            lost=(0, 1, 0, 0, 300, 0),
            rtt_us=(13.0,) * 6,
            paths=(links_of(*some[5]),),
        ),
    )
    store.close_second(BEGIN_US + 40 * SECOND_US)
    return store


def test_routes_trains_and_maps_are_what_they_were() -> None:
    store = with_ports(store_of(12, "h0r0-up"))
    before, after = store.watch, pickle.loads(pickle.dumps(store.watch))
    assert len({port for _, _, _, port in before.routes.routes}) == 6
    for field in dataclasses.fields(RouteTable):
        if field.name not in ("index", "reach", "numbers", "suspects"):
            old, new = getattr(before.routes, field.name), getattr(after.routes, field.name)
            assert (old.tolist() if isinstance(old, np.ndarray) else old) == (
                new.tolist() if isinstance(new, np.ndarray) else new
            ), field.name
    assert list(after.routes.pair_index) == list(before.routes.pair_index)
    assert after.routes.numbers.ends == before.routes.numbers.ends
    assert after.routes.numbers.paths == before.routes.numbers.paths
    assert after.routes.suspects == before.routes.suspects
    assert after.topology == before.topology
    assert [list(each) for each in after.topology.on_host.values()] == [
        list(each) for each in before.topology.on_host.values()
    ]
    for old, new in zip(before.window.seconds, after.window.seconds, strict=True):
        assert old.t_us == new.t_us
        for column in ("route", "sent", "lost"):
            assert getattr(new, column).dtype == np.int64
            assert getattr(new, column).tolist() == getattr(old, column).tolist()


def test_a_topology_without_maps_is_written_down_as_well() -> None:
    assert pickle.loads(pickle.dumps(Topology())) == Topology()


def test_endpoints_as_probers_are_what_they_were() -> None:
    known = Sources()
    for second in [*range(0, 18, 2), 40]:
        known.hear({"a", "b"} if second == 4 else {"a"}, second * SECOND_US)
    assert dict(known) == {
        "a": Source(40 * SECOND_US, 2.0, 10, (16 * SECOND_US, 40 * SECOND_US)),
        "b": Source(4 * SECOND_US),
    }
    assert dict(pickle.loads(pickle.dumps(known))) == dict(known)


def test_the_way_back_of_replies_is_worked_out_again() -> None:
    watch = store_of(9, "h0r0-up").watch
    every = np.arange(len(watch.routes.routes))
    suspects = [suspect for suspect in watch.routes.suspects.all if suspect.kind != "host"]
    before = {suspect: watch.crossed_back(every, suspect).tolist() for suspect in suspects}
    watch.echoes.share = 0.375
    watch = pickle.loads(pickle.dumps(watch))
    assert (watch.echoes.share, watch.echoes.pairs, len(watch.echoes.leaves)) == (0.375, {}, 0)
    assert {suspect: watch.crossed_back(every, suspect).tolist() for suspect in suspects} == before
    assert any(chance > 0.0 for chances in before.values() for chance in chances)


def test_a_state_holds_its_names_once() -> None:
    watch = store_of(60).watch
    trains = sum(len(second.route) for second in watch.window.seconds)
    assert len(pickle.dumps(watch.window)) < 8 * trains
    body = pickle.dumps(watch.routes)
    assert all(body.count(name.encode()) <= 1 for name in watch.routes.numbers.ends)
    assert msgspec.msgpack.decode(watch.routes.suspects.__getstate__())


def test_flow_tables_are_what_they_were() -> None:
    table = Table()
    for second, rows, packets in ((0, [1, 2], 900), (5, [2], 0), (10, [1, 2], 3)):
        table.take(snapshot(second, rows, packets=packets))
    assert table.of_pair((endpoint(0, 0), endpoint(2, 0)))
    restored = pickle.loads(pickle.dumps(table))
    assert restored.rows == table.rows and list(restored.rows) == list(table.rows)
    assert (restored.seen_us, restored.complete_us, restored.gap_us) == (table.seen_us, table.complete_us, table.gap_us)
    for each in (table, restored):
        each.take(snapshot(15, [1], packets=1))
    assert restored.rows == table.rows
    assert restored.of_pair((endpoint(0, 0), endpoint(2, 0))) == table.of_pair((endpoint(0, 0), endpoint(2, 0)))
