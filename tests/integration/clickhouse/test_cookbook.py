"""Every query of the cookbook answers its question on recorded data, and the answer is right."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from schemas import diagnosis
from schemas.codec import BadRecord
from skeletonhunter.queries import QueryFileError, parse, queries
from skeletonhunter.replaying.simulating import simulate_recording
from skeletonhunter.sinks.clickhouse import ClickHouseWriter
from skeletonhunter.sinks.received import Received
from skeletonhunter.sinks.refused_rows import dead_letters
from skeletonhunter.testbed.scenario import FabricPlan, FaultPlan, JobPlan, Scenario, TelemetryPlan
from streams.parameters import Parameters
from streams.records import Record
from tests.integration.clickhouse import cookbook_incidents, cookbook_jobs, cookbook_network
from tests.integration.clickhouse.asking import rows
from tests.integration.clickhouse.cookbook_world import World, world_of
from tests.unit.sinks.messages import envelope_of

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

pytestmark = pytest.mark.clickhouse

RECORDING = Path(__file__).parents[3] / "examples/incidents/stale-flow-offload"
SCENARIO = Scenario(
    name="cookbook",
    seed=4,
    seconds=170,
    fabric=FabricPlan(hosts=8, rails=4, hosts_per_leaf=4, spines=2),
    jobs=(JobPlan(tp=4, pp=1, dp=4, period_s=6.0), JobPlan(tp=4, pp=1, dp=4, period_s=7.0)),
    faults=(
        FaultPlan(what="crc_error", start_s=40, end_s=80, severity=0.7),
        FaultPlan(what="agent_missing", start_s=50, end_s=100),
        FaultPlan(what="congestion", start_s=105, end_s=140, severity=0.8),
        FaultPlan(what="repetitive_flow_offloading", start_s=105, end_s=140),
        FaultPlan(what="rnic_port_flapping", start_s=90, end_s=130),
        FaultPlan(what="clock_bad", start_s=30, end_s=140),
    ),
    telemetry=TelemetryPlan(warnings=1.0),
    probes_per_train=50,
)


@pytest.fixture(scope="module")
def simulated(client: Client, tmp_path_factory: pytest.TempPathFactory) -> World:
    path = tmp_path_factory.mktemp("cookbook") / "simulated"
    simulate_recording(SCENARIO, path, Parameters())
    return world_of(client, f"simulated_{os.getpid()}", path)


@pytest.fixture(scope="module")
def bundled(client: Client) -> Iterator[World]:
    world = world_of(client, f"bundled_{os.getpid()}", RECORDING)
    writer = ClickHouseWriter(client, world.database)
    writer.write("operator-feedback", [Received(each, each.t_us) for each in feedback(world)])
    writer.insert(dead_letters(refused(world)))
    yield world


def feedback(world: World) -> Iterator[diagnosis.OperatorFeedback]:
    """An operator found the alarm right and repaired the card; another reports a fault that nobody raised."""
    raised = world.incident(cookbook_incidents.RNIC)
    for seq, about in enumerate([raised.incident, "incident-unheard-of"]):
        envelope = envelope_of("operator-feedback", seq=seq, t_us=raised.t_us, fabric="fab-1")
        fields = {name: value for name, value in envelope.items() if name not in ("job", "tenant")}
        answer: dict[str, Any] = {"verdict": "right", "fixed": True} if seq == 0 else {"verdict": "component"}
        yield diagnosis.OperatorFeedback(**fields, incident=about, was="link:l001" if seq else None, **answer)


def refused(world: World) -> list[tuple[Record, BadRecord]]:
    """Three records that can't be used, one of them read twice."""
    at_us = world.values("job-progress")[0].t_us
    first = Record("probe-results", 0, 7, b"job-9504", b"{oops", at_us)
    event = Record("device-events", 1, 9, b"fab-1", b"{}", at_us)
    errors = [BadRecord("invalid_json", "the first"), BadRecord("invalid_json", "the second")]
    return [
        (first, errors[0]),
        (first, errors[0]),
        (first._replace(offset=8, arrival_us=at_us + 1, value=b"\xff"), errors[1]),
        (event, BadRecord("invalid_value", "no device")),
    ]


CHECKS: dict[str, Callable[[World, World], None]] = {
    name: check
    for module in (cookbook_incidents, cookbook_jobs, cookbook_network)
    for name, check in vars(module).items()
    if callable(check) and getattr(check, "__module__", "") == module.__name__
}


def test_every_query_has_a_check() -> None:
    assert set(CHECKS) == set(queries())
    assert len(queries()) >= 20


@pytest.mark.parametrize("name", queries())
def test_a_query_answers_its_question(bundled: World, simulated: World, name: str) -> None:
    CHECKS[name](bundled, simulated)


SAMPLES = {"String": "'x'", "DateTime('UTC')": "toDateTime(0, 'UTC')", "UInt32": "1", "UInt64": "1", "Float64": "1.0"}


@pytest.mark.parametrize("name", queries())
def test_columns_and_parameters_are_those_that_the_file_tells(client: Client, bundled: World, name: str) -> None:
    query = queries()[name]
    sql = query.sql
    for parameter in query.parameters:
        assert f"{{{parameter.name}:{parameter.type}}}" in sql
        sql = sql.replace(f"{{{parameter.name}:{parameter.type}}}", SAMPLES[parameter.type])
    assert "{" not in sql
    client.database = bundled.database
    assert [row["name"] for row in rows(client, f"DESCRIBE ({sql})")] == list(query.columns)


@pytest.mark.parametrize(
    "text", ["SELECT 1", "-- section X\n-- What?\nSELECT 1", "-- section X\n-- column a: b\nSELECT 1"]
)
def test_a_file_without_its_header_is_refused(text: str) -> None:
    with pytest.raises(QueryFileError, match="odd: expected a section, a question, columns and a query"):
        parse("odd", text)
