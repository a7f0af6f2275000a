"""The page of an incident out of ClickHouse shows what the recording itself shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.diagnosis import Incident
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.replaying.local import LocalReplay
from skeletonhunter.reporting.backdrop import backdrop_from
from skeletonhunter.reporting.page import render_incident
from skeletonhunter.reporting.stored import LEAD_S, history_of, stored_backdrop
from skeletonhunter.settings import ClickHouseSettings
from skeletonhunter.sinks.connection import connect
from skeletonhunter.sinks.in_process import InProcessSink
from streams.parameters import Parameters

pytestmark = pytest.mark.clickhouse

RECORDING = Path(__file__).parents[3] / "examples/incidents/stale-flow-offload"


def test_stored_rows_give_the_same_pictures_as_the_recording(tmp_path: Path) -> None:
    settings = ClickHouseSettings(dsn=f"chdb://{tmp_path}/db")
    with Recording(RECORDING) as recording, InProcessSink(settings) as sink:
        backdrop = backdrop_from(recording.manifest.start_us)
        updates: list[Incident] = (
            LocalReplay(Parameters(), observers=(sink.observe, backdrop.observe)).run(recording).updates
        )
    newest = updates[-1]
    client = connect(settings)
    try:
        history = history_of(client, settings.database, newest)
        stored = stored_backdrop(client, settings.database, newest)
    finally:
        client.close()
    assert [(each.state, each.t_us) for each in history] == [(each.state, each.t_us) for each in updates]
    begins = newest.onset_us - LEAD_S * 1_000_000
    assert stored.start_us == begins
    assert stored.series.pairs.keys() <= backdrop.series.pairs.keys() and len(stored.series.pairs) > 100
    ill = next(pair for pair in stored.series.pairs if set(pair) == set(newest.endpoints))
    sent = sum(stored.series.pairs[ill].sent.values())
    assert 0 < sent <= sum(backdrop.series.pairs[ill].sent.values())
    assert stored.paths[ill].keys() <= backdrop.paths[ill].keys()
    assert {link.id for link in stored.fabrics[newest.fabric].links} == {
        link.id for link in backdrop.fabrics[newest.fabric].links
    }
    (job,) = newest.jobs
    assert set(stored.skeletons[job].edges) == set(backdrop.skeletons[job].edges)
    assert stored.depths.keys() == backdrop.depths.keys()
    page = render_incident(history, stored)
    assert page.count("<img ") == render_incident(updates, backdrop).count("<img ") == 4
    assert len(page) < 2_000_000
