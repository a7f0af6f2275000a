"""Each message once and in order, whatever Kafka does; what can't be sent is counted and holds up nobody."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from collectors.publishing import BARRED_S, MOST_BYTES, STALL_S, Publisher
from collectors.spool import Spool
from collectors.stamping import Stamped
from tests.unit.collectors.hand_clock import HandClock
from tests.unit.collectors.small_broker import SmallBroker


def message(number: int, topic: str = "device-events", size: int = 10) -> Stamped:
    return Stamped(topic, "pod-7", str(number).encode().ljust(size, b"."))


class Bench:
    """A publisher with a broker, a spool and a clock."""

    def __init__(self, folder: Path, max_bytes: int = 10_000_000) -> None:
        self.folder, self.max_bytes = folder, max_bytes
        self.clock, self.broker = HandClock(), SmallBroker()
        self.publisher = Publisher(self.broker, Spool(folder, max_bytes))
        self.sent: list[Stamped] = []

    def publish(self, stamped: Stamped) -> None:
        self.sent.append(stamped)
        self.publisher.publish(stamped, self.clock())

    def run(self, seconds: float) -> None:
        end_us = self.clock.mono_us + round(seconds * 1e6)
        while self.clock.mono_us < end_us:
            self.publisher.step(self.clock.move(self.publisher.period_s()))

    def restart(self) -> int:
        left = self.publisher.close(0.0)
        self.publisher = Publisher(self.broker, Spool(self.folder, self.max_bytes))
        return left


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.publisher.close(0.0)


def test_nothing_touches_the_disk_while_kafka_is_there(bench: Bench) -> None:
    for number in range(50):
        bench.publish(message(number))
        bench.run(0.5)
    assert bench.broker.log == bench.sent
    assert bench.publisher.spool.bytes_kept() == 0


def test_an_outage_of_two_minutes_costs_nothing(bench: Bench) -> None:
    for second in range(240):
        bench.broker.is_there = not 60 <= second < 180
        for number in range(10):
            bench.publish(message(10 * second + number, size=1500))
        bench.run(1.0)
        assert bench.publisher.is_away or not 70 <= second < 180
    bench.run(5.0)
    assert bench.broker.log == bench.sent
    assert bench.publisher.dropped == 0
    assert not bench.publisher.is_away
    assert bench.publisher.spool.bytes_kept() == 0  # what has arrived does not stay on disk


def test_memory_is_bounded_during_an_outage(bench: Bench) -> None:
    bench.broker.is_there = False
    for number in range(3000):
        bench.publish(message(number, size=1000))
        assert bench.publisher._bytes <= MOST_BYTES + 1000
    bench.run(STALL_S + 1.0)
    assert bench.publisher.spool.bytes_kept() > 2_000_000


def test_after_a_restart_in_an_outage_the_order_is_kept(bench: Bench) -> None:
    bench.broker.is_there = False
    for number in range(30):
        bench.publish(message(number))
        bench.run(1.0)
    under_way = len(bench.broker._queue)
    assert 0 < under_way < 30
    bench.broker._queue.clear()  # the old producer dies with the agent
    assert bench.restart() == under_way
    bench.publish(message(30))
    bench.broker.is_there = True
    bench.run(5.0)
    assert bench.broker.log == bench.sent


def test_a_producer_that_breaks_is_resent_in_order(bench: Bench) -> None:
    bench.broker.is_there = False
    for number in range(10):
        bench.publish(message(number))
    bench.broker.break_down(written=3)
    for number in range(10, 15):
        bench.publish(message(number))
    bench.broker.is_there = True
    bench.run(5.0)
    assert bench.broker.log == bench.sent[:3] + bench.sent  # the first three twice, which seq tells


def test_why_messages_are_not_taken_is_said_once_until_they_are(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    for number in range(3):
        bench.broker.is_there = False
        bench.publish(message(number))
        bench.broker.break_down()
        bench.run(5.0)
        bench.broker.break_down()
        bench.broker.is_there = True
        bench.run(10.0)
    assert sum("they are sent again: fenced" in line for line in caplog.messages) == 3


def test_a_producer_that_gets_nowhere_is_replaced(bench: Bench) -> None:
    bench.broker.forgot_us = True
    for number in range(400):
        bench.publish(message(number))
        bench.run(1.0)
    bench.run(5.0)
    assert bench.broker.log == bench.sent
    assert bench.broker.renewed == 1


def test_an_outage_of_four_minutes_renews_nothing(bench: Bench) -> None:
    bench.broker.is_there = False
    for number in range(240):
        bench.publish(message(number))
        bench.run(1.0)
    assert bench.broker.renewed == 0


def test_a_missing_topic_holds_up_nobody(bench: Bench) -> None:
    bench.broker.missing = {"flow-tables"}
    for number in range(100):
        bench.publish(message(number, "flow-tables" if number % 2 else "device-events"))
        bench.run(0.5)
    assert bench.broker.log == bench.sent[::2]
    assert bench.publisher.dropped == 50
    bench.broker.missing = set()
    bench.run(BARRED_S)
    bench.publish(message(100, "flow-tables"))
    bench.run(1.0)
    assert bench.broker.log[-1] == message(100, "flow-tables")


def test_a_message_that_is_too_large_is_dropped_and_counted_alone(bench: Bench) -> None:
    bench.publish(message(1, size=2_000_000))
    bench.run(1.0)
    bench.publish(message(2))
    bench.run(1.0)
    assert bench.broker.log == [message(2)]
    assert bench.publisher.dropped == 1


def test_a_producer_without_room_loses_nothing(bench: Bench) -> None:
    bench.broker.room = 3
    for number in range(20):
        bench.publish(message(number))
    bench.run(60.0)
    assert bench.broker.log == bench.sent


def test_what_the_spool_can_not_hold_is_counted(tmp_path: Path) -> None:
    bench = Bench(tmp_path, max_bytes=100_000)
    bench.broker.is_there = False
    for number in range(400):
        bench.publish(message(number, size=5000))
        bench.run(0.5)
    bench.broker.is_there = True
    bench.run(10.0)
    assert len(bench.broker.log) + bench.publisher.dropped == 400
    assert 0 < bench.publisher.dropped < 400
    assert bench.broker.log == sorted(bench.broker.log, key=lambda stamped: int(stamped.value.rstrip(b".")))
    assert bench.broker.log[-1] == bench.sent[-1]
    bench.publisher.close(0.0)


class AnyWeather(RuleBasedStateMachine):
    """Outages, restarts and broken producers in any order: in the end the log has each message, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.bench = Bench(Path(self.folder.name))
        self.may_repeat = False

    @rule(count=st.integers(1, 60), size=st.integers(5, 20_000))
    def publish(self, count: int, size: int) -> None:
        for _ in range(count):
            self.bench.publish(message(len(self.bench.sent), size=size))

    @rule(seconds=st.floats(0.1, 20.0))
    def run(self, seconds: float) -> None:
        self.bench.run(seconds)

    @rule(there=st.booleans())
    def outage(self, there: bool) -> None:
        self.bench.broker.is_there = there

    @rule(written=st.integers(0, 5))
    def break_down(self, written: int) -> None:
        self.may_repeat |= written > 0
        self.bench.broker.break_down(written)

    @rule()
    def restart(self) -> None:
        self.bench.broker.serve()
        self.bench.broker._queue.clear()
        self.bench.restart()

    def teardown(self) -> None:
        self.bench.broker.is_there = True
        self.bench.run(120.0)
        log = self.bench.broker.log
        if not self.may_repeat:
            assert log == self.bench.sent
        assert list(dict.fromkeys(log)) == self.bench.sent
        assert self.bench.publisher.dropped == 0
        self.bench.publisher.close(0.0)
        self.folder.cleanup()


TestAnyWeather = AnyWeather.TestCase
TestAnyWeather.settings = settings(max_examples=60, stateful_step_count=30)
