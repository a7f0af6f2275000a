"""What the system rests on goes away for a while or is slow, or a worker is taken for dead: none of that shows."""

from __future__ import annotations

import time

import pytest

from skeletonhunter.working import topic_admin
from streams.topic_admin import TopicAdmin, TopicError
from tests.chaos.conftest import Theatre
from tests.chaos.installation import SESSION_S, Play, Script
from tests.chaos.outcome import Outcome, assert_same

pytestmark = pytest.mark.chaos

AT_S = 62.0
"""In the middle of the story: one incident is open, the next begins."""

EVERYBODY = ("work-1", "sink", "alert")
ASKED = [("probe-results", 0), ("agent-health", 0)]
TOLD_WITHIN_S = 20.0


def without_kafka(play: Play, seconds: float) -> Script:
    """The broker ends, and is started again after a while; nobody can send anything meanwhile."""
    admin = topic_admin(play.settings)
    yield play.reached(AT_S)
    admin.ends(ASKED)
    play.kafka.stop()
    play.outlast(seconds)
    play.kafka.start()
    for name in EVERYBODY:
        play.watch(name)
    ends_s = time.monotonic() + TOLD_WITHIN_S
    while not told(admin):
        assert time.monotonic() < ends_s, "the ticker's question for the ends of topics stays without an answer"
        play.outlast(0.5)


def told(admin: TopicAdmin) -> bool:
    """Whether a client that knew the broker before tells the ends of topics, as the ticker needs it."""
    try:
        return bool(admin.ends(ASKED))
    except TopicError:
        return False


def without_clickhouse(play: Play, away_s: float, slow_s: float) -> Script:
    """ClickHouse is killed, stays away, and is slow when it is back: each second it stands still for 0.9 s."""
    yield play.reached(AT_S)
    play.clickhouse.kill()
    yield play.passed(away_s)
    play.clickhouse.start()
    ends_s = time.monotonic() + slow_s
    while time.monotonic() < ends_s:
        play.clickhouse.pause(True)
        yield play.passed(0.9)
        play.clickhouse.pause(False)
        yield play.passed(0.1)
    play.watch("sink")


def clickhouse_hangs(play: Play, seconds: float) -> Script:
    """ClickHouse takes connections and answers nothing."""
    yield play.reached(AT_S)
    play.clickhouse.pause(True)
    yield play.passed(seconds)
    play.clickhouse.pause(False)
    play.watch("sink")


def worker_stands_still(play: Play, seconds: float) -> Script:
    """A worker is stopped for so long that Kafka gives its partitions to the other one, and then goes on."""
    yield play.reached(AT_S)
    play.running.pause("work-1", True)
    yield play.passed(2 * SESSION_S)
    play.watch("work-2")
    yield play.passed(seconds - 2 * SESSION_S)
    play.running.pause("work-1", False)
    play.watch("work-1")


@pytest.mark.usefixtures("long_form")
def test_the_broker_is_restarted(theatre: Theatre, undisturbed: Outcome) -> None:
    assert_same(theatre.run(lambda play: [without_kafka(play, 0.0)]), undisturbed)


def test_the_broker_is_away(theatre: Theatre, undisturbed: Outcome, is_long: bool) -> None:
    seconds = 60.0 if is_long else 10.0
    theatre.say(away_s=seconds)
    assert_same(theatre.run(lambda play: [without_kafka(play, seconds)]), undisturbed)


def test_clickhouse_is_away_and_then_slow(theatre: Theatre, undisturbed: Outcome, is_long: bool) -> None:
    away_s, slow_s = (300.0, 60.0) if is_long else (20.0, 5.0)
    theatre.say(away_s=away_s, slow_s=slow_s)
    assert_same(theatre.run(lambda play: [without_clickhouse(play, away_s, slow_s)]), undisturbed)


@pytest.mark.usefixtures("long_form")
def test_clickhouse_hangs(theatre: Theatre, undisturbed: Outcome) -> None:
    """For longer than the client's time-out of 60 s."""
    assert_same(theatre.run(lambda play: [clickhouse_hangs(play, 90.0)]), undisturbed)


@pytest.mark.usefixtures("long_form")
@pytest.mark.parametrize("seconds", [15.0, 60.0])
def test_a_worker_stands_still_until_it_is_given_up(theatre: Theatre, undisturbed: Outcome, seconds: float) -> None:
    found = theatre.run(lambda play: [worker_stands_still(play, seconds)], number_of_workers=2)
    assert_same(found, undisturbed)
