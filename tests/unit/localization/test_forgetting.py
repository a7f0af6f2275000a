"""What localization keeps of agents, hosts and containers that are no more, and of what detection has forgotten."""

from __future__ import annotations

from msgspec import structs

from localization.clocks import ClockWatch
from localization.grouping import CaseBook
from localization.producers import FORGET_US, Producers
from schemas.folding import Stray
from schemas.instants import SECOND_US
from schemas.telemetry import AgentHealth
from tests.anomalies import anomaly
from tests.small_fabric import BEGIN_US, endpoint, envelope


def health(agent: str, second: float, *covers: str, state: str = "ok") -> AgentHealth:
    body = envelope(f"agent:{agent}/health", second, round(second) + 1) | {"v": 2}
    return AgentHealth(**body, agent=agent, host=f"host-of-{agent}", covers=covers, state=state)


def test_containers_come_and_go_on_a_host_whose_agent_goes_on() -> None:
    producers = Producers()
    for minute in range(100):
        producers.hear("agent-health", health("a", 60.0 * minute, f"c{minute}/r0", f"c{minute}/r1"))
        placed = {f"c{minute - 1}/r0"}  # its job has not ended yet
        producers.forget(BEGIN_US + 60 * minute * SECOND_US, placed)
    assert producers.agent_of == dict.fromkeys(["c98/r0", "c99/r0", "c99/r1"], "a")


def test_agents_that_are_no_more_are_forgotten_after_an_hour_and_not_before() -> None:
    producers = Producers()
    producers.hear("agent-health", health("gone", 0.0, "c0/r0", state="starved"))
    heard_us = producers.health["gone"].t_us
    producers.forget(heard_us + FORGET_US - 1, ())
    assert set(producers.health) == set(producers.starved) == {"gone"}
    assert producers.agent_of == {"c0/r0": "gone"}
    producers.forget(heard_us + FORGET_US, ())
    assert (producers.streams, producers.health, producers.starved, producers.agent_of) == ({}, {}, {}, {})


def test_clocks_of_silent_streams_are_forgotten_but_not_those_that_may_lie() -> None:
    watch = ClockWatch()
    for agent in ("gone", "lies", "lives"):
        watch.hear("agent-health", health(agent, 0.0))
    since_us = watch.heard_us["agent-health", "agent:gone/health"]
    watch.hear("agent-health", health("lives", 3600.0))
    watch.stray([Stray("agent-health", "agent:lies/health", 3600 * SECOND_US)], since_us + FORGET_US)
    watch.forget(since_us + 1)
    assert {producer for _, producer in watch.beats} == {"agent:lies/health", "agent:lives/health"}
    assert watch.host_of.keys() == watch.heard_us.keys() == watch.beats.keys()


def test_an_anomaly_that_is_told_anew_clears_the_one_that_its_detection_has_forgotten() -> None:
    """As when measurements were deleted that it had read since its checkpoint: it opens it under another name."""
    book, begin_us = CaseBook("f"), BEGIN_US
    first, second = book.start("one", begin_us, begin_us), book.start("other", begin_us, begin_us)
    ends = endpoint(0, 0), endpoint(1, 0)
    first.take(anomaly(1, *ends, begin_us))
    second.take(anomaly(2, endpoint(0, 0), endpoint(2, 0), begin_us))
    second.take(structs.replace(anomaly(3, *ends, begin_us), symptom="packet_loss"))
    book.replace(anomaly(4, *reversed(ends), begin_us + 8 * SECOND_US))
    assert [each.anomaly for each in first.open_anomalies()] == ["a1"]
    book.replace(anomaly(5, *ends, begin_us + 8 * SECOND_US))
    assert first.open_anomalies() == []
    assert first.bad_us == begin_us + 8 * SECOND_US
    assert [each.anomaly for each in second.open_anomalies()] == ["a2", "a3"]
