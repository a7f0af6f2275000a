"""From a fault in the testbed to a firing alert in a real Prometheus Alertmanager, and its end after the repair.

The program is Debian's ``prometheus-alertmanager``. What it tells its own receiver is what a person would be woken by.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from skeletonhunter.alert_settings import AlertSettings, AlertTarget
from skeletonhunter.recordings.reader import Recording, read_truth
from skeletonhunter.replaying.kafka import replay_over_kafka
from skeletonhunter.replaying.request import ReplayRequest
from skeletonhunter.replaying.simulating import simulate_recording
from skeletonhunter.settings import ClickHouseSettings, KafkaSettings, Settings, WorkerSettings
from skeletonhunter.testbed.scenario import FabricPlan, FaultPlan, JobPlan, Scenario
from streams.parameters import Parameters
from tests.free_ports import free_port
from tests.integration.clickhouse.kafka import until
from tests.integration.webhook.listener import Receiver, receiving

PROGRAM = shutil.which("prometheus-alertmanager")

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.webhook,
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="prometheus-alertmanager is not installed (Debian has it)"),
]

SPEED = 10.0
SETTLE_S = 2.0
"""Of wall time, so 20 s of the recording; the verdict becomes exact 3 s after the incident opens."""

CONFIGURATION = """
route:
  receiver: people
  group_by: [fabric, incident]
  group_wait: 0s
  group_interval: 1s
  repeat_interval: 1h
receivers:
  - name: people
    webhook_configs:
      - url: {url}
        send_resolved: true
"""


@dataclass(frozen=True, slots=True)
class Alertmanager:
    """One that runs, and whom it tells."""

    url: str
    people: Receiver

    def alerts(self) -> list[dict[str, Any]]:
        """What it holds to be firing."""
        return list(httpx.get(f"{self.url}/api/v2/alerts", params={"active": "true"}, timeout=10).json())

    def said(self) -> list[dict[str, Any]]:
        """Every alert of every notification, in order."""
        return [alert for call in self.people.calls for alert in call.body["alerts"]]


@contextmanager
def alertmanager(folder: Path) -> Iterator[Alertmanager]:
    """A real one on a free port."""
    assert PROGRAM is not None
    port = free_port()
    with receiving() as people:
        (folder / "alertmanager.yml").write_text(CONFIGURATION.format(url=people.url))
        command = [PROGRAM, f"--config.file={folder / 'alertmanager.yml'}", f"--storage.path={folder / 'data'}"]
        command += [f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="]
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            until(lambda: _is_ready(port), "Alertmanager is ready")
            yield Alertmanager(f"http://127.0.0.1:{port}", people)
        finally:
            process.terminate()
            process.wait(20)


def _is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/-/ready", timeout=2).is_success
    except httpx.TransportError:
        return False


def broken_switch_port() -> Scenario:
    return Scenario(
        name="broken-port",
        seed=7,
        seconds=200,
        fabric=FabricPlan(hosts=4, rails=4, hosts_per_leaf=2, spines=2),
        jobs=(JobPlan(tp=4, pp=2, dp=2, period_s=8.0, ready_s=5.0),),
        faults=(FaultPlan(what="switch_port_down", start_s=100.0, end_s=160.0),),
    )


def tenants(recording: Path) -> set[str]:
    with Recording(recording) as opened:
        return {json.loads(line.raw)["tenant"] for line in opened.lines() if line.topic == "endpoint-map"}


def test_a_fault_in_the_testbed_is_one_alert_that_fires_and_is_resolved_after_the_repair(tmp_path: Path) -> None:
    simulate_recording(broken_switch_port(), tmp_path / "recording", Parameters())
    [fault] = read_truth(tmp_path / "recording").faults
    with alertmanager(tmp_path) as real, Recording(tmp_path / "recording") as recording:
        target = AlertTarget(name="alertmanager", format="alertmanager", url=real.url, settle_s=SETTLE_S)
        settings = Settings(
            kafka=KafkaSettings(partitions=2),
            worker=WorkerSettings(data_dir=str(tmp_path / "state")),
            clickhouse=ClickHouseSettings(dsn=f"chdb://{tmp_path / 'clickhouse'}"),
            alerts=AlertSettings(targets=(target,), allow_networks=("127.0.0.0/8",)),
        )
        request = ReplayRequest(recording, settings, speed=SPEED, clickhouse=settings.clickhouse.dsn)
        outcome = replay_over_kafka(request)
        until(lambda: any(alert["status"] == "resolved" for alert in real.said()), "the end is told")
        assert real.alerts() == []
    [incident] = outcome.incidents()
    [tenant] = tenants(tmp_path / "recording")
    assert (incident.issue, incident.state) == (fault.issue, "resolved")
    assert len({alert["fingerprint"] for alert in real.said()}) == 1, json.dumps(real.said(), indent=1)
    statuses = [alert["status"] for alert in real.said()]
    assert statuses == ["firing"] * (len(statuses) - 1) + ["resolved"]
    assert real.said()[0]["labels"] == {
        "alertname": "NetworkFault",
        "incident": incident.incident,
        "fabric": incident.fabric,
        "severity": "critical",
        "kind": "network_fault",
        "issue": "switch_port_down",
        "component": fault.component,
        "component_class": "switch",
        "symptom": "unconnectivity",
        "tenant": tenant,
    }
    assert incident.incident in real.said()[0]["annotations"]["report"]
