"""Plans, keys, rates and the other transport, on real sockets."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from collectors.probing import Home, Prober, ProbingSettings
from collectors.probing.packet import SIZE, Kind, Packet, target_of, write_packet
from tests.integration.probing.agents import Driver, endpoint_map, free_port, listed, name_of, now, plan, probers

pytestmark = pytest.mark.sockets

started: list[Driver] = []


@pytest.fixture(autouse=True)
def cleaned() -> Iterator[None]:
    yield
    for driver in started:
        driver.close()
    started.clear()


def running(key: bytes | None = None, numbers: tuple[int, ...] = (1, 2), **more: object) -> Driver:
    fields = {"port": free_port(), "transport": "udp", "hello_s": 0.1, "report_s": 0.1, "give_up_s": 0.6}
    driver = probers(numbers, ProbingSettings(**(fields | more)), key)
    for prober in driver.probers.values():
        prober.take_map(endpoint_map([listed(n) for n in numbers]))
    started.append(driver)
    return driver


def versions(driver: Driver) -> set[int]:
    return {observed.fields["plan_version"] for observed in driver.said}


def replies(driver: Driver) -> int:
    return sum(r.outcome == "reply" for r in driver.results(1, 2))


def test_the_newest_plan_is_followed_and_reported_back() -> None:
    driver = running()
    prober = driver.probers[1]
    assert prober.report().plan_version is None
    prober.take_plan(plan([(1, 2)], version=5))
    driver.run(lambda: replies(driver) >= 1)
    assert prober.report().plan_version == 5 and versions(driver) == {5}
    prober.take_plan(plan([(2, 1)], version=4))
    driver.run_for(0.3)
    assert prober.report().plan_version == 5
    prober.take_plan(plan([(1, 2)], version=6))
    driver.run(lambda: 6 in versions(driver))
    assert prober.report().plan_version == 6
    prober.take_plan(plan([(1, 2)], version=7, mode="disabled"))
    driver.run_for(0.3)
    sent = prober.tally.sent
    driver.run_for(0.5)
    assert prober.tally.sent == sent and prober.report().plan_version == 7
    assert prober.report().covers == (name_of(1),)


def test_results_are_facts_of_the_topic() -> None:
    driver = running()
    driver.probers[1].take_plan(plan([(1, 2)]))
    driver.run(lambda: replies(driver) >= 1)
    observed = driver.said[-1]
    assert (observed.topic, observed.stream) == ("probe-results", f"probe-results/{name_of(1)}")
    assert set(observed.fields) == {"job", "tenant", "src", "plan_version", "results"}


def test_agents_with_another_key_do_not_hear_each_other() -> None:
    ours, theirs = running(b"a" * 32, (1,)), running(b"b" * 32, (2,))
    both = endpoint_map([listed(1), listed(2)], version=2)
    settings = ours.probers[1]._settings
    stranger = probers([2], settings, b"b" * 32).probers[2]
    theirs.close()
    started.remove(theirs)
    ours.probers[1].take_map(both)
    ours.probers[1].take_plan(plan([(1, 2)]))
    driver = Driver({1: ours.probers[1], 2: stranger})
    started[:] = [driver]
    stranger.take_map(both)
    driver.run(lambda: len(driver.results(1, 2)) >= 3)
    assert {r.outcome for r in driver.results(1, 2)} == {"target_not_ready"}


def test_agents_with_the_same_key_do() -> None:
    driver = running(b"a" * 32)
    driver.probers[1].take_plan(plan([(1, 2)]))
    driver.run(lambda: replies(driver) >= 1)


def test_a_stranger_gets_no_more_than_it_sends_and_not_at_any_rate() -> None:
    driver = running(answers_per_s=100.0, answers_per_asker=20.0)
    driver.run_for(0.2)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(("127.0.0.9", 0))
        stranger.settimeout(0.2)
        to = "127.0.0.2", driver.probers[1]._settings.port
        sent, begin = 0, time.monotonic()
        for number in range(200):
            kind = Kind.HELLO if number % 2 else Kind.PROBE
            target = target_of(name_of(1))
            packet = Packet(kind=kind, sport=1, session=1, seq=number, target=target, sent_ns=1)
            sent += stranger.sendto(write_packet(packet), to)
            if number % 20 == 0:
                driver.run_for(0.0)
        driver.run_for(0.1)
        lasted = time.monotonic() - begin
        got = []
        while True:
            try:
                got.append(stranger.recv(2048))
            except TimeoutError:
                break
    assert got and all(len(data) == SIZE for data in got)
    assert sum(map(len, got)) <= sent
    assert len(got) <= 20 + 20 * lasted + 1


def test_tcp_connects_are_timed_by_the_kernel() -> None:
    driver = running(transport="tcp")
    driver.probers[1].take_plan(plan([(1, 2)]))
    driver.run(lambda: replies(driver) >= 3)
    good = [r for r in driver.results(1, 2) if r.sent]
    assert {(r.kind, r.outcome, r.lost) for r in good} == {("tcp", "reply", 0)}
    assert all(r.responder_delay_us is None for r in good)
    assert "kernel" in {r.timestamps for r in good}
    list(driver.probers.pop(2).close(now()))
    seen = len(good)
    driver.run(lambda: replies(driver) >= seen + 3)  # a refused connection is an answer of the host


def test_saving_sends_less_and_never_nothing() -> None:
    driver = running(max_pps=200.0)
    prober = driver.probers[1]
    prober.take_plan(plan([(1, 2)]))
    driver.run(lambda: replies(driver) >= 1)
    prober.save(4)
    before = prober.tally.sent
    driver.run_for(2.0)
    assert 0 < prober.tally.sent - before <= 140
    prober.save(1)
    before = prober.tally.sent
    driver.run_for(2.0)
    assert prober.tally.sent - before > 200


def test_an_endpoint_that_leaves_stops_and_gives_its_port_back() -> None:
    driver = running()
    driver.probers[1].take_plan(plan([(1, 2)]))
    driver.run(lambda: replies(driver) >= 1)
    driver.probers[1].take_map(endpoint_map([listed(1, "gone"), listed(2)], version=2))
    driver.run_for(0.3)
    assert driver.probers[1].report().covers == ()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as again:
        again.bind(("127.0.0.2", driver.probers[1]._settings.port))


@pytest.mark.parametrize("key", [b"", b"short", b"x" * 65])
def test_a_key_of_the_wrong_length_is_refused(key: bytes) -> None:
    with pytest.raises(ValueError, match="32 to 64 bytes"):
        Prober(Home(host="h1"), ProbingSettings(), key)
