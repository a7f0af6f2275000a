"""The pieces that localization is made of, each against a slow or obvious version of itself."""

from __future__ import annotations

from binascii import crc32
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from localization.flows import Table
from localization.inference import infer
from localization.modes import MODES, MOST_NATS, misfit
from localization.producers import Producers, is_starved
from localization.queues import QueueStore
from localization.routes import sum_by_suspect
from localization.routing import distances, hashed_path
from localization.samples import Sample
from localization.sources import Sources
from localization.topology import Topology
from schemas.instants import SECOND_US
from schemas.maps import Ecmp, FabricEndpoints
from schemas.telemetry import QueueColumns, SwitchQueues
from tests.small_fabric import BEGIN_US, CLOCK, endpoint, endpoint_map, envelope, fabric_map, health, links_of
from tests.small_tables import snapshot


def topology(ecmp: Ecmp | None = None) -> Topology:
    known, listed = Topology(), endpoint_map()
    known.take_fabric(fabric_map(ecmp))
    body = envelope("detection:j", 0.0, 1)
    known.take_endpoints(FabricEndpoints(**body, job="j", version=1, state="running", endpoints=listed.endpoints))
    return known


@given(st.integers(1, 500), st.integers(1, 500), st.floats(1e-6, 0.999))
def test_misfit_is_the_bounded_deviance(lost: int, survived: int, p: float) -> None:
    sent = lost + survived
    share = lost / sent
    deviance = sent * (share * log(share / p) + (1 - share) * log((1 - share) / (1 - p)))
    found = misfit(np.array([float(lost)]), np.array([float(survived)]), np.array([p]))[0]
    assert found == pytest.approx(min(deviance, MOST_NATS), abs=1e-6)


@given(st.integers(1, 300), st.integers(0, 300), st.floats(1e-6, 0.5))
def test_no_train_says_more_than_its_bound(lost: int, survived: int, p: float) -> None:
    said = MODES.say(np.array([float(lost)]), np.array([float(survived)]), np.array([p]))
    against = MODES.against(np.array([survived]))
    assert np.all(np.abs(said) <= MOST_NATS + 1e-9)
    assert np.all(against <= 0.0)
    assert np.all(against >= -MOST_NATS)


def test_sums_by_suspect_equal_a_loop() -> None:
    draw = np.random.default_rng(3)
    members = draw.integers(-1, 7, (40, 5))
    weights = draw.random(40)
    slow = [sum(w for row, w in zip(members, weights, strict=True) for m in row if m == n) for n in range(7)]
    assert sum_by_suspect(members, weights, 7) == pytest.approx(slow)


def sample(faulty: set[int], loss: float, routes: int = 60, seed: int = 1) -> Sample:
    """Trains over 12 suspects, three each, drawn with loss on the faulty ones; one second each of twenty."""
    draw = np.random.default_rng(seed)
    shapes = np.stack([draw.choice(12, 3, replace=False) for _ in range(routes)])
    second = np.repeat(np.arange(20), routes)
    route = np.tile(np.arange(routes), 20)
    p = np.where(np.isin(shapes, sorted(faulty)).any(axis=1), loss, 1e-4)[route]
    lost = draw.binomial(100, p)
    lossy = lost > 0
    clean = np.zeros((20, 12, MODES.size))
    for n in np.flatnonzero(~lossy).tolist():
        clean[second[n], shapes[route[n]]] += MODES.against(np.array([100]))[0]
    count = int(lossy.sum())
    return Sample(
        second=second[lossy],
        members=shapes[route[lossy]],
        route=route[lossy],
        pair=route[lossy],
        sent=np.full(count, 100.0),
        lost=lost[lossy].astype(np.float64),
        base=np.full(count, 1e-4),
        against=clean,
        expected=float(1e-4 * 100 * routes * 20),
        prior=np.zeros(12),
        modes=MODES,
        echo=lambda _: None,
        flown=lambda routes, since: np.full(len(routes), 20 - since),
        whole=np.arange(12),
    )


@pytest.mark.parametrize("faulty", [set(), {4}, {1, 9}, {0, 5, 11}])
@pytest.mark.parametrize("loss", [0.005, 0.05, 0.9])
def test_the_search_finds_exactly_the_faulty_suspects(faulty: set[int], loss: float) -> None:
    found = infer(sample(faulty, loss), 12.0, lambda suspect: (0, str(suspect)))
    assert {pick.suspect for pick in found.picks} == faulty


def test_what_rests_on_one_pair_is_not_blamed() -> None:
    whole = sample({4}, 0.5)
    alone = whole.route == whole.route[(whole.members == 4).any(axis=1)][0]
    one = {name: getattr(whole, name)[alone] for name in ("second", "members", "route", "pair", "sent", "lost", "base")}
    quiet = Sample(
        **one,
        against=np.zeros_like(whole.against),
        expected=1.0,
        prior=whole.prior,
        modes=MODES,
        echo=whole.echo,
        flown=whole.flown,
        whole=whole.whole,
    )
    found = infer(quiet, 12.0, lambda suspect: (0, str(suspect)))
    assert found.picks == []
    assert found.runner_up is not None
    assert found.runner_up.gain > 100.0


@pytest.mark.parametrize("sport", [49_152, 50_000, 65_535])
def test_a_hashed_path_follows_the_reading_rule(sport: int) -> None:
    known = topology(Ecmp(method="hash", function="crc32", salt=7))
    src, dst = endpoint(0, 0), endpoint(5, 0)
    path = hashed_path(known, src, dst, sport, distances(known, "h5/mlx5_0"))
    choice = crc32(f"10.0.0.0|10.0.5.0|17|{sport}|4791|7".encode()) % 2
    assert path == ("a0-0", f"u-0-0-{choice}", f"u-2-0-{choice}", "a5-0")


def test_within_a_leaf_there_is_one_path() -> None:
    known = topology(Ecmp(method="hash", function="crc32"))
    assert hashed_path(known, endpoint(0, 0), endpoint(1, 0), 1, distances(known, "h1/mlx5_0")) == links_of(
        (0, 0), (1, 0)
    )


def test_traced_fabrics_compute_no_path() -> None:
    known = topology()
    assert hashed_path(known, endpoint(0, 0), endpoint(5, 0), 1, distances(known, "h5/mlx5_0")) is None


def depths(values: list[int], start: int = 0) -> SwitchQueues:
    t_us = tuple(BEGIN_US + (start + n) * SECOND_US for n in range(len(values)))
    column = QueueColumns(port="1", queue=3, t_us=t_us, depth_bytes=tuple(values))
    return SwitchQueues(**envelope("q", float(start + len(values)), start), switch="s", ports=(column,))


@pytest.mark.parametrize(
    ("during", "deep"),
    [([1000] * 20, False), ([300_000] * 20, True), ([1000] * 18 + [900_000] * 2, False), ([2500] * 20, False)],
)
def test_a_queue_is_deep_when_it_stays_deep(during: list[int], deep: bool) -> None:
    store = QueueStore(600 * SECOND_US)
    store.take(depths([900 + 20 * (n % 11) for n in range(60)]))
    store.take(depths(during, start=60))
    test = store.test("s/1", BEGIN_US + 60 * SECOND_US, BEGIN_US + 80 * SECOND_US, {})
    assert test is not None
    assert test.deep is deep


def test_a_queue_without_samples_is_not_judged() -> None:
    assert QueueStore(SECOND_US).test("s/1", BEGIN_US, BEGIN_US, {}) is None


def test_only_a_complete_snapshot_ends_a_row() -> None:
    table = Table()
    for each in (snapshot(0, [1, 2]), snapshot(5, [1], complete=False)):
        table.take(each)
    assert all(row.present for row in table.rows.values())
    table.take(snapshot(10, [1]))
    assert [row.entry.flow for row in table.rows.values() if not row.present] == ["flow-2"]


def test_a_flow_that_is_made_anew_is_counted_once_a_snapshot() -> None:
    table = Table()
    for second, rows, packets in ((0, [1], 900), (5, [], 0), (10, [1], 3), (15, [1], 1), (20, [1], 8)):
        table.take(snapshot(second, rows, packets=packets))
    (row,) = table.rows.values()
    assert row.renewals(0) == {BEGIN_US + 10 * SECOND_US, BEGIN_US + 15 * SECOND_US}


def test_only_a_regular_stream_can_fall_silent() -> None:
    producers = Producers()
    for message in health(20):
        producers.hear("agent-health", message)
    producers.hear("flow-tables", snapshot(3, [1]))
    assert producers.silent(BEGIN_US + 22 * SECOND_US) == {}
    silent = producers.silent(BEGIN_US + 40 * SECOND_US)
    assert set(silent) == {f"c{host}" for host in range(8)}


def test_a_source_is_silent_after_four_of_its_own_gaps() -> None:
    sources = Sources()
    for second in range(0, 60, 3):
        sources.hear({"slow"}, BEGIN_US + second * SECOND_US)
    assert not sources.is_silent("slow", BEGIN_US + 67 * SECOND_US)
    assert sources.is_silent("slow", BEGIN_US + 72 * SECOND_US)
    assert not sources.is_silent("never seen", BEGIN_US)
    assert CLOCK.source == "ptp"


def test_a_known_fault_that_a_review_does_not_find_again_is_no_change() -> None:
    from localization.evidence import new_evidence
    from localization.faults import Fault
    from localization.parameters import LocalizationParameters
    from localization.search import look
    from localization.suspects import Suspect
    from schemas.diagnosis import PairWindows
    from tests.small_fabric import pairs

    store = new_evidence("f", LocalizationParameters())
    store.topology.take_fabric(fabric_map())
    ends = [(endpoint(*src), endpoint(*dst)) for src, dst in pairs()]
    columns = {"sport": (1,) * len(ends), "sent": (100,) * len(ends), "lost": (0,) * len(ends)}
    paths = tuple(links_of(src, dst) for src, dst in pairs())
    for second in range(1, 21):
        window = PairWindows(
            **envelope("detection:j", float(second), second),
            **columns,
            job="j",
            window_s=1.0,
            src=tuple(src for src, _ in ends),
            dst=tuple(dst for _, dst in ends),
            path=tuple(range(len(ends))),
            rtt_us=(None,) * len(ends),
            paths=paths,
        )
        store.take("pair-windows", window)
        store.close_second(BEGIN_US + second * SECOND_US)
    now_us = BEGIN_US + 20 * SECOND_US
    known = next(s for s in store.watch.routes.suspects.all if s.kind == "switch")
    store.watch.faults = [
        Fault(known, 0.01, 1.0, now_us - SECOND_US, now_us, 20.0, 10.0, 3, 1000, 10, rivals=(), bad_us=now_us)
    ]
    assert isinstance(known, Suspect)
    assert look(store.watch, now_us) is False
    assert [fault.suspect for fault in store.watch.active()] == [known]
    assert store.watch.review_us > now_us + 2 * SECOND_US


def test_a_farewell_does_not_take_back_that_an_agent_was_starved() -> None:
    (starved,) = [each for each in health(2, starved={0: 1}) if each.agent == "c0"]
    producers = Producers()
    for value in (starved, replace(starved, state="stopping")):
        producers.hear("agent-health", value)
    assert is_starved(producers.health["c0"])
    producers.hear("agent-health", replace(starved, state="ok"))
    producers.hear("agent-health", replace(starved, state="stopping"))
    assert producers.health["c0"].state == "stopping"
