"""Every panel and every choice of the dashboards gets an answer from ClickHouse, on what a simulated fault left there.

The testbed breaks a switch port and starves an agent; the recording goes through the whole pipeline into the database
as in ``replay --clickhouse``, and its alerts to nobody. What no simulation makes is put beside it: an operator's answer
and a record that can't be used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from schemas.alerting import AlertDelivery
from schemas.diagnosis import Incident
from schemas.envelope import Value
from skeletonhunter.alerting.telling import Teller
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.reference.dashboards import BOARDS
from skeletonhunter.reference.panels import Panel
from skeletonhunter.replaying.local import LocalReplay
from skeletonhunter.replaying.simulating import simulate_recording
from skeletonhunter.sinks.clickhouse import ClickHouseWriter
from skeletonhunter.sinks.received import Received
from skeletonhunter.sinks.rows import STORED_TOPICS
from skeletonhunter.testbed.scenario import FabricPlan, FaultPlan, JobPlan, Scenario
from streams.parameters import Parameters
from tests.integration.clickhouse.asking import one, rows
from tests.unit.alerting.incidents import silent_teller
from tests.unit.sinks.messages import received_examples

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

pytestmark = pytest.mark.clickhouse

FOLDER = Path(__file__).parents[3] / "deploy/grafana/dashboards"
PANELS = [(board.uid, panel) for board in BOARDS for panel in board.panels]
FAULT_S = 100.0

SCENARIO = Scenario(
    name="a-night",
    seed=7,
    seconds=200,
    fabric=FabricPlan(hosts=4, rails=4, hosts_per_leaf=2, spines=2),
    jobs=(JobPlan(tp=4, pp=2, dp=2, period_s=8.0, ready_s=5.0),),
    faults=(
        FaultPlan(what="switch_port_down", start_s=FAULT_S, end_s=160.0),
        FaultPlan(what="agent_starved", start_s=60.0, end_s=80.0),
    ),
)


class Keeper:
    """Takes all that a replay observes, and what would be told."""

    def __init__(self) -> None:
        self.received: dict[str, list[Received]] = {topic: [] for topic in STORED_TOPICS}
        self.incidents: list[Incident] = []
        self.teller: Teller = silent_teller(self._keep)

    def _keep(self, delivery: AlertDelivery) -> None:
        self.received["alert-deliveries"].append(Received(delivery, delivery.t_us))

    def observe(self, topic: str, _key: str, arrival_us: int, value: Value) -> None:
        if topic in self.received:
            self.received[topic].append(Received(value, arrival_us))  # type: ignore[arg-type]
        if isinstance(value, Incident):
            self.incidents.append(value)
            self.teller.take(value)


@pytest.fixture(scope="module")
def chosen(
    client: Client, database: str, writer: ClickHouseWriter, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Any]]:
    """What the boards are asked about: the time, the job and the fault of the recording, once it is in the database."""
    folder = tmp_path_factory.mktemp("recordings") / "a-night"
    simulate_recording(SCENARIO, folder, Parameters())
    keeper = Keeper()
    with Recording(folder) as recording:
        LocalReplay(Parameters(), observers=(keeper.observe,)).run(recording)
        start_us, end_us = recording.manifest.start_us, recording.manifest.end_us
    fault = next(each for each in keeper.incidents if each.kind == "network_fault")
    answer = received_examples("operator-feedback")[0].value
    moved = msgspec.structs.replace(answer, t_us=end_us, fabric=fault.fabric, incident=fault.incident)  # type: ignore[call-arg]
    keeper.received["operator-feedback"].append(Received(moved, end_us))
    for topic, received in keeper.received.items():
        if received:
            writer.write(topic, received)
    columns = ["topic", "key", "reason", "detail", "arrival_us", "kafka_partition", "kafka_offset"]
    client.insert("dead_letters", [("job-progress", "job-1", "wrong_key", "...", end_us, 0, 1)], columns, database)
    yield {"from_us": start_us, "to_us": end_us, "job": fault.jobs[0], "incident": fault.incident}


def expanded(sql: str, chosen: dict[str, Any]) -> str:
    """The query as the plug-in would send it."""
    bounds = [f"fromUnixTimestamp64Micro({chosen[end]}, 'UTC')" for end in ("from_us", "to_us")]
    sql = re.sub(r"\$__timeFilter\((\w+)\)", rf"(\1 >= {bounds[0]} AND \1 <= {bounds[1]})", sql)
    sql = re.sub(r"\$__timeInterval\((\w+)\)", r"toStartOfInterval(toDateTime(\1), INTERVAL 10 second)", sql)
    for name in ("job", "incident"):
        sql = sql.replace(f"${name}", str(chosen[name]))
    assert "$" not in sql
    return sql


def panel(board: str, title: str, chosen: dict[str, Any]) -> str:
    """The query of a panel."""
    return next(expanded(each.sql, chosen) for uid, each in PANELS if (uid, each.title) == (board, title))


@pytest.mark.parametrize(("board", "of"), PANELS, ids=[f"{board}: {each.title}" for board, each in PANELS])
def test_every_panel_has_an_answer(client: Client, chosen: dict[str, Any], board: str, of: Panel) -> None:
    answer = rows(client, expanded(of.sql, chosen))
    assert answer
    assert any(value not in (None, "", []) for value in answer[0].values())
    if of.look == "stat":
        assert len(answer) == len(answer[0]) == 1
    if of.look == "timeseries":
        words = [name for name, value in answer[0].items() if isinstance(value, str)]
        assert "time" in answer[0]
        assert len({tuple(row[name] for name in ("time", *words)) for row in answer}) == len(answer)


def test_choices_are_what_there_is(client: Client, chosen: dict[str, Any]) -> None:
    found = {choice.name: rows(client, expanded(choice.sql, chosen)) for board in BOARDS for choice in board.choices}
    assert {"job": chosen["job"]} in found["job"]
    assert {"incident": chosen["incident"]} in found["incident"]


def test_the_boards_show_the_fault_that_was_made(client: Client, chosen: dict[str, Any]) -> None:
    fleet, job, night, monitor = (board.uid for board in BOARDS)
    assert one(client, panel(fleet, "Faults in this time", chosen)) == 1
    [worst, *_] = rows(client, panel(job, "Pairs of $job that suffer most", chosen))
    assert worst["loss"] > 0.1
    assert one(client, panel(night, "What it is", chosen)) == "switch_port_down"
    loss = rows(client, panel(night, "Loss of its pairs", chosen))
    assert max(row["its_pairs"] or 0 for row in loss) > 0.5 > 0.05 > max(row["others"] or 0 for row in loss)
    told = rows(client, panel(night, "Who was told", chosen))
    assert [(row["target"], row["state"]) for row in told][:1] == [("oncall", "open")]
    assert one(client, panel(monitor, "Troubles of the monitor", chosen)) >= 1
    states = {row["state"] for row in rows(client, panel(monitor, "Agents, by state", chosen))}
    assert states == {"ok", "throttled"}


def test_files_are_those_of_the_boards_and_panels_stay_on_the_grid_without_overlap() -> None:
    files = {path.stem: json.loads(path.read_text()) for path in FOLDER.glob("*.json")}
    assert set(files) == {board.uid for board in BOARDS}
    for model in files.values():
        taken: set[tuple[int, int]] = set()
        for place in (each["gridPos"] for each in model["panels"]):
            columns, lines = range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])
            cells = {(x, y) for x in columns for y in lines}
            assert not cells & taken
            assert max(columns) < 24
            taken |= cells
