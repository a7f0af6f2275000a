"""Every long-running part serves what it declares: worker, sink, alert sender and agent as processes, on a broker."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from schemas.metrics import METRICS, PREFIX
from skeletonhunter.embedded.processes import Child
from streams.records import Record
from tests.free_ports import free_port
from tests.integration.clickhouse.kafka import Bench, broker, until
from tests.integration.collectors.agents import make_cards, settings_file
from tests.integration.webhook.listener import receiving
from tests.integration.webhook.test_alerts import incident

pytestmark = [pytest.mark.kafka, pytest.mark.clickhouse, pytest.mark.webhook, pytest.mark.slow]

TICKING = re.compile(r"handled_timestamp_seconds\{[^}]*\} 1\d{9}")

REFUSED = 'dead_letters_total{part="work",topic="probe-results",reason="unknown_version"} 1'


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with broker() as address:
        yield Bench(address)


@contextmanager
def part(name: str, bench: Bench, folder: Path, *options: str, **settings: str) -> Iterator[str]:
    """One part as a process; gives the address of its metrics."""
    address = f"127.0.0.1:{free_port()}"
    variables = {
        "KAFKA__PREFIX": bench.settings.prefix,
        "KAFKA__PARTITIONS": str(bench.settings.partitions),
        "KAFKA__SESSION_S": str(bench.settings.session_s),
        "METRICS__ADDRESS": address,
        **settings,
    }
    environment = os.environ | {f"SKELETONHUNTER_{name}": text for name, text in variables.items()}
    command = [sys.executable, "-m", "skeletonhunter", name, "--kafka", bench.settings.url, *options]
    with (folder / f"{name}.log").open("wb") as log, Child(command, log, environment) as child:
        yield address
        assert child.stop() == 0, (folder / f"{name}.log").read_text()


def page(address: str) -> str:
    try:
        return httpx.get(f"http://{address}/metrics", timeout=5.0, trust_env=False).text
    except httpx.TransportError:
        return ""


def value(text: str, sample: str) -> float:
    """Of one sample, e.g. ``sink_rows_total``; NaN when it is not there."""
    found = re.search(rf"^{PREFIX}{re.escape(sample)} (\S+)$", text, re.M)
    return float(found[1]) if found else float("nan")


def names(text: str) -> set[str]:
    return set(re.findall(rf"^# TYPE {PREFIX}(\w+)", text, re.M))


def declared(part_name: str) -> set[str]:
    return {metric.name for metric in METRICS if part_name in metric.parts}


def checked_by_promtool(text: str) -> None:
    if shutil.which("promtool"):
        subprocess.run(["promtool", "check", "metrics"], input=text, text=True, check=True)


def test_work_sink_and_alert_serve_all_that_they_declare(bench: Bench, tmp_path: Path) -> None:
    dsn = f"chdb://{tmp_path / 'clickhouse'}"
    now_us = time.time_ns() // 1000
    bad = Record("incidents", 0, 0, b"inc-bad", b"{}", now_us)
    spoilt = [Record(topic, 0, 0, b"job-1", b"{}", now_us) for topic in ("job-progress", "probe-results")]
    with ExitStack() as stack:
        receiver = stack.enter_context(receiving())
        webhook = ["--webhook", receiver.url, "--allow-network", "127.0.0.0/8"]
        work = stack.enter_context(part("work", bench, tmp_path, WORKER__DATA_DIR=str(tmp_path / "state")))
        sink = stack.enter_context(part("sink", bench, tmp_path, CLICKHOUSE__DSN=dsn))
        alert = stack.enter_context(part("alert", bench, tmp_path, *webhook))
        bench.publish([incident("inc-a", 1), incident("inc-b", 2), incident("inc-b", 3, "resolved"), bad, *spoilt])
        told = 'alert_tellings_total{target="%s",outcome="delivered"}'
        target = re.compile(r'alert_attempts_total\{target="(\w+)"\} 3')
        until(lambda: target.search(page(alert)) is not None, "the alert sender has told three states")
        until(lambda: value(page(sink), "sink_rows_total") >= 3, "the sink has written the incidents")
        until(lambda: TICKING.search(page(work)) is not None, "the worker handles time")
        until(lambda: REFUSED in page(work), "the worker has left out what it can't read")
        pages = {"work": page(work), "sink": page(sink), "alert": page(alert)}
    name = target.search(pages["alert"])[1]  # type: ignore[index]
    assert value(pages["alert"], told % name) == 3
    assert value(pages["alert"], f'alert_pages_open{{target="{name}",severity="critical"}}') != 0
    assert value(pages["alert"], 'incidents_open{kind="network_fault"}') == 1
    assert value(pages["sink"], 'messages_received_total{part="sink",topic="incidents"}') == 4
    assert value(pages["sink"], 'dead_letters_total{part="sink",topic="job-progress",reason="unknown_version"}') == 1
    for name, text in pages.items():
        checked_by_promtool(text)
        silent = {"dead_letters_total"} if name == "alert" else set()  # nothing was wrong there
        assert names(text) | silent >= declared(name), name
        assert names(text) <= declared(name), name


def test_the_agent_serves_all_that_it_declares(bench: Bench, tmp_path: Path) -> None:
    make_cards(tmp_path / "sys", 1)
    port = free_port()
    settings = settings_file(tmp_path, 0, bench.settings.url, ["rnic-counters"], f'prefix = "{bench.settings.prefix}"')
    settings.write_text(settings.read_text().replace("[agent]", f'[agent]\nmetrics = "127.0.0.1:{port}"'))
    command = [sys.executable, "-m", "skeletonhunter", "collect", "--config", str(settings)]
    with settings.with_suffix(".log").open("wb") as log, Child(command, log) as child:
        sample = 'messages_sent_total{part="collect",topic="agent-health"}'
        until(lambda: value(page(f"127.0.0.1:{port}"), sample) >= 2, "two heartbeats")
        text = page(f"127.0.0.1:{port}")
        assert child.stop() == 0
    checked_by_promtool(text)
    assert names(text) == declared("collect")
    assert value(text, 'agent_state{state="ok"}') == 1
    assert value(text, "agent_spool_bytes") == 0


def test_an_address_that_is_taken_is_one_sentence(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        environment = os.environ | {"SKELETONHUNTER_METRICS__ADDRESS": address}
        command = [sys.executable, "-m", "skeletonhunter", "work", "--kafka", bench.settings.url]
        answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert answer.returncode == 1
    assert answer.stderr.startswith(f"metrics can't be served on {address}: ")
