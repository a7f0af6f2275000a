"""The whole system on the whole incident: Kafka, worker, ClickHouse, webhook, and the worker killed in its middle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from skeletonhunter.recordings.reader import Recording
from skeletonhunter.replaying.kafka import replay_with, usual_cast
from skeletonhunter.replaying.kafka_services import Services, skeletonhunter
from skeletonhunter.replaying.listener import AlertListener
from skeletonhunter.replaying.local import LocalReplay
from skeletonhunter.replaying.outcome import incident_lines
from skeletonhunter.replaying.request import ReplayRequest
from skeletonhunter.settings import AlertSettings, ClickHouseSettings, KafkaSettings, Settings, WorkerSettings
from skeletonhunter.sinks.connection import connect

pytestmark = [pytest.mark.kafka, pytest.mark.clickhouse, pytest.mark.webhook, pytest.mark.slow]

INCIDENT = Path(__file__).parents[2] / "examples/incidents/stale-flow-offload"
KILLED_AT_S = 200


def test_a_killed_worker_shows_neither_in_kafka_nor_in_clickhouse_nor_at_the_webhook(tmp_path: Path) -> None:
    killed: list[int] = []
    with AlertListener().listening() as listener, Recording(INCIDENT) as recording:
        settings = Settings(
            kafka=KafkaSettings(partitions=2),
            worker=WorkerSettings(data_dir=str(tmp_path / "data")),
            clickhouse=ClickHouseSettings(dsn=f"chdb://{tmp_path / 'clickhouse'}"),
            alerts=AlertSettings(webhooks=(listener.url,), allow_networks=("127.0.0.0/8",)),
        )
        kill_us = recording.manifest.start_us + KILLED_AT_S * 1_000_000

        def kill_once(running: Services, handled_us: int) -> None:
            if not killed and handled_us >= kill_us:
                running.children["work"].kill()
                running.start(skeletonhunter("work"))
                killed.append(handled_us)

        request = ReplayRequest(recording, settings, clickhouse=settings.clickhouse.dsn)
        found = replay_with(replace(usual_cast(settings), meanwhile=kill_once), request)
    with Recording(INCIDENT) as recording:
        expected = LocalReplay(settings.parameters).run(recording)

    assert len(killed) == 1
    assert incident_lines(found.incidents()) == incident_lines(expected.incidents())
    (incident,) = expected.incidents()
    assert rows(settings.clickhouse) == [(incident.incident, incident.state, incident.issue, incident.component)]
    deliveries = {body["delivery"]: body for body in listener.bodies}
    assert len(deliveries) == len(expected.updates)
    assert listener.bodies[-1]["state"] == incident.state


def rows(settings: ClickHouseSettings) -> list[tuple[str, ...]]:
    """What an operator sees in SQL."""
    client = connect(settings)
    try:
        query = f"SELECT incident, state, issue, component FROM {settings.database}.incidents_current"
        return [tuple(row) for row in client.query(query).result_rows]
    finally:
        client.close()
