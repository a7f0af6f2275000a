"""What makes localization bear a large fabric changes nothing: each shortcut beside the plain way."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localization import search
from localization.evidence import EvidenceStore, new_evidence
from localization.history import Second, UsedRoutes, acquittal_of
from localization.inference import infer
from localization.likelihood import explained
from localization.modes import MODES, most_more
from localization.numbering import PORTS, KeyNumbers, RouteNumbers
from localization.parameters import LocalizationParameters
from localization.placing import Placing
from localization.routes import FEW, trains_of
from localization.samples import Sample
from localization.search import look
from localization.suspects import SuspectTable, suspects_of_path
from localization.weighing import gains, worth_trying
from schemas.diagnosis import PairWindows
from schemas.instants import SECOND_US
from schemas.maps import EndpointMap, FabricEndpoints
from tests.small_fabric import BEGIN_US, HOSTS, endpoint, endpoint_map, envelope, fabric_map, links_of, pairs
from tests.unit.localization.test_pieces import sample


@given(st.lists(st.lists(st.integers(0, 30), max_size=12), max_size=6))
def test_keys_are_numbered_in_the_order_of_first_use(batches: list[list[int]]) -> None:
    known, plain = KeyNumbers(), dict[int, int]()
    for batch in batches:
        first = [at for at, key in enumerate(batch) if key not in plain and key not in batch[:at]]
        wanted = [plain.setdefault(key, len(plain)) for key in batch]
        numbers, new = known.of(np.array(batch, np.int64))
        assert numbers.tolist() == wanted
        assert new.tolist() == first


@given(st.lists(st.integers(0, 9)), st.sets(st.integers(0, 12)))
def test_trains_of_some_routes_are_found_in_ascending_ones(route: list[int], wanted: set[int]) -> None:
    ascending = np.array(sorted(route), np.int64)
    found = trains_of(ascending, np.array(sorted(wanted), np.int64))
    assert found.tolist() == [at for at, number in enumerate(sorted(route)) if number in wanted]


def fabric_endpoints(listed: EndpointMap) -> FabricEndpoints:
    body = envelope("maps", 0.0, listed.version)
    return FabricEndpoints(**body, job="j", version=listed.version, state="running", endpoints=listed.endpoints)


def store_of(seconds: int, lossy_link: str = "", packets: tuple[int, ...] = (100,)) -> EvidenceStore:
    """A store that has seen some seconds of all pairs, one link of which may lose a fifth."""
    store, draw = new_evidence("f", LocalizationParameters()), np.random.default_rng(3)
    store.take("fabric-map", fabric_map())
    store.take("fabric-endpoints", fabric_endpoints(endpoint_map()))
    paths = tuple(links_of(src, dst) for src, dst in pairs())
    for second in range(1, seconds + 1):
        loss = np.array([0.2 if second > 8 and lossy_link in path else 1e-4 for path in paths])
        sent = draw.choice(packets, len(paths))
        value = PairWindows(
            **envelope("detection:j", second, second),
            job="j",
            window_s=1.0,
            src=tuple(endpoint(*src) for src, _ in pairs()),
            dst=tuple(endpoint(*dst) for _, dst in pairs()),
            sport=(50_000,) * len(paths),
            path=tuple(range(len(paths))),
            sent=tuple(sent.tolist()),
            lost=tuple(draw.binomial(sent, loss).tolist()),
            rtt_us=(13.0,) * len(paths),
            paths=paths,
        )
        store.take("pair-windows", value)
        store.close_second(BEGIN_US + second * SECOND_US)
    return store


@pytest.mark.parametrize("packets", [(100,), (10, 100), tuple(range(1, 60))])
def test_what_clean_trains_say_is_summed_by_kind_or_one_by_one(packets: tuple[int, ...]) -> None:
    watch = store_of(3, "u-0-0-0", packets).watch
    second, size = watch.window.seconds[-1], len(watch.routes.suspects.all)
    plain, sent = np.zeros((size, MODES.size)), np.zeros(size)
    for route, count, lost in zip(second.route.tolist(), second.sent.tolist(), second.lost.tolist(), strict=True):
        for suspect in [number for number in watch.routes.members[route].tolist() if number >= 0]:
            plain[suspect] += 0.0 if lost else MODES.against(np.array([count]))[0]
            sent[suspect] += count
    found = acquittal_of(second, watch.routes)
    assert found.of_all(size) == pytest.approx(plain)
    assert found.sent == pytest.approx(sent)


def test_a_map_that_moves_one_host_changes_only_sums_of_what_its_trains_cross() -> None:
    store = store_of(12, "u-0-0-0")
    watch, before = store.watch, store.watch.score.copy()
    table = watch.routes
    touched = {number for route in table.of_ends({endpoint(HOSTS - 1, 0)}) for number in table.members[route]}
    moved = endpoint_map(version=2, gone=(HOSTS - 1,))
    store.take("fabric-endpoints", fabric_endpoints(moved))
    assert before.max() > 0.0
    for number in range(len(before)):
        if number not in touched and not table.suspects.all[number].name.endswith(f"{HOSTS - 1}-1"):
            same = watch.score[number].tolist() == before[number].tolist()
            assert same or not watch.score[number].any()
    assert any(watch.score[number].any() for number in range(len(before)))
    for second in watch.window.seconds:
        fresh, kept = acquittal_of(second, watch.routes), second.acquittal(watch.routes)
        assert kept.of_all(len(watch.score)).tolist() == fresh.of_all(len(watch.score)).tolist()
        assert kept.sent.tolist() == fresh.sent.tolist()
        assert kept.stray == fresh.stray


def test_the_same_map_again_changes_nothing() -> None:
    store = store_of(12, "u-0-0-0")
    before = store.watch.score.copy()
    store.take("fabric-endpoints", fabric_endpoints(endpoint_map(version=2)))
    assert store.watch.score.tolist() == before.tolist()


@pytest.mark.parametrize("faulty", [{4}, {1, 9}, {0, 5, 11}])
def test_gains_that_are_kept_are_those_that_are_worked_out_anew(faulty: set[int]) -> None:
    known = sample(faulty, 0.05)
    tried = worth_trying(known, 0.0)
    gains(known, known.base, tried)
    picks = infer(known, 12.0, lambda suspect: (0, str(suspect))).picks
    gains(known, known.base, tried)
    for upto in range(len(picks) + 1):
        p = explained(known, picks[:upto], 1.0)
        kept, fresh = gains(known, p, tried), gains(dataclasses.replace(known), p, tried)
        assert kept.by_mode == pytest.approx(fresh.by_mode)
        assert kept.since.tolist() == fresh.since.tolist()


def test_the_fault_is_found_among_the_few_suspects_that_can_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for most in (search.MOST_SUSPECTS, 16):
        monkeypatch.setattr(search, "MOST_SUSPECTS", most)
        watch = store_of(14, "u-0-0-0").watch
        kept: Sample = search.sample_of(watch)[0]
        assert (kept.against.shape[1] < len(watch.routes.suspects.all)) == (most == 16)
        assert look(watch, BEGIN_US + 14 * SECOND_US)
        found.append([(fault.suspect, fault.since_us, round(fault.gain, 6)) for fault in watch.active()])
    assert len(found[0]) == 1
    assert found[0][0][0].name == "u-0-0-0"
    assert [each[:2] for each in found[0]] == [each[:2] for each in found[1]]


def test_routes_placed_together_cross_what_each_crosses_by_itself() -> None:
    table, topology = store_of(2).watch.routes, store_of(2).topology
    many, one = Placing(topology, SuspectTable()), SuspectTable()
    stranger = ("nobody", table.routes[0][1], table.routes[0][2], 0)
    unknown = (table.routes[0][0], table.routes[0][1], ("no-such-link", "u-0-0-0"), 0)
    untraced = (*table.routes[0][:2], None, 0)
    for src, dst, path, _ in [*table.routes, stranger, unknown, untraced]:
        alone = [one.number(suspect) for suspect in suspects_of_path(topology, src, dst, path)]
        assert many.row(src, dst, path) == alone
    assert many.table.all == one.all
    topology.left["gone"] = BEGIN_US
    assert many.row("gone", "nobody", None) == []


@pytest.mark.parametrize("count", [0, 1, FEW, FEW + 1, 60])
def test_what_crosses_any_of_many_suspects_is_what_crosses_one_of_them(count: int) -> None:
    watch = store_of(2).watch
    route, suspects = watch.window.seconds[-1].route, list(range(count))
    assert suspects[-1:] < [len(watch.routes.suspects.all)]
    slow = [any(suspect in watch.routes.members[each] for suspect in suspects) for each in route.tolist()]
    assert watch.routes.crosses_any(route, suspects).tolist() == slow
    assert any(slow) == (count > 0)


def test_a_pair_that_takes_another_path_and_comes_back_has_a_route_for_each() -> None:
    numbers, found = RouteNumbers(), []
    for paths in ([("a", "b"), ("c",)], [("c",), ("d", "e")], [("a", "b"), ("c",)]):
        pairs = numbers.pairs_of([["x", "y"]], [["y", "x"]])
        tags = numbers.tags_of(paths, numbers.newest_tags(pairs))
        found.append(numbers.of(pairs, tags)[0].tolist())
        assert tags.tolist() == [PORTS + numbers.paths[path] for path in paths]
    assert found == [[0, 1], [2, 3], [0, 1]]
    assert numbers.listed == list(numbers.paths)


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), min_size=1, max_size=9), st.integers(1, 4))
def test_routes_are_in_use_while_a_second_of_the_window_has_them(seconds: list[list[int]], length: int) -> None:
    used, parts = UsedRoutes(), [np.array(second, np.int64) for second in seconds]
    for end in range(1, len(parts) + 1):
        window = parts[max(0, end - length) : end]
        wanted = {number for part in window for number in part.tolist()}
        assert set(np.flatnonzero(used.of(window, 10)).tolist()) == wanted


def test_packets_on_a_suspect_are_counted_once_and_anew_when_trains_are_left_out() -> None:
    watch = store_of(12, "h0r0-up").watch
    table, seconds = watch.routes, watch.window.seconds

    def plain(second: Second, suspect: int, without: int | None) -> tuple[int, int]:
        members = table.members[second.route]
        on = (members == suspect).any(axis=1) & ~(members == (-9 if without is None else without)).any(axis=1)
        return int(second.sent[on].sum()), int(second.lost[on].sum())

    for _ in range(2):
        for suspect, without in ((0, None), (3, None), (0, 3), (3, 0)):
            for since in (0, 5):
                counts = np.array([plain(second, suspect, without) for second in seconds[since:]])
                assert watch.packets_on(seconds[since:], suspect, without) == tuple(counts.sum(axis=0).tolist())
        watch.mute([endpoint(*pairs()[0][0])], 0, seconds[6].t_us)


losses = st.floats(1e-9, 1.0 - 1e-7)


@given(st.integers(1, 200), st.integers(0, 200), losses, losses)
def test_nobody_says_more_than_another_loss_allows(lost: int, survived: int, before: float, now: float) -> None:
    counts = np.array([float(lost)]), np.array([float(survived)])
    said = [MODES.say(*counts, np.array([p])) for p in (before, now)]
    assert (said[1] - said[0]).max() <= most_more(*counts, (np.array([before]), np.array([now])))[0] + 1e-6
