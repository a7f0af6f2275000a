"""Rows of a replay in one process: all are there when it ends, and doing it again changes no answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.codec import decode
from schemas.envelope import Value
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.settings import ClickHouseSettings
from skeletonhunter.sinks.connection import connect
from skeletonhunter.sinks.in_process import BATCH_MESSAGES, InProcessSink
from tests.integration.clickhouse.asking import rows

pytestmark = pytest.mark.clickhouse

RECORDING = Path(__file__).parents[3] / "examples/incidents/healthy-job"


def replay_rows(settings: ClickHouseSettings) -> dict[str, int]:
    """Writes the recording; the number of messages by topic."""
    told: dict[str, int] = {}
    with Recording(RECORDING) as recording, InProcessSink(settings) as sink:
        for line in recording.lines():
            value = decode(line.topic, line.key, line.raw, line.arrival_us)
            sink.observe(line.topic, line.key or "", line.arrival_us, value)
            told[line.topic] = told.get(line.topic, 0) + 1
        sink.observe("ticks", "clock", 0, Value())
    assert sink.refused == []
    return told


def counts(settings: ClickHouseSettings) -> dict[str, int]:
    client = connect(settings)
    client.database = settings.database
    names = ("probe_results", "rnic_counters", "switch_queues", "job_progress", "agent_health", "fabric_links")
    found = {name: rows(client, f"SELECT count() AS number FROM {name} FINAL")[0]["number"] for name in names}
    client.close()
    return found


def test_a_recording_is_written_whole_and_again_without_effect(tmp_path: Path) -> None:
    settings = ClickHouseSettings(dsn=f"chdb://{tmp_path}/db")
    told = replay_rows(settings)
    assert max(told.values()) > BATCH_MESSAGES
    first = counts(settings)
    assert first["job_progress"] == told["job-progress"]
    assert first["agent_health"] == told["agent-health"]
    assert first["probe_results"] >= told["probe-results"]
    replay_rows(settings)
    assert counts(settings) == first


def test_after_an_error_nothing_more_is_written_and_the_database_is_free(tmp_path: Path) -> None:
    settings = ClickHouseSettings(dsn=f"chdb://{tmp_path}/db")
    with pytest.raises(KeyError), InProcessSink(settings):
        raise KeyError
    assert counts(settings)["probe_results"] == 0
