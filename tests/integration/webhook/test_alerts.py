"""From Kafka to webhooks: each state once and in order, offsets after delivery, dead letters for what never arrives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from schemas import codec
from schemas.alerting import AlertDelivery
from schemas.control import DeadLetter
from schemas.diagnosis import Incident
from schemas.envelope import Producer
from skeletonhunter.alert_settings import AlertTarget, Silence
from skeletonhunter.alerting.targets import Target, plain_target
from skeletonhunter.settings import AlertSettings, Settings
from skeletonhunter.sinks.alerts import AlertCounts, AlertLoop
from streams.records import Record
from tests.integration.clickhouse.kafka import Bench, broker, until
from tests.integration.webhook.listener import Receiver, receiving
from tests.unit.sinks.messages import T0_US, received_examples

pytestmark = [pytest.mark.webhook, pytest.mark.kafka]

PROGRAM = [sys.executable, "-c", "from skeletonhunter.cli import main; main()"]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with broker() as found:
        yield found


def incident(name: str, seq: int, state: str = "open") -> Record:
    example = received_examples("incidents")[0].value
    assert isinstance(example, Incident)
    producer = Producer(id="localization:pod-7", kind="stage", boot="fold", seq=seq)
    value = msgspec.structs.replace(example, incident=name, state=state, producer=producer, t_us=T0_US + seq)
    return Record("incidents", 0, 0, name.encode(), codec.encode("incidents", value), T0_US + seq)


def group_of(receiver: Receiver) -> str:
    return plain_target(receiver.url).group


@contextmanager
def alerting(
    bench: Bench, target: str | Target, attempts: int = 8, silences: tuple[Silence, ...] = ()
) -> Iterator[AlertLoop]:
    """An alert sender at work in a thread; it is stopped, and must end well, when the block ends."""
    target = plain_target(target) if isinstance(target, str) else target
    alerts = AlertSettings(attempts=attempts, timeout_s=2.0, allow_networks=("127.0.0.0/8",), silences=silences)
    settings = Settings(kafka=bench.settings, alerts=alerts)
    loop = AlertLoop(target, settings, threading.Event())
    ended: list[AlertCounts] = []
    thread = threading.Thread(target=lambda: ended.append(loop.run()))
    thread.start()
    try:
        yield loop
    finally:
        loop.stop.set()
        thread.join(30)
    assert ended == [loop.counts]


def caught_up(bench: Bench, receiver: Receiver) -> bool:
    return bench.committed(group_of(receiver), ["incidents"]) == bench.ends


def of(receiver: Receiver, name: str) -> list[str]:
    return [call.body["state"] for call in receiver.calls if call.body["incident"] == name]


def test_states_arrive_once_and_in_order_and_what_cannot_be_read_is_left_to_the_sink(address: str) -> None:
    bench = Bench(address)
    bad = Record("incidents", 0, 0, b"inc-a", b"{}", T0_US)
    records = [incident("inc-a", 1), incident("inc-b", 2), bad, incident("inc-a", 3, "updated")]
    bench.publish([*records, incident("inc-a", 4, "resolved"), incident("inc-b", 5, "resolved")])
    with receiving() as receiver, alerting(bench, receiver.url) as loop:
        until(lambda: caught_up(bench, receiver), "all incidents are told")
    assert of(receiver, "inc-a") == ["open", "updated", "resolved"]
    assert of(receiver, "inc-b") == ["open", "resolved"]
    assert loop.counts == AlertCounts(delivered=5, dead_letters=0, unreadable=1)


def test_while_the_receiver_is_away_offsets_stay_and_it_is_told_when_it_is_back(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(address)
    bench.publish([incident("inc-a", 1)])
    with receiving() as first:
        port = first.port
    with alerting(bench, first.url, attempts=100):
        group = group_of(first)
        until(lambda: "attempt 2, next in" in caplog.text, "it was tried twice")
        assert bench.committed(group, ["incidents"]) == {}
        with receiving(port=port) as receiver:
            until(lambda: bench.committed(group, ["incidents"]) == bench.ends, "it is told")
    assert of(receiver, "inc-a") == ["open"]


def test_what_no_attempt_delivers_is_a_dead_letter_and_the_next_has_its_turn(address: str) -> None:
    bench = Bench(address)
    bench.publish([incident("inc-a", 1)])
    bench.publish([incident("inc-a", 2, "updated")])
    with receiving(503, 503, 204) as receiver, alerting(bench, receiver.url, attempts=2) as loop:
        until(lambda: caught_up(bench, receiver), "both had their turn")
    assert loop.counts == AlertCounts(delivered=1, dead_letters=1)
    [raw] = bench.read("incidents-dlq", 1)
    letter = msgspec.json.decode(raw, type=DeadLetter)
    assert (letter.topic, letter.key, letter.reason) == ("incidents", "inc-a", "delivery_failed")
    assert letter.detail == f"http://127.0.0.1:{receiver.port}: answered 503"
    assert b64decode(letter.value_base64) == incident("inc-a", 1).value
    assert of(receiver, "inc-a") == ["open", "open", "updated"]


def test_a_receiver_that_is_away_does_not_delay_another_and_a_killed_sender_repeats_under_the_same_key(
    address: str, tmp_path: Path
) -> None:
    bench = Bench(address)
    bench.publish([incident("inc-a", seq) for seq in range(1, 4)])
    log = tmp_path / "log"
    environment = os.environ | {
        "SKELETONHUNTER_KAFKA__PREFIX": bench.settings.prefix,
        "SKELETONHUNTER_ALERTS__ALLOW_NETWORKS": "127.0.0.0/8",
        "SKELETONHUNTER_KAFKA__SESSION_S": str(bench.settings.session_s),
    }
    dead = "http://user:hidden@127.0.0.1:1/secret-token"
    with receiving() as receiver:
        command = [*PROGRAM, "alert", "--kafka", bench.settings.url, "--webhook", receiver.url, "--json"]
        with log.open("w") as output:
            first = subprocess.Popen([*command, "--webhook", dead], env=environment, stderr=output)
        until(lambda: caught_up(bench, receiver) and "attempt 1" in log.read_text(), "one is told, one is not there")
        first.kill()
        first.wait()
        complaints = log.read_text()
        bench.publish([incident("inc-a", 4, "resolved")])
        second = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        until(lambda: caught_up(bench, receiver), "the rest is told")
        second.send_signal(signal.SIGTERM)
        told, _ = second.communicate(timeout=30)
    assert second.returncode == 0
    assert json.loads(told)[0]["webhook"] == f"http://127.0.0.1:{receiver.port}"
    assert len(set(receiver.deliveries)) == 4
    assert of(receiver, "inc-a")[-1] == "resolved"
    assert "http://127.0.0.1:1: no answer" in complaints
    assert "hidden" not in complaints
    assert "secret-token" not in complaints


def test_nobody_to_tell_is_said(address: str) -> None:
    answer = subprocess.run([*PROGRAM, "alert", "--kafka", address], capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert answer.stderr == (
        "nobody to tell, expected --webhook URL, or alerts.webhooks or alerts.targets in the settings\n"
    )


def page(receiver: Receiver, form: str, **fields: object) -> Target:
    settings = msgspec.convert(
        {"name": "oncall", "format": form, "url": receiver.url, "settle_s": 0, **fields}, AlertTarget
    )
    return Target(settings, receiver.url)


def test_a_sender_that_starts_again_knows_what_was_told_and_reminds_of_what_is_open(address: str) -> None:
    bench = Bench(address)
    bench.publish([incident("inc-a", 1), incident("inc-b", 2), incident("inc-b", 3, "resolved")])
    with receiving() as receiver:
        target = page(receiver, "pagerduty", remind_s=1, storm_pages=None)
        with alerting(bench, target):
            until(lambda: bench.committed("alert-oncall", ["incidents"]) == bench.ends, "all is told")
        told = len(receiver.calls)
        with alerting(bench, target):
            until(lambda: len(receiver.calls) > told, "a reminder comes")
            bench.publish([incident("inc-a", 4, "resolved")])
            until(lambda: bench.committed("alert-oncall", ["incidents"]) == bench.ends, "the end is told")
    events = [(call.body["event_action"], call.body["dedup_key"]) for call in receiver.calls]
    assert events[:3].count(("trigger", "skeletonhunter/inc-b")) == 1
    assert [action for action, key in events if key.endswith("inc-b")] == ["trigger", "resolve"]
    assert events[-1] == ("resolve", "skeletonhunter/inc-a")
    assert [action for action, key in events[told:]].count("resolve") == 1
    reminder = receiver.calls[told].body["payload"]["custom_details"]
    assert (reminder["incident"], reminder["reminder"]) == ("inc-a", True)


def test_silences_hold_back_and_the_delivery_log_says_so(address: str) -> None:
    bench = Bench(address)
    bench.publish([incident("inc-a", 1)])
    now = datetime.now(UTC)
    work = Silence(since=datetime(2020, 1, 1, tzinfo=UTC), until=now + timedelta(hours=1), why="planned work")
    with receiving() as receiver, alerting(bench, page(receiver, "slack"), silences=(work,)) as loop:
        until(lambda: bench.committed("alert-oncall", ["incidents"]) == bench.ends, "it was considered")
    assert receiver.calls == []
    assert loop.counts == AlertCounts(withheld=1)
    [raw] = bench.read("alert-deliveries", 1)
    delivery = msgspec.json.decode(raw, type=AlertDelivery)
    assert (delivery.page, delivery.outcome, delivery.why) == ("oncall/inc-a", "withheld", "silence: planned work")


def test_topics_that_are_missing_are_named(address: str) -> None:
    command = [*PROGRAM, "alert", "--kafka", address, "--webhook", "http://127.0.0.1:1/"]
    environment = os.environ | {"SKELETONHUNTER_KAFKA__PREFIX": "nowhere-"}
    refused = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert refused.stderr.endswith("is loopback, expected a public one or one of alerts.allow_networks\n")
    command += ["--allow-network", "127.0.0.0/8"]
    missing = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (refused.returncode, missing.returncode) == (1, 1)
    assert missing.stderr.splitlines()[-1].endswith(
        "has no topic nowhere-endpoint-map, expected it by: skeletonhunter topics"
    )
