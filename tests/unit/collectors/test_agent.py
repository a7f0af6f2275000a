"""The parts together: rhythm, stretching, failures, slow parts, maps and plans, the last words."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from collectors.agent import Agent
from collectors.health import HealthPlan
from collectors.loop import Loop
from collectors.observing import Now, Observed, RequestReader
from collectors.publishing import Publisher
from collectors.residents import Residents
from collectors.spool import Spool
from collectors.stamping import Stamper
from schemas.codec import decode
from schemas.envelope import Clock, Value
from schemas.maps import EndpointMap
from schemas.probing import ProbePlan
from schemas.requests import EvidenceRequest
from schemas.telemetry import AgentHealth, DeviceEvent
from tests.unit.collectors.hand_clock import HandClock, HandSelector, hand_loop, run_for
from tests.unit.collectors.maps_by_hand import endpoint, evidence_request, job_map, job_plan
from tests.unit.collectors.small_broker import SmallBroker

PLAN = HealthPlan(agent="h-1", host="h-1", heartbeat_s=5.0, budget_percent=50.0)


class Ticker:
    """Says something each second; fails when it is told to."""

    def __init__(self, name: str = "ticker", period_s: float = 1.0) -> None:
        self.name, self.period_s = name, period_s
        self.asked_s: list[float] = []
        self.fails = False
        self.severity = "info"

    def collect(self, now: Now) -> Iterable[Observed]:
        self.asked_s.append(now.mono_us / 1e6)
        if self.fails:
            raise OSError("gone")
        fields = {"device": "host:h-1", "event": "unknown", "severity": self.severity, "text": self.name, "values": {}}
        yield Observed("device-events", self.name, now.t_us, fields)


class Follower(Ticker):
    """Also wants maps and plans, saves by itself, and has last words."""

    def __init__(self) -> None:
        super().__init__("follower")
        self.told: list[object] = []

    def take_map(self, endpoint_map: EndpointMap) -> None:
        self.told.append(("map", endpoint_map.version))

    def take_plan(self, plan: ProbePlan) -> None:
        self.told.append(("plan", plan.version))

    def save(self, factor: int) -> None:
        self.told.append(("save", factor))

    def close(self, now: Now) -> Iterable[Observed]:
        fields = {"device": "host:h-1", "event": "unknown", "severity": "info", "text": "last words"}
        yield Observed("device-events", self.name, now.t_us, fields)


class Answerer:
    """Wants requests for evidence."""

    def __init__(self) -> None:
        self.told: list[EvidenceRequest] = []

    def take_request(self, request: EvidenceRequest) -> None:
        self.told.append(request)


class Bench:
    """An agent on a hand clock with a small broker."""

    def __init__(self, folder: Path, plan: HealthPlan = PLAN) -> None:
        self.loop, self.clock, self.selector = hand_loop()
        self.broker = SmallBroker()
        clock = Clock(source="ntp", offset_us=0.0, error_us=1.0)
        self.agent = Agent(
            plan,
            self.loop,
            Stamper("h-1", "b", "pod-7", lambda: clock),
            Publisher(self.broker, Spool(folder, 1_000_000)),
            Residents("h-1"),
        )

    def run(self, seconds: float) -> None:
        self.loop.at(self.clock.mono_us + round(seconds * 1e6), lambda _now: self.loop.stop())
        self.agent.run(0.0)

    def messages(self, of: type[Value]) -> list[Value]:
        values = [decode(each.topic, each.key, each.value, 2**53 - 1 - 60_000_000) for each in self.broker.log]
        return [value for value in values if isinstance(value, of)]

    def texts(self) -> list[str]:
        return [event.text for event in self.messages(DeviceEvent)]  # type: ignore[attr-defined]

    def states(self) -> list[str]:
        return [health.state for health in self.messages(AgentHealth)]  # type: ignore[attr-defined]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_parts_are_asked_in_their_rhythm_and_health_is_told(bench: Bench) -> None:
    fast, slow = Ticker("fast", 0.5), Ticker("slow", 2.0)
    bench.agent.add(fast)
    bench.agent.add(slow)
    bench.run(9.9)
    assert (len(fast.asked_s), len(slow.asked_s)) == (20, 5)
    assert (bench.texts().count("fast"), bench.texts().count("slow")) == (20, 5)
    assert bench.states() == ["ok", "ok", "stopping"]


def test_a_part_that_fails_takes_down_only_itself(bench: Bench) -> None:
    good, bad = Ticker("good"), Ticker("bad")
    bad.fails = True
    bench.agent.add(bad)
    bench.agent.add(good)
    bench.run(9.9)
    assert len(good.asked_s) == 10
    assert bad.asked_s == [1.0, 2.0, 4.0, 8.0]


def test_a_fact_that_does_not_fit_is_counted_and_others_go_on(bench: Bench) -> None:
    good, bad = Ticker("good"), Ticker("bad")
    bad.severity = "terrible"
    bench.agent.add(bad)
    bench.agent.add(good)
    bench.run(9.9)
    assert bench.texts() == ["good"] * 10
    assert bench.messages(AgentHealth)[-1].dropped == 10  # type: ignore[attr-defined]


def test_over_its_budget_parts_are_asked_less_often_and_never_not_at_all(tmp_path: Path) -> None:
    bench = Bench(tmp_path, HealthPlan(agent="h-1", host="h-1", heartbeat_s=5.0, budget_percent=3.0))
    used = iter(range(10**6))
    bench.agent.health._processor = lambda: float(next(used))  # a second of processor time in each heartbeat
    plain, saver = Ticker("plain"), Follower()
    bench.agent.add(plain)
    bench.agent.add(saver)
    bench.run(60.0)
    gaps = [b - a for a, b in zip(plain.asked_s, plain.asked_s[1:], strict=False)]
    assert gaps[0] == 1.0 and gaps[-1] == 8.0 and set(gaps) == {1.0, 2.0, 4.0, 8.0}
    assert saver.told == [("save", 2), ("save", 4), ("save", 8)]
    assert len(saver.asked_s) == 60  # it saves in its own way
    assert bench.states()[:2] == ["ok", "ok"] and bench.states()[-2] == "throttled"


def test_a_stop_is_told_before_anything_else_is_concluded(bench: Bench) -> None:
    bench.agent.add(Ticker())
    bench.loop.at(bench.clock.mono_us + 7_300_000, lambda _now: setattr(bench.selector, "stall_s", 10.0))
    bench.run(30.0)
    starved = next(health for health in bench.messages(AgentHealth) if health.state == "starved")  # type: ignore[attr-defined]
    assert 9.5e6 <= starved.send_lag_us <= 10.5e6  # type: ignore[attr-defined]
    assert bench.states()[:3] == ["ok", "ok", "starved"]


def test_maps_and_plans_reach_those_who_want_them(bench: Bench) -> None:
    follower = Follower()
    bench.agent.add(follower)
    bench.agent.add(Ticker())
    bench.agent.take_map(job_map("j", 1, [endpoint("c", 0, "h-1")]))
    bench.agent.take_map(job_map("j", 1, [endpoint("c", 0, "h-1")]))
    bench.agent.take_map(job_map("other", 1, [endpoint("x", 0, "h-2")]))
    bench.agent.take(job_plan("j", 4))
    assert follower.told == [("map", 1), ("plan", 4)]


def test_requests_reach_those_who_can_answer_if_they_are_for_this_host_and_in_time(bench: Bench) -> None:
    answerer = Answerer()
    bench.agent.add(Ticker(), companions=(answerer,))
    assert bench.agent.wants(RequestReader)
    now_us = bench.loop.clocks().t_us
    for host, expires_us in (("h-1", now_us), ("h-2", now_us), ("h-1", now_us - 1)):
        bench.agent.take(evidence_request(host, expires_us=expires_us))
    assert [(each.host, each.expires_us) for each in answerer.told] == [("h-1", now_us)]


def test_last_words_come_before_the_last_heartbeat(bench: Bench) -> None:
    bench.agent.add(Follower())
    bench.run(2.5)
    last = [decode(each.topic, each.key, each.value, 2**53 - 1 - 60_000_000) for each in bench.broker.log[-2:]]
    assert isinstance(last[0], DeviceEvent) and last[0].text == "last words"
    assert isinstance(last[1], AgentHealth) and last[1].state == "stopping"


def test_endpoints_of_the_host_are_covered(bench: Bench) -> None:
    bench.agent.take_map(job_map("j", 1, [endpoint("c", 0, "h-1"), endpoint("d", 0, "h-2")]))
    bench.run(1.0)
    assert bench.messages(AgentHealth)[0].covers == ("c/mlx5_0",)  # type: ignore[attr-defined]


class Blocked(Ticker):
    """Waits for a gate, in whatever thread it is asked."""

    def __init__(self) -> None:
        super().__init__("blocked")
        self.gate = threading.Event()
        self.threads: set[str] = set()

    def collect(self, now: Now) -> Iterable[Observed]:
        self.threads.add(threading.current_thread().name)
        assert self.gate.wait(30.0)
        return super().collect(now)


def test_a_slow_part_blocks_nobody_and_is_not_asked_twice(tmp_path: Path) -> None:
    loop = Loop()
    broker = SmallBroker()
    clock = Clock(source="ntp", offset_us=0.0, error_us=1.0)
    publisher = Publisher(broker, Spool(tmp_path, 1_000_000))
    agent = Agent(PLAN, loop, Stamper("h-1", "b", "pod-7", lambda: clock), publisher, Residents("h-1"))
    blocked, ticker = Blocked(), Ticker("ticker", 0.02)
    blocked.period_s = 0.02
    agent.add(blocked, slow=True)
    agent.add(ticker)

    def look(_now: Now) -> None:
        if len(ticker.asked_s) >= 5:
            blocked.gate.set()
        if any(b"blocked" in each.value for each in broker.log):
            loop.stop()

    loop.every(lambda: 0.02, look)
    agent.run(0.0)
    assert len(ticker.asked_s) >= 5
    assert blocked.threads == {"slow-lane"}


class Line:
    """A listener whose source breaks and comes back under another descriptor."""

    name = "line"

    def __init__(self) -> None:
        self.fds: Iterator[int] = iter([7, 8])
        self.breaks = True

    def fileno(self) -> int:
        return next(self.fds)

    def receive(self, now: Now) -> Iterable[Observed]:
        if self.breaks:
            self.breaks = False
            raise OSError("gone")
        return [
            Observed("device-events", "line", now.t_us, {"device": "d", "event": "e", "severity": "info", "text": "x"})
        ]


def test_a_source_that_breaks_is_watched_again_later(bench: Bench) -> None:
    bench.agent.add(Line())
    bench.selector.ready = [7]
    bench.loop.turn()
    assert bench.selector.keys == {}
    run_for(bench.loop, bench.clock, 1.5)
    assert list(bench.selector.keys) == [8]
    bench.selector.ready = [8]
    bench.run(1.0)
    assert bench.texts() == ["x"]


def test_the_hand_selector_waits_on_the_hand_clock() -> None:
    clock = HandClock()
    selector = HandSelector(clock)
    selector.select(2.0)
    assert clock().mono_us == 3_000_000
