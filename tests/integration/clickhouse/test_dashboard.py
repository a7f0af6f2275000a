"""Every panel and every choice of the dashboard gets an answer from ClickHouse, on recorded data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from schemas.codec import decode
from schemas.diagnosis import Incident
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.reference.panels import CHOICES, PANELS, Panel
from skeletonhunter.sinks.clickhouse import ClickHouseWriter
from skeletonhunter.sinks.received import Received
from skeletonhunter.sinks.rows import STORED_TOPICS
from tests.integration.clickhouse.asking import one, rows
from tests.unit.sinks.messages import received_examples

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

pytestmark = pytest.mark.clickhouse

CHECKOUT = Path(__file__).parents[3]
RECORDING = CHECKOUT / "examples/incidents/stale-flow-offload"
FILE = CHECKOUT / "deploy/grafana/dashboards/skeletonhunter.json"
TOPICS = ("endpoint-map", "probe-results")


@pytest.fixture(scope="module")
def chosen(client: Client, database: str, writer: ClickHouseWriter) -> Iterator[dict[str, Any]]:
    """The recorded incident's probes, and conclusions from the examples moved into its time."""
    with Recording(RECORDING) as recording:
        start_us, end_us = recording.manifest.start_us, recording.manifest.end_us
        received: dict[str, list[Received]] = {topic: [] for topic in TOPICS}
        for line in recording.lines():
            if line.topic in TOPICS:
                value = decode(line.topic, line.key, line.raw, line.arrival_us)
                received[line.topic].append(Received(value, line.arrival_us))
    for topic in ("incidents", "anomalies", "operator-feedback"):
        received[topic] = [_moved(each, start_us + 90_000_000) for each in received_examples(topic)]
    for topic, each in received.items():
        assert topic in STORED_TOPICS
        writer.write(topic, each)
    fault = next(each.value for each in received["incidents"] if getattr(each.value, "issue", None))
    assert isinstance(fault, Incident)
    yield {
        "from_us": start_us,
        "to_us": end_us,
        "job": received["endpoint-map"][0].value.job,
        "incident": fault.incident,
    }


def _moved(received: Received, to_us: int) -> Received:
    value = received.value
    by_us = to_us - value.t_us
    instants = {name: getattr(value, name) for name in value.__struct_fields__ if name.endswith("_us")}
    moved = {name: at_us + by_us for name, at_us in instants.items() if at_us is not None}
    return Received(msgspec.structs.replace(value, **moved), to_us)


def expanded(sql: str, chosen: dict[str, Any]) -> str:
    """The query as the plug-in would send it."""
    bounds = [f"fromUnixTimestamp64Micro({chosen[end]}, 'UTC')" for end in ("from_us", "to_us")]
    sql = re.sub(r"\$__timeFilter\((\w+)\)", rf"(\1 >= {bounds[0]} AND \1 <= {bounds[1]})", sql)
    sql = re.sub(r"\$__timeInterval\((\w+)\)", r"toStartOfInterval(toDateTime(\1), INTERVAL 10 second)", sql)
    for name in ("job", "incident"):
        sql = sql.replace(f"${name}", str(chosen[name]))
    assert "$" not in sql
    return sql


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
def test_every_panel_has_an_answer(client: Client, chosen: dict[str, Any], panel: Panel) -> None:
    answer = rows(client, expanded(panel.sql, chosen))
    assert answer
    assert any(value not in (None, "") for value in answer[0].values())
    if panel.look == "timeseries":
        assert "time" in answer[0]
        assert len({row["time"] for row in answer}) == len(answer) or "symptom" in answer[0]


def test_choices_are_what_there_is(client: Client, chosen: dict[str, Any]) -> None:
    found = {choice.name: rows(client, expanded(choice.sql, chosen)) for choice in CHOICES}
    assert {"job": chosen["job"]} in found["job"]
    assert {"incident": chosen["incident"]} in found["incident"]


def test_rtt_and_loss_show_the_recorded_fault(client: Client, chosen: dict[str, Any]) -> None:
    by_title = {panel.title: expanded(panel.sql, chosen) for panel in PANELS}
    [worst, *_] = rows(client, by_title["Pairs of $job that suffer most"])
    assert worst["loss"] > 0.1
    series = rows(client, by_title["RTT of $job"])
    before, during = series[:8], series[10:18]
    assert max(row["highest_us"] for row in before) < 100 < max(row["highest_us"] for row in during)
    assert all(10 < row["median_us"] < 20 for row in series)
    assert one(client, f"SELECT count() FROM ({by_title['Loss of $job']}) WHERE highest = 1") > 3


def test_panels_do_not_overlap_and_stay_on_the_grid() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(FILE.read_text())["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert all(x < 24 for x, _ in cells)
        taken |= cells
