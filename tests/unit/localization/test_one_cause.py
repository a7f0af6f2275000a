"""One cause is one incident, and the right one: no second fault is invented for what a first one explains."""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace

from localization.evidence import new_evidence
from localization.incidents import settle_on
from localization.parameters import LocalizationParameters
from localization.queues import LATELY_US, SURE_US, Before, QueueStore
from schemas.envelope import Message
from schemas.instants import SECOND_US
from schemas.telemetry import FlowEntry, QueueColumns, SwitchQueues
from tests.small_fabric import (
    BEGIN_US,
    WELL,
    Suffers,
    endpoint,
    envelope,
    event,
    fabric_map,
    health,
    history_of,
    links_of,
    queues,
    told,
)
from tests.small_tables import Tables


def test_slow_pairs_of_two_hosts_are_the_one_that_more_of_them_share() -> None:
    """At first only what goes between hosts 2 and 3 is slow; then all of host 3, so it is not host 2's."""

    def slow(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        ends = {src[:3], dst[:3]}
        hit = (second > 30 and ends == {"c2/", "c3/"}) or (second > 38 and "c3/" in ends)
        return Suffers(rtt=6.0) if hit else WELL

    found = told(80, slow, health(80), queues(80))
    (incident,) = [each for each in found if each.state != "resolved"]  # what was told first may have been merged
    assert incident.component == "host:h3"


def test_a_host_whose_cards_are_all_slow_for_no_known_reason_stays_in_use() -> None:
    def slow(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return Suffers(rtt=6.0) if second > 30 and ("c3/" in src or "c3/" in dst) else WELL

    history = history_of(90, slow, health(90), queues(90))
    assert history[-1].component == "host:h3"
    assert {incident.action.kind for incident in history} == {"none"}
    known = history_of(90, slow, health(90), queues(90), [event(32.0, "host:h3", "pcie_degraded")])
    assert (known[-1].issue, known[-1].action.kind) == ("pcie_nic_error", "quarantine")


def test_what_a_host_says_of_itself_goes_before_what_its_place_suggests() -> None:
    def slow(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return Suffers(rtt=6.0) if second > 30 and ("c3/" in src or "c3/" in dst) else WELL

    (incident,) = told(60, slow, health(60), [event(32.0, "host:h3", "gdr_error")])
    assert (incident.component, incident.issue) == ("host:h3", "gpu_direct_rdma_error")


def test_queues_that_only_replies_wait_in_are_congestion() -> None:
    """Probes from host 0 to others come back through spine 1 although they went through spine 0."""
    port = "spine-1/leaf-0-0"

    def slow(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        hit = src == endpoint(0, 0) and dst in (endpoint(2, 0), endpoint(4, 0))
        return Suffers(rtt=6.0) if second > 30 and hit else WELL

    assert all("u-0-0-1" not in links_of((0, 0), (host, 0)) for host in (2, 4))
    deep: list[Message] = list(queues(70, lambda at, second: 900_000 if at == port and second > 30 else 0))
    (incident,) = told(70, slow, deep)
    assert (incident.kind, incident.component) == ("congestion", f"port:{port}")
    (other,) = told(70, slow, queues(70))
    assert other.kind != "congestion"


def depths(values: list[int], start: int) -> SwitchQueues:
    t_us = tuple(BEGIN_US + (start + n) * SECOND_US for n in range(len(values)))
    column = QueueColumns(port="1", queue=3, t_us=t_us, depth_bytes=tuple(values))
    return SwitchQueues(**envelope("q", float(start + len(values)), start), switch="s", ports=(column,))


def test_a_queue_that_filled_up_before_the_pairs_fell_ill_is_deep() -> None:
    store, early = QueueStore(600 * SECOND_US), SURE_US // SECOND_US - 2
    store.take(depths([1000 + 10 * (n % 7) for n in range(60)] + [300_000] * (early + 20), start=0))
    onset_us = BEGIN_US + (60 + early) * SECOND_US
    test = store.test("s/1", onset_us, onset_us + 20 * SECOND_US, {})
    assert test is not None and test.deep


def test_a_burst_is_compared_with_what_was_before_the_last_one() -> None:
    store = QueueStore(600 * SECOND_US)
    store.take(depths([1000] * 60 + [300_000] * 20 + [1000] * 20 + [300_000] * 20, start=0))
    first, second = BEGIN_US + 60 * SECOND_US, BEGIN_US + 100 * SECOND_US
    known: dict[str, Before] = {}
    assert store.test("s/1", first, first + 20 * SECOND_US, known).deep  # type: ignore[union-attr]
    assert store.test("s/1", second, second + 20 * SECOND_US, {}).deep  # type: ignore[union-attr]
    much_later = dataclasses.replace(store, filled={"s/1 3": (first - 2 * LATELY_US, known["s/1 3"])})
    assert not much_later.test("s/1", second, second + 20 * SECOND_US, {}).deep  # type: ignore[union-attr]


def test_a_rule_that_aged_out_after_the_last_probe_breaks_no_chain() -> None:
    """The pair is probed no more from second 36 on, and its rules are gone from second 44 on."""
    pair = endpoint(0, 0), endpoint(4, 0)

    def cut(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        if (src, dst) != pair:
            return WELL
        return replace_silent(second > 36, Suffers(loss=1.0) if second > 30 else WELL)

    def gone(second: int, table: str, row: FlowEntry) -> FlowEntry | None:
        return (
            None
            if second >= 44 and (row.src, row.dst) == pair and row.at in ("vif:c0/mlx5_0", "vswitch:h0", "tunnel:h0")
            else row
        )

    history = history_of(75, cut, queues(75), Tables(75, gone).messages())
    assert all(incident.component is None for incident in history)


def replace_silent(silent: bool, suffers: Suffers) -> Suffers:
    return Suffers(silent=True) if silent else suffers


def test_a_part_s_reason_needs_less_than_a_rival_without_one() -> None:
    store = new_evidence("f", LocalizationParameters())
    store.topology.take_fabric(fabric_map())
    deep: list[Message] = list(queues(70, lambda at, second: 900_000 if at == "leaf-1-0/up0" and second > 30 else 0))

    def slow(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return Suffers(rtt=6.0) if second > 30 and "u-1-0-0" in path else WELL

    before = replace(history_of(70, slow, deep)[-1], confidence=0.9)
    issue = "congestion_control_misconfiguration"
    reason = replace(before, kind="network_fault", component="config:leaf-1-0/up0", issue=issue, confidence=0.7)
    elsewhere = replace(reason, component="config:leaf-2-0/up0")
    assert settle_on(store, before, reason).component == "config:leaf-1-0/up0"
    assert settle_on(store, before, elsewhere).component == before.component
