"""A live system: no recording, no publisher's ticks. The worker's own ticker makes time pass; signals end it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest
from confluent_kafka import Producer

from schemas.codec import encode, key_of
from schemas.diagnosis import Incident
from skeletonhunter.embedded.broker import embedded_broker
from skeletonhunter.replaying.kafka_outcome import read_updates
from skeletonhunter.replaying.kafka_services import Services, services
from skeletonhunter.settings import Settings
from streams.records import arrival_headers
from streams.serving import STOP_S
from tests.kafka_bench import EMBEDDED, toy_settings, toy_worker
from tests.toy_pipeline import job_progress
from tests.toys import BEGIN_US

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

PATIENCE_S = 60.0


def live_settings(broker: str, folder: Path) -> Settings:
    """The toys, with a ticker, under a prefix of their own."""
    settings = toy_settings(broker, folder, partitions=2)
    kafka = msgspec.structs.replace(settings.kafka, prefix=f"live-{secrets.token_hex(4)}-")
    return msgspec.structs.replace(settings, kafka=kafka)


class Agent:
    """Sends one message a time, stamped now."""

    def __init__(self, settings: Settings) -> None:
        self.topic = settings.kafka.prefix + "job-progress"
        self.brokers = settings.kafka.url
        self.producer = self._packing("none")
        self.sent = 0

    def _packing(self, codec: str) -> Producer:
        return Producer({"bootstrap.servers": self.brokers, "compression.type": codec, "linger.ms": 20})

    def send(self) -> None:
        self._produce()
        self.producer.flush()

    def send_packed(self, codec: str) -> None:
        """Ten messages as one batch, packed with a codec."""
        self.producer = self._packing(codec)
        for _ in range(10):
            self._produce()
        self.producer.flush()

    def _produce(self) -> None:
        self.sent += 1
        message = job_progress(0, self.sent, "job-a", "f1", step=self.sent)
        now_us = time.time_ns() // 1000
        message = msgspec.structs.replace(message, t_us=now_us)
        raw = encode("job-progress", message)
        key = key_of("job-progress", message)
        self.producer.produce(self.topic, raw, key=key, headers=arrival_headers(now_us))


def until(running: Services, condition: Callable[[], bool]) -> None:
    """Waits for what the worker does."""
    ends_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < ends_s, running.tail("work")
        running.check()


def heard(updates: list[Incident]) -> set[str]:
    """The agent's sequence numbers that came through."""
    texts = [evidence.text for update in updates for evidence in update.evidence]
    return {word for text in texts for word in text.split()}


def test_the_ticker_makes_time_pass_and_a_signal_ends_the_worker(broker: str, tmp_path: Path) -> None:
    settings = live_settings(broker, tmp_path)
    with services(settings, [toy_worker()]) as running:
        until(running, lambda: "at work on" in (running.folder / "work.log").read_text())
        agent = Agent(settings)
        agent.send()

        def came_through() -> bool:
            agent.send()
            return len(read_updates(settings.kafka)) > 0

        until(running, came_through)
        updates = read_updates(settings.kafka)
        assert "agent:job-a/job-progress" in heard(updates)
        assert updates[0].onset_us > BEGIN_US
        running.stop()  # raises if it does not end well


def test_records_come_through_however_their_producer_packs_them(broker: str, tmp_path: Path) -> None:
    settings = live_settings(broker, tmp_path)
    with services(settings, [toy_worker()]) as running:
        until(running, lambda: "at work on" in (running.folder / "work.log").read_text())
        agent = Agent(settings)
        for codec in ("gzip", "snappy", "lz4", "zstd"):
            agent.send_packed(codec)
        packed = set(map(str, range(1, agent.sent + 1)))

        def came_through() -> bool:
            agent.send()
            return packed <= heard(read_updates(settings.kafka))

        until(running, came_through)
        running.stop()


@pytest.mark.skipif(not EMBEDDED, reason="it takes a broker away that is its own, an embedded one")
def test_a_signal_ends_a_worker_while_kafka_is_away(tmp_path: Path) -> None:
    with ExitStack() as stack:
        kafka = stack.enter_context(ExitStack())
        settings = live_settings(kafka.enter_context(embedded_broker()), tmp_path)
        running = stack.enter_context(services(settings, [toy_worker()]))
        until(running, lambda: "at work on" in (running.folder / "work.log").read_text())
        kafka.close()
        until(running, lambda: "NodeNotReadyError" in (running.folder / "work.log").read_text())
        child = running.children.pop("work")
        child.ask()
        assert child.wait(STOP_S + PATIENCE_S) == 0, running.tail("work")
        assert "the worker ends without taking leave" in running.tail("work")


def test_too_many_dead_letters_end_the_worker_and_it_says_why(broker: str, tmp_path: Path) -> None:
    settings = live_settings(broker, tmp_path)
    broken = msgspec.structs.replace(
        settings, worker=msgspec.structs.replace(settings.worker, dead_letters_per_minute=1)
    )
    with services(broken, [toy_worker()]) as running:
        until(running, lambda: "at work on" in (running.folder / "work.log").read_text())
        producer = Producer({"bootstrap.servers": broker})
        topic = settings.kafka.prefix + "job-progress"
        for number in range(2):
            producer.produce(topic, b"{", key=b"job-a", headers=arrival_headers(number))
            producer.flush()  # a batch for each, see test_broker.py
        child = running.children["work"]
        assert child.process.wait(PATIENCE_S) == 1
        assert "2 records that arrived within a minute can't be used, expected at most 1" in running.tail("work")
