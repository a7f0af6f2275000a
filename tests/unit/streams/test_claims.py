"""False producers are recognised; restarts, moves, leftovers and other honest trouble are not taken for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pytest

from schemas.codec import BadRecord, decode
from schemas.control import Tick
from schemas.envelope import Message
from schemas.instants import SECOND_US
from schemas.maps import EndpointMap
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.reference.examples import examples
from skeletonhunter.replaying.simulating import simulate_recording
from skeletonhunter.testbed.scenario import FabricPlan, JobChange, JobPlan, Scenario
from streams.claims import Claims
from streams.fold import StageFold
from streams.parameters import LimitParameters, Parameters
from streams.stages import STAGES

INCIDENTS = Path(__file__).parents[3] / "examples" / "incidents"
PROBES, COUNTERS, HEALTH, MAP = "probe-results", "rnic-counters", "agent-health", "endpoint-map"
RAW = (PROBES, COUNTERS, HEALTH, MAP, "rnic-bursts", "device-events", "flow-tables", "switch-queues")
Said = tuple[float, str, str]
"""(second, agent, boot)."""


def example(topic: str) -> Message:
    found = examples()[topic]["typical.valid"]
    value = decode(topic, found.key, bytes(found.value), 2**53)
    assert isinstance(value, Message)
    return value


def said(topic: str, second: float, of: str, boot: str, **fields: object) -> Message:
    value = example(topic)
    producer = msgspec.structs.replace(value.producer, id=f"agent:{of}/{topic}", boot=boot, seq=round(second * 10))
    return msgspec.structs.replace(value, t_us=value.t_us + round(second * SECOND_US), producer=producer, **fields)


def refused(messages: Iterable[tuple[str, Message]], times_us: Iterable[int] | None = None) -> list[str]:
    """The reasons of a list of messages, that come at these times, or each at the newest event time."""
    claims, reasons, now_us = Claims(1000), [], 0
    given = iter(times_us or ())
    for topic, value in messages:
        now_us = next(given, max(now_us, value.t_us))
        try:
            claims.check(topic, value, now_us)
        except BadRecord as error:
            assert error.reason == "foreign_producer"
            reasons.append(error.detail)
    return reasons


def probes(turns: Iterable[Said]) -> Iterator[tuple[str, Message]]:
    return ((PROBES, said(PROBES, *turn)) for turn in turns)


def test_two_boots_in_turns_are_a_contest_after_half_a_minute_and_the_older_one_is_believed() -> None:
    false = [(second, "a", "b2") for second in range(20, 100)]
    true = [(second + 0.5, "a", "b1") for second in range(100)]
    reasons = refused(probes(sorted(true + false)))
    assert 45 <= len(reasons) <= 51
    assert all("boot b2 speaks for producer agent:a/probe-results in turns with b1" in reason for reason in reasons)


def test_another_agent_that_speaks_for_an_endpoint_is_recognised_whatever_its_clock_says() -> None:
    for ahead_s in (-4.0, 0.0, 50.0):
        true = [(second, 1.0 * second, "a", "b1") for second in range(150)]
        false = [(second + 0.5, second + ahead_s, "evil", "b1") for second in range(20, 150)]
        turns = sorted(true + false)
        times_us = [round(turn[0] * SECOND_US) for turn in turns]
        reasons = refused(probes((second, agent, boot) for _, second, agent, boot in turns), times_us)
        assert reasons and all("agent evil speaks for endpoint" in reason for reason in reasons)


def test_restarts_are_none() -> None:
    every_40_s = [(float(second), "a", f"boot-{second // 40}") for second in range(400)]
    assert refused(probes(every_40_s)) == []
    crash_loop = [(float(second), "a", f"boot-{second}") for second in range(200)]
    assert refused(probes(crash_loop)) == []


def test_what_an_earlier_run_left_behind_is_none() -> None:
    spooled = [(second / 10, "a", "b1") for second in range(600)]
    new = [(60.0 + second, "a", "b2") for second in range(100)]
    assert refused(probes(spooled + new)) == []
    assert refused(probes(new[:50] + spooled + new[50:])) == []  # also when it comes late


def test_a_move_is_none_though_both_hosts_speak_for_some_seconds() -> None:
    for overlap_s in (0, 5, 25):
        old = [(float(second), "h1", "b1") for second in range(60 + overlap_s)]
        new = [(second + 0.5, "h2", "b7") for second in range(60, 160)]
        back = [(second + 0.2, "h1", "b1") for second in range(170, 250)]
        assert refused(probes(sorted(old + new + back))) == []


def test_a_clock_that_was_set_back_with_a_restart_is_none() -> None:
    before = [(float(second), "a", "b1") for second in range(60)]
    after = [(30.0 + second, "a", "b2") for second in range(200)]
    assert refused(probes(before + after)) == []


def test_who_was_first_may_fall_silent_and_the_other_goes_on() -> None:
    true = [(second + 0.5, "a", "b1") for second in range(100)]
    other = [(float(second), "a", "b2") for second in range(20, 300)]
    reasons = refused(probes(sorted(true + other)))
    assert len(reasons) < 115


def moved(version: int, second: float, host: str) -> tuple[str, Message]:
    value = example(MAP)
    assert isinstance(value, EndpointMap)
    endpoints = tuple(msgspec.structs.replace(endpoint, host=host) for endpoint in value.endpoints)
    t_us = example(COUNTERS).t_us + round(second * SECOND_US)
    return MAP, msgspec.structs.replace(value, version=version, t_us=t_us, endpoints=endpoints)


def counters(second: float, host: str) -> tuple[str, Message]:
    container = moved(1, 0, host)[1].endpoints[0].container  # type: ignore[attr-defined]
    return COUNTERS, said(COUNTERS, second, f"agent-of-{host}", "b", host=host, container=container)


def test_counters_from_a_host_that_the_map_does_not_give_are_refused() -> None:
    (reason,) = refused([moved(1, 0, "h1"), counters(1, "h1"), counters(2, "h9")])
    assert "host is 'h9', but the endpoint map has container" in reason and "on h1" in reason


def test_a_host_that_lost_a_container_may_speak_for_a_minute_more() -> None:
    before = [moved(1, 0, "h1"), counters(1, "h1"), moved(2, 10, "h2"), counters(11, "h2")]
    assert refused([*before, counters(69, "h1"), moved(1, 0, "h1"), counters(70, "h2")]) == []
    assert len(refused([*before, counters(71, "h1")])) == 1


def test_counters_without_a_map_are_believed() -> None:
    assert refused([counters(1, "h1"), counters(2, "h2")]) == []


def test_health_is_of_the_agent_that_sends_it() -> None:
    assert refused([(HEALTH, said(HEALTH, 1, "a", "b", agent="a"))]) == []
    (reason,) = refused([(HEALTH, said(HEALTH, 1, "a", "b", agent="c"))])
    assert "agent is 'c', but the producer is 'agent:a/agent-health'" in reason


@pytest.mark.parametrize("name", ["stale-flow-offload", "healthy-job"])
def test_recordings_hold_no_false_producer(name: str) -> None:
    assert refused_in(INCIDENTS / name) == []


def test_a_simulated_job_that_moves_holds_no_false_producer(tmp_path: Path) -> None:
    scenario = Scenario(
        name="move",
        seed=3,
        seconds=150,
        fabric=FabricPlan(hosts=6, rails=4, hosts_per_leaf=2, spines=2),
        jobs=(JobPlan(tp=4, pp=2, dp=2, period_s=6.0, changes=(JobChange(at_s=60.0, what="migrate", lasts_s=25.0),)),),
    )
    simulate_recording(scenario, tmp_path / "move", Parameters())
    hosts: dict[str, set[str]] = {}
    with Recording(tmp_path / "move") as recording:
        maps = [decode(MAP, line.key, line.raw, line.arrival_us) for line in recording.lines() if line.topic == MAP]
    for value in maps:
        assert isinstance(value, EndpointMap)
        for endpoint in value.endpoints:
            hosts.setdefault(endpoint.container, set()).add(endpoint.host)
    assert len({host for its in hosts.values() for host in its}) > len(maps[0].endpoints) / 4, "something moved"  # type: ignore[union-attr]
    assert refused_in(tmp_path / "move") == []


def refused_in(path: Path) -> list[str]:
    """What is refused of a recording's raw topics."""
    claims: dict[str, Claims] = {}
    reasons = []
    with Recording(path) as recording:
        for line in recording.lines():
            if line.topic not in RAW:
                continue
            value = decode(line.topic, line.key, line.raw, line.arrival_us)
            assert isinstance(value, Message)
            try:
                claims.setdefault(line.key or "", Claims(10**6)).check(line.topic, value, line.arrival_us)
            except BadRecord as error:
                reasons.append(error.detail)
    assert claims
    return reasons


def test_producers_and_keys_are_bounded_and_room_is_made_by_time() -> None:
    limits = LimitParameters(keys=2, producers=3)
    fold = StageFold(STAGES["detection"], Parameters(limits=limits))
    for number in range(2):
        fold.admit(PROBES, f"job-{number}", said(PROBES, 0, "a", "b"))
    with pytest.raises(BadRecord, match="too_many: stage detection: more than 2 keys in a partition, 'job-2' is new"):
        fold.admit(PROBES, "job-2", said(PROBES, 0, "a", "b"))
    with pytest.raises(BadRecord, match="too_many: probe-results: more than 3 producers and endpoints"):
        for number in range(3):
            fold.admit(PROBES, "job-0", said(PROBES, 1, f"agent-{number}", "b", src=f"c/{number}"))
    later = said(PROBES, 200, "late", "b")
    list(fold.advance(Tick(t_us=later.t_us, source="clock", offsets={}, final=False)))
    fold.admit(PROBES, "job-0", later)


def test_claims_survive_a_snapshot() -> None:
    fold = StageFold(STAGES["detection"], Parameters())
    fold.admit(PROBES, "j", said(PROBES, 0, "a", "b"))
    fold.advance(Tick(t_us=said(PROBES, 1, "a", "b").t_us, source="clock", offsets={}, final=True))
    heir = StageFold(STAGES["detection"], Parameters())
    heir.restore("j", fold.snapshot("j"))
    assert heir.claims == fold.claims and heir.claims["j"].floors
