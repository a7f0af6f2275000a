"""A gap in the ticks is noticed by whoever ticks next, also by a leader that was started after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, KafkaException

from schemas.instants import SECOND_US
from streams.patience import AWAY_S, Moment, Patience
from streams.settling import CALM_S, SETTLE_S, Beat, BeatClock
from streams.topic_admin import TopicError


class Site:
    """Kafka, and one agent with a heartbeat each second, as far as a leader sees them. ``second``: the time."""

    def __init__(self, ticked: float | None = None) -> None:
        self.second = 1000.0
        self.ticked = ticked
        self.is_away = False
        self.has_all = True
        self.opened = 0
        self.broken = False
        self.agent_lags_s = 0.0

    def newest_us(self) -> int | None:
        if self.is_away:
            raise TopicError("Kafka is away")
        return None if self.ticked is None else round(self.ticked * SECOND_US)

    def open(self, _from_us: int) -> Site:
        if self.broken:
            raise KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
        self.opened += 1
        return self

    def read(self) -> Iterator[Beat]:
        yield Beat("f", "a", "ok", round((self.second - self.agent_lags_s) * SECOND_US), BeatClock(0.0))

    def close(self) -> None:
        self.opened -= 1

    def clocks(self) -> Moment:
        return Moment(round(self.second * SECOND_US), self.second)

    def leader(self) -> Patience:
        return Patience(self.newest_us, self.open, self.clocks)

    def turn(self, leader: Patience, asks_s: float = 0.1, writes_s: float = 0.1) -> bool:
        """One turn of the ticker, a second after the one before."""
        self.second += 1.0
        try:
            if not leader.is_over():
                return False
            self.second += asks_s
            if self.is_away:
                raise TopicError("Kafka is away")
        except TopicError:
            leader.failed()
            return False
        if not leader.still_holds(asks_s):
            return False
        self.ticked = self.second
        self.second += writes_s
        leader.ticked(writes_s)
        return True

    def turns_until_a_tick(self, leader: Patience, asks_s: float = 0.1) -> float:
        """After how many seconds the next tick comes."""
        begun = self.second
        while not self.turn(leader, asks_s):
            assert self.second < begun + 1000.0
        return self.second - begun


def test_the_first_tick_ever_waits_for_nothing_and_time_passes() -> None:
    site = Site()
    leader = site.leader()
    assert all(site.turn(leader) for _ in range(100))
    assert leader.waited_s == 0.0


@pytest.mark.parametrize("answers_s", [0.5, 10.0])
def test_after_an_outage_time_waits_for_what_agents_hold(answers_s: float) -> None:
    """However fast Kafka's absence shows."""
    site = Site()
    leader = site.leader()
    assert site.turn(leader)
    site.is_away = True
    ends = site.second + 60.0
    while site.second < ends:
        assert not site.turn(leader, asks_s=answers_s)
    site.is_away, site.agent_lags_s = False, 60.0
    for _ in range(5):
        assert not site.turn(leader)
    site.agent_lags_s = 0.0
    assert CALM_S <= site.turns_until_a_tick(leader) <= CALM_S + 2.0
    assert leader.waited_s > 5.0
    assert site.opened == 0
    assert all(site.turn(leader) for _ in range(10))


def test_a_leader_that_was_started_after_an_outage_knows_of_it() -> None:
    site = Site(ticked=940.0)
    leader = site.leader()
    site.agent_lags_s = 60.0
    for _ in range(5):
        assert not site.turn(leader)
    site.agent_lags_s = 0.0
    assert site.turns_until_a_tick(leader) >= CALM_S


def test_a_leader_that_takes_over_at_once_waits_for_nothing() -> None:
    site = Site(ticked=1000.0 - AWAY_S + 1.5)
    assert site.turn(site.leader())


def test_who_was_the_leader_long_ago_sees_what_others_ticked_since() -> None:
    site = Site()
    leader, other = site.leader(), site.leader()
    assert site.turn(leader)
    assert all(site.turn(other) for _ in range(50))
    assert site.turn(leader)


def test_a_worker_that_was_too_busy_to_ask_waits_for_nothing() -> None:
    site = Site()
    leader = site.leader()
    assert site.turn(leader)
    site.second += 10.0
    assert site.turn(leader)
    for _ in range(3):
        assert leader.is_over()
        site.second += 10.0
        assert leader.still_holds(0.1)
        site.ticked = site.second
        site.second += 10.0
        leader.ticked(0.1)
    assert leader.waited_s == 0.0


def test_a_tick_that_could_not_be_written_for_long_was_written_after_an_outage() -> None:
    site = Site()
    leader = site.leader()
    assert site.turn(leader)
    assert site.turn(leader, writes_s=60.0)
    assert not site.turn(leader)


def test_kafka_that_goes_away_again_at_once_is_waited_for_again() -> None:
    site = Site(ticked=940.0)
    leader = site.leader()
    for _ in range(2):
        assert not site.turn(leader)
        site.turns_until_a_tick(leader, asks_s=AWAY_S + 1.0)
        site.is_away = True
        for _ in range(30):
            assert not site.turn(leader)
        site.is_away = False


def test_an_answer_that_was_long_in_coming_came_after_an_outage() -> None:
    site = Site()
    leader = site.leader()
    assert site.turn(leader)
    assert not site.turn(leader, asks_s=AWAY_S + 1.0)
    assert not site.turn(leader)


def test_a_machine_that_is_always_slow_does_not_stop_time() -> None:
    site = Site()
    leader = site.leader()
    site.agent_lags_s = 30.0
    waits = [site.turns_until_a_tick(leader, asks_s=AWAY_S + 1.0) for _ in range(20)]
    assert max(waits) <= SETTLE_S + 60.0
    assert sum(wait <= 12.0 for wait in waits) >= 17


def test_an_error_that_has_passed_at_once_costs_no_time() -> None:
    site = Site()
    leader = site.leader()
    assert site.turn(leader)
    site.is_away = True
    assert not site.turn(leader)
    site.is_away = False
    assert site.turn(leader)


def test_heartbeats_that_cannot_be_read_cost_the_time_to_connect_and_no_more() -> None:
    site = Site(ticked=900.0)
    site.broken = True
    assert SETTLE_S <= site.turns_until_a_tick(site.leader()) <= SETTLE_S + 2.0


def test_heartbeats_that_can_be_read_a_little_later_are_waited_for() -> None:
    site = Site(ticked=900.0)
    site.broken, site.agent_lags_s = True, 60.0
    leader = site.leader()
    assert not site.turn(leader)
    site.broken = False
    for _ in range(20):
        assert not site.turn(leader)
    site.agent_lags_s = 0.0
    assert site.turns_until_a_tick(leader) <= CALM_S + 2.0


def test_a_leader_that_begins_behind_the_newest_tick_says_that_time_stands_still(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The one before it had a clock that was an hour ahead: what is ticked counts for nothing for an hour."""
    site = Site(ticked=1000.0 + 3600.0)
    leader = site.leader()
    for _ in range(3):
        assert site.turn(leader)
    assert caplog.messages == ["the newest tick is 3599 s ahead of this machine's clock: time stands still until then"]
