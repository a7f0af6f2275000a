"""A fault for each outcome that an agent may write, on real sockets: what is injected is what is told, no more."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from collectors.probing import ProbingSettings
from tests.integration.probing.agents import Driver, endpoint_map, free_port, listed, name_of, now, plan, probers
from tests.integration.probing.misbehaving import MisbehavingPeer

pytestmark = pytest.mark.sockets


def settings(**more: object) -> ProbingSettings:
    fields = {
        "port": free_port(),
        "transport": "udp",
        "timeout_s": 0.5,
        "give_up_s": 1.5,
        "hello_s": 0.1,
        "report_s": 0.1,
    }
    return ProbingSettings(**(fields | more))


@contextmanager
def agents(
    *numbers: int, pairs: list[tuple[int, int]], others: tuple[int, ...] = (), **more: object
) -> Iterator[Driver]:
    """Running agents that follow a plan; ``others`` are in the map and have none."""
    driver = probers(numbers, settings(**more))
    for prober in driver.probers.values():
        prober.take_map(endpoint_map([listed(n) for n in (*numbers, *others)]))
        prober.take_plan(plan(pairs))
    try:
        yield driver
    finally:
        driver.close()


def outcomes(driver: Driver, src: int, dst: int) -> set[str]:
    return {result.outcome for result in driver.results(src, dst)}


def port_of(driver: Driver) -> int:
    return next(iter(driver.probers.values()))._settings.port


def test_reply() -> None:
    with agents(1, 2, pairs=[(1, 2), (2, 1)]) as driver:
        driver.run(lambda: len([r for r in driver.results(1, 2) if r.outcome == "reply"]) >= 5)
        good = [r for r in driver.results(1, 2) if r.sent]
        assert {r.outcome for r in good} == {"reply"}
        assert {(r.kind, r.lost, r.sport) for r in good} == {("udp", 0, 50000)}
        assert max(r.sent for r in good) == 10
        assert {r.timestamps for r in good} == {"kernel"}
        assert all(0.0 <= rtt < 100_000.0 for r in good for rtt in r.rtt_us)
        assert all(r.responder_delay_us is not None and r.prober_delay_us is not None for r in good)


def test_target_not_ready_while_the_map_says_so_or_no_agent_has_registered() -> None:
    with agents(1, pairs=[(1, 2), (1, 3)], others=(3,)) as driver:
        first = endpoint_map([listed(1), listed(2, "starting"), listed(3)], version=2)
        driver.probers[1].take_map(first)
        driver.run(lambda: len(driver.results(1, 2)) >= 3 and len(driver.results(1, 3)) >= 3)
        assert outcomes(driver, 1, 2) == outcomes(driver, 1, 3) == {"target_not_ready"}
        reasons = {(r.dst, r.reason) for r in driver.results(1) if r.reason and "not in" not in r.reason}
        assert (name_of(2), "c2/rnic0 is starting") in reasons
        assert any(dst == name_of(3) and "has not registered" in why for dst, why in reasons)


def test_pairs_are_activated_one_by_one() -> None:
    with agents(1, 2, pairs=[(1, 2), (1, 3)], others=(3,)) as driver:
        driver.run(lambda: "reply" in outcomes(driver, 1, 2))
        assert outcomes(driver, 1, 3) == {"target_not_ready"}
        late = probers([3], driver.probers[1]._settings)
        late.probers[3].take_map(endpoint_map([listed(n) for n in (1, 2, 3)]))
        driver.probers[3] = late.probers[3]
        driver._due[3] = 0
        driver.run(lambda: "reply" in outcomes(driver, 1, 3))
        assert "lost" not in outcomes(driver, 1, 3) | outcomes(driver, 1, 2)


def test_an_agent_that_exits_while_its_host_lives_is_target_not_ready_and_not_lost() -> None:
    with agents(1, 2, pairs=[(1, 2)]) as driver:
        driver.run(lambda: "reply" in outcomes(driver, 1, 2))
        list(driver.probers.pop(2).close(now()))
        seen = len(driver.results(1, 2))

        def later() -> list[str]:
            return [r.outcome for r in driver.results(1, 2)[seen:]]

        driver.run(lambda: later().count("target_not_ready") >= 5)
        assert "lost" not in later()
        assert sum(r.lost for r in driver.results(1, 2)) == 0


def test_lost() -> None:
    with agents(1, pairs=[(1, 2)], others=(2,)) as driver, silent_peer(driver):
        driver.run(lambda: "lost" in outcomes(driver, 1, 2))
        assert "lost" in outcomes(driver, 1, 2) and "reply" not in outcomes(driver, 1, 2)
        lost = [r for r in driver.results(1, 2) if r.outcome == "lost"]
        assert {(r.rtt_us, r.timestamps) for r in lost} == {((), None)}
        assert all(r.sent == r.lost > 0 for r in lost)


def silent_peer(driver: Driver) -> MisbehavingPeer:
    return MisbehavingPeer(name_of(2), ("127.0.0.3", port_of(driver)), lambda _packet: None)


def test_partial_loss_is_counted_packet_by_packet() -> None:
    dropped = []

    def drop_each_fourth(packet: object) -> float | None:
        dropped.append(len(dropped) % 4 == 3)
        return None if dropped[-1] else 0.0

    with agents(1, pairs=[(1, 2)], others=(2,)) as driver:
        with MisbehavingPeer(name_of(2), ("127.0.0.3", port_of(driver)), drop_each_fourth):
            driver.run(lambda: sum(r.sent for r in driver.results(1, 2)) >= 100)
            driver.probers[1].take_plan(plan([], version=2, mode="disabled"))
            driver.run(lambda: len(driver.probers[1]._sender.ledger) == 0)
            driver.run_for(0.3)
        assert sum(r.sent for r in driver.results(1, 2)) == len(dropped)
        assert sum(r.lost for r in driver.results(1, 2)) == sum(dropped)


def test_late_replies_are_late_and_not_lost() -> None:
    with agents(1, pairs=[(1, 2)], others=(2,)) as driver:
        with MisbehavingPeer(name_of(2), ("127.0.0.3", port_of(driver)), lambda _packet: 0.8):
            driver.run(lambda: len([r for r in driver.results(1, 2) if r.sent]) >= 3)
        late = [r for r in driver.results(1, 2) if r.sent]
        assert {(r.outcome, r.lost) for r in late} == {("reply", 0)}
        assert all(r.late == r.sent for r in late)
        assert all(rtt > 700_000.0 for r in late for rtt in r.rtt_us)


def test_replies_after_the_end_do_not_change_what_was_told() -> None:
    with agents(1, pairs=[(1, 2)], others=(2,)) as driver:
        with MisbehavingPeer(name_of(2), ("127.0.0.3", port_of(driver)), lambda _packet: 4.0):
            driver.run(lambda: driver.probers[1].tally.too_late >= 10)
        assert "lost" in outcomes(driver, 1, 2) and "reply" not in outcomes(driver, 1, 2)


def test_a_restarted_peer_loses_nothing() -> None:
    """Its old run does not answer any more; the new one tells so by its session, and nothing counts as lost."""
    with agents(1, pairs=[(1, 2)], others=(2,)) as driver:
        with MisbehavingPeer(name_of(2), ("127.0.0.3", port_of(driver)), lambda _packet: 0.0) as peer:
            driver.run(lambda: "reply" in outcomes(driver, 1, 2))
            peer.session, peer.treatment = 4712, lambda _packet: None
            driver.run(lambda: driver.probers[1].tally.absent >= 10)
            peer.treatment = lambda _packet: 0.0
            driver.run_for(1.0)
        told = [r for r in driver.results(1, 2) if r.reason == "the peer's agent began anew"]
        assert told and all(r.lost == 0 for r in told)


def test_not_sent_when_the_agent_is_capped_below_the_plan() -> None:
    with agents(1, 2, pairs=[(1, 2)], max_pps=50.0, max_pps_total=50.0) as driver:
        driver.run(lambda: "reply" in outcomes(driver, 1, 2))
        begin, before = time.monotonic(), driver.probers[1].tally.sent
        driver.run_for(2.0)
        sent = driver.probers[1].tally.sent - before
        assert sent <= 50.0 * (time.monotonic() - begin) + 10
        assert sent >= 40
        capped = [r for r in driver.results(1, 2) if r.outcome == "not_sent"]
        assert capped and all(r.reason and "capped" in r.reason for r in capped)
        assert "lost" not in outcomes(driver, 1, 2)


def test_not_sent_when_the_address_is_not_ours() -> None:
    with agents(1, 2, pairs=[(1, 2)]) as driver:
        moved = endpoint_map([listed(1, ip="192.0.2.77"), listed(2)], version=2)
        driver.run(lambda: "reply" in outcomes(driver, 1, 2))
        for prober in driver.probers.values():
            prober.take_map(moved)
        driver.run(lambda: any("192.0.2.77" in (r.reason or "") for r in driver.results(1, 2)))
        told = [r for r in driver.results(1, 2) if "192.0.2.77" in (r.reason or "")]
        assert {(r.outcome, r.lost) for r in told} <= {("not_sent", 0), ("reply", 0)}
        assert "not_sent" in {r.outcome for r in told}


def test_not_sent_when_the_wanted_transport_is_not_there() -> None:
    """With ``rdma`` demanded, and neither pyverbs nor a device of that name here."""
    with agents(1, 2, pairs=[(1, 2)], transport="rdma") as driver:
        driver.run(lambda: "not_sent" in outcomes(driver, 1, 2))
        assert outcomes(driver, 1, 2) <= {"not_sent", "target_not_ready"}
        reasons = {r.reason for r in driver.results(1, 2) if r.outcome == "not_sent"}
        assert len(reasons) == 1


def test_a_stopped_agent_finds_the_replies_that_waited_for_it() -> None:
    """It does not look for longer than it waits for replies; those came in time, and the kernel says so."""
    with agents(1, 2, pairs=[(1, 2)]) as driver:
        driver.run(lambda: "reply" in outcomes(driver, 1, 2))
        deadline = time.monotonic() + 2.5
        other = Driver({2: driver.probers[2]})
        driver.run(lambda: len(driver.probers[1]._sender.ledger) > 0)
        other.run(lambda: time.monotonic() > deadline)
        driver.run_for(2.5)
        assert sum(r.lost for r in driver.results(1, 2)) == 0
        assert sum(r.late or 0 for r in driver.results(1, 2)) == 0
        missed = [r for r in driver.results(1, 2) if r.reason and "missed" in r.reason]
        assert missed and all(r.outcome == "not_sent" for r in missed)


def test_a_full_socket_is_a_local_loss_and_proves_nothing() -> None:
    with agents(1, pairs=[(1, 2)], others=(2,)) as driver, silent_peer(driver) as peer:
        peer.treatment = lambda _packet: 0.0
        driver.run(lambda: "reply" in outcomes(driver, 1, 2))
        peer.treatment = lambda _packet: None
        driver.run(lambda: len(driver.probers[1]._sender.ledger) > 0)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flood:
            for _ in range(4000):  # more than its buffer holds
                flood.sendto(bytes(96), ("127.0.0.2", 50000))
        assert driver.probers[1].tally.lost == 0
        driver.run(lambda: driver.probers[1].tally.doubtful > 0)
