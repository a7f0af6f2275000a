"""The production case with one thing changed at a time: evidence decides, and what it lacks is asked for.

The bundled recording, cut after the onset and edited on the fly: its flow tables taken away, its queue made deep, its
agent killed; and the healthy job with a queue that spikes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from schemas.codec import decode
from schemas.control import Tick
from schemas.diagnosis import Incident
from schemas.envelope import Message
from schemas.folding import Emission
from schemas.instants import SECOND_US
from schemas.probing import ProbeResults
from schemas.telemetry import AgentHealth, FlowTables, QueueColumns, SwitchQueues
from skeletonhunter.recordings.reader import Recording
from streams.local import LocalPipeline
from streams.parameters import Parameters

INCIDENTS = Path(__file__).parents[3] / "examples/incidents"
STAGES = ("detection", "localization")
ONSET_S, CUT_S = 86, 125
SRC, DST = "c-01b1-002/mlx5_5", "c-0545-014/mlx5_5"
RNIC = "rnic:h-2269/mlx5_5"

Edit = Callable[[Message, int], Message | None]
"""(a message, its second) -> what is replayed in its place; None: nothing."""


def replay(name: str, edit: Edit) -> list[Incident]:
    """The last word on each incident of a bundled recording's first ``CUT_S`` seconds."""
    sent: list[Emission] = []
    pipeline = LocalPipeline(Parameters(), sent.append, STAGES)
    with Recording(INCIDENTS / name) as recording:
        begin_us, now_us = recording.manifest.start_us, recording.manifest.start_us
        for line in recording.lines():
            if line.arrival_us > begin_us + CUT_S * SECOND_US:
                break
            while now_us + SECOND_US <= line.arrival_us:
                now_us += SECOND_US
                pipeline.advance(Tick(t_us=now_us, source="clock", offsets={}, final=False))
            if line.topic not in pipeline.readers:
                continue
            value = decode(line.topic, line.key, line.raw, line.arrival_us)
            assert isinstance(value, Message)
            edited = edit(value, (value.t_us - begin_us) // SECOND_US)
            if edited is not None:
                pipeline.admit(line.topic, line.key or "", edited)
    pipeline.advance(Tick(t_us=now_us, source="clock", offsets={}, final=True))
    last = {each.value.incident: each.value for each in sent if isinstance(each.value, Incident)}
    return list(last.values())


def as_it_was(message: Message, second: int) -> Message:
    return message


def without_flow_tables(message: Message, second: int) -> Message | None:
    return None if isinstance(message, FlowTables) else message


def with_agent_dead(message: Message, second: int) -> Message | None:
    """From the onset on the destination's agent neither probes nor answers, and says nothing."""
    agent = DST.partition("/")[0]
    if second <= ONSET_S:
        return message
    if isinstance(message, AgentHealth) and message.agent == agent:
        return None
    if not isinstance(message, ProbeResults):
        return message
    if message.src.startswith(f"{agent}/"):
        return None
    results = tuple(
        msgspec.structs.replace(each, outcome="lost", lost=each.sent, rtt_us=()) if _is_of(agent, each.dst) else each
        for each in message.results
    )
    return msgspec.structs.replace(message, results=results)


def _is_of(agent: str, endpoint: str) -> bool:
    return endpoint.startswith(f"{agent}/")


def deepened(port: str, depth: int, seconds: range) -> Edit:
    """One port's queue is that deep in some seconds, and marks packets as it should."""

    def edit(message: Message, second: int) -> Message:
        if not isinstance(message, SwitchQueues) or second not in seconds:
            return message
        ports = tuple(
            _deep(each, depth, second) if f"{message.switch}/{each.port}" == port else each for each in message.ports
        )
        return msgspec.structs.replace(message, ports=ports)

    return edit


def _deep(column: QueueColumns, depth: int, second: int) -> QueueColumns:
    marks = tuple(1000 * second + number for number in range(len(column.t_us)))
    return msgspec.structs.replace(column, depth_bytes=(depth,) * len(marks), ecn_marked=marks)


@pytest.fixture(scope="module")
def last_hop() -> str:
    """The port by which the fabric reaches the pair's destination: where the figure's queue is."""
    with Recording(INCIDENTS / "stale-flow-offload") as recording:
        line = next(line for line in recording.lines() if line.topic == "endpoint-map")
        listed = msgspec.json.decode(line.raw)["endpoints"]
    return str(next(each["switch_port"] for each in listed if each["endpoint"] == DST))


def test_as_it_was_the_rnic_has_lost_the_flow() -> None:
    (incident,) = replay("stale-flow-offload", as_it_was)
    assert (incident.kind, incident.issue, incident.component) == ("network_fault", "offloading_failure", RNIC)


def test_without_flow_tables_nobody_is_named_and_they_are_asked_for() -> None:
    (incident,) = replay("stale-flow-offload", without_flow_tables)
    assert (incident.kind, incident.component) == ("insufficient_evidence", None)
    assert "flow tables of" in incident.action.why


def test_with_the_queue_deep_as_well_and_no_flow_table_at_odds_it_is_congestion(last_hop: str) -> None:
    deepen = deepened(last_hop, 400_000, range(ONSET_S, CUT_S + 1))

    def edit(message: Message, second: int) -> Message | None:
        return None if isinstance(message, FlowTables) else deepen(message, second)

    (incident,) = replay("stale-flow-offload", edit)
    assert (incident.kind, incident.component) == ("congestion", f"port:{last_hop}")
    assert incident.action.kind == "none"


def test_with_the_queue_deep_and_the_flow_lost_as_well_it_is_congestion_but_not_for_sure(last_hop: str) -> None:
    (incident,) = replay("stale-flow-offload", deepened(last_hop, 400_000, range(ONSET_S, CUT_S + 1)))
    assert (incident.kind, incident.component) == ("congestion", f"port:{last_hop}")
    assert {RNIC, f"port:{last_hop}"} <= {candidate.component for candidate in incident.candidates}
    assert incident.confidence <= 0.5


def test_with_the_agent_dead_the_agent_is_missing_and_the_network_is_not_blamed() -> None:
    found = replay("stale-flow-offload", with_agent_dead)
    assert {incident.kind for incident in found} == {"agent_missing"}
    assert {incident.component for incident in found} == {f"agent:{DST.partition('/')[0]}"}


def test_a_queue_that_spikes_while_all_is_well_is_no_incident(last_hop: str) -> None:
    with Recording(INCIDENTS / "healthy-job") as recording:
        line = next(line for line in recording.lines() if line.topic == "endpoint-map")
        port = str(msgspec.json.decode(line.raw)["endpoints"][0]["switch_port"])
    assert replay("healthy-job", deepened(port, 900_000, range(90, 93))) == []
