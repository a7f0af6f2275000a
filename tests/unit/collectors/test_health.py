"""The heartbeat: states and their precedence, CPU over the interval, what parts report."""

from __future__ import annotations

from collectors.health import HELD_S, Health, HealthPlan
from collectors.observing import Now, Observed, SelfReport
from collectors.throttling import UP_AFTER
from tests.unit.collectors.hand_clock import HandClock

PLAN = HealthPlan(agent="h-1", host="h-1", heartbeat_s=5.0, budget_percent=3.0)


class Bench:
    """A health part whose lag, drops, reports and processor time are set by hand."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.lag_us, self.dropped, self.cpu_s = 0, 0, 0.0
        self.reports: list[SelfReport] = []
        self.health = Health(PLAN, self._lag, lambda: self.dropped, lambda: self.reports, lambda: self.cpu_s)

    def _lag(self) -> int:
        lag, self.lag_us = self.lag_us, 0
        return lag

    def beat(self, cpu_s: float = 0.05) -> dict[str, object]:
        self.cpu_s += cpu_s
        (observed,) = self.health.collect(self.clock.move(5.0))
        return observed.fields

    def at_once(self, now: Now) -> Observed | None:
        return self.health.observe(now) if self.health.check(now) else None


def test_a_healthy_agent_says_so() -> None:
    bench = Bench()
    assert bench.beat()["cpu_percent"] is None  # nothing to compare with yet
    told = bench.beat()
    assert (told["state"], told["cpu_percent"], told["dropped"], told["gids"]) == ("ok", 1.0, 0, None)
    assert isinstance(told["rss_bytes"], int) and told["rss_bytes"] > 5_000_000


def test_a_stop_of_ten_seconds_is_told_at_once_and_kept_for_a_while() -> None:
    bench = Bench()
    bench.beat()
    bench.lag_us = 10_000_000
    observed = bench.at_once(bench.clock.move(1.0))
    assert observed is not None
    assert (observed.fields["state"], observed.fields["send_lag_us"]) == ("starved", 10_000_000.0)
    states = [bench.beat()["state"] for _ in range(8)]
    kept = round(HELD_S / 5.0)
    assert states == ["starved"] * (kept - 1) + ["ok"] * (8 - kept + 1)


def test_one_stop_is_told_once_though_many_timers_were_late() -> None:
    bench = Bench()
    told = []
    for lag_us in (10_000_000, 9_950_000, 0, 9_900_000):
        bench.lag_us = lag_us
        told.append(bench.at_once(bench.clock.move(0.02)) is not None)
    assert told == [True, False, False, False]
    bench.lag_us = 3_000_000
    assert bench.at_once(bench.clock.move(5.0)) is not None


def test_a_small_lag_is_given_and_is_no_starvation() -> None:
    bench = Bench()
    bench.lag_us = 20_000
    assert bench.at_once(bench.clock()) is None
    told = bench.beat()
    assert (told["state"], told["send_lag_us"]) == ("ok", 20_000.0)
    assert bench.beat()["send_lag_us"] == 0.0


def test_over_its_budget_it_is_throttled() -> None:
    bench = Bench()
    states = [bench.beat(cpu_s=0.5)["state"] for _ in range(UP_AFTER + 1)]
    assert states == ["ok"] * UP_AFTER + ["throttled"]
    assert bench.health.ladder.factor == 2


def test_starved_goes_before_throttled_and_stopping_before_all() -> None:
    bench = Bench()
    for _ in range(UP_AFTER + 1):
        bench.beat(cpu_s=0.5)
    bench.lag_us = 2_000_000
    assert bench.beat(cpu_s=0.5)["state"] == "starved"
    assert bench.health.observe(bench.clock(), is_stopping=True).fields["state"] == "stopping"


def test_what_parts_report_is_put_together() -> None:
    bench = Bench()
    bench.dropped = 3
    bench.reports = [
        SelfReport(covers=("c/b", "c/a")),
        SelfReport(covers=("c/a",), gids={"c/a": "fe80::1"}, plan_version=7, dropped=2, watches=("rnic:h/b",)),
        SelfReport(plan_version=4, watches=("rnic:h/a",)),
    ]
    told = bench.beat()
    assert told["covers"] == ["c/a", "c/b"]
    assert (told["gids"], told["plan_version"], told["dropped"]) == ({"c/a": "fe80::1"}, 7, 5)
    assert told["watches"] == ["rnic:h/a", "rnic:h/b"]


def test_who_watches_nothing_says_nothing_of_it_and_who_can_read_nothing_says_that() -> None:
    bench = Bench()
    assert bench.beat()["watches"] is None
    bench.reports = [SelfReport(watches=())]
    assert bench.beat()["watches"] == []
