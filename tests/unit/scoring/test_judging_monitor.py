"""Hand-made cases of the monitor's own faults: what a fair judge says of them."""

from __future__ import annotations

from schemas.diagnosis import Incident
from schemas.truth import Fault, MonitorFault
from skeletonhunter.scoring import Score, pool, score
from tests.unit.scoring.cases import facts, fault, incident, monitor_fault, truth


def judge(faults: list[Fault | MonitorFault], incidents: list[Incident]) -> Score:
    return score(truth(*faults), incidents, facts())


def test_monitor_fault_found_by_its_kind() -> None:
    faults: list[Fault | MonitorFault] = [monitor_fault("agent_missing", "agent:h1", endpoints=("c1/r0",))]
    found = judge(faults, [incident("agent:h1", kind="agent_missing")])
    assert found.monitor_faults[0].found is True
    assert found.monitor_faults[0].detection_s == 2.0
    other = judge(faults, [incident("agent:h1", kind="agent_starved", endpoints=("c1/r0",))])
    assert other.monitor_faults[0].found is False
    assert other.monitor_calls[0].standing == "other_kind"
    assert judge([], [incident("agent:h1", kind="agent_missing")]).monitor_calls[0].standing == "false"


def test_monitor_incident_without_a_place_speaks_of_the_whole_fabric() -> None:
    faults: list[Fault | MonitorFault] = [monitor_fault("collector_gap", "agent:switch-collector")]
    found = judge(faults, [incident(None, kind="collector_gap")])
    assert found.monitor_faults[0].found is True
    assert found.monitor_calls[0].standing == "right"
    elsewhere = judge(faults, [incident("agent:h1", kind="collector_gap")])
    assert elsewhere.monitor_faults[0].found is False
    assert elsewhere.monitor_calls[0].standing == "false"
    early = judge(faults, [incident(None, kind="collector_gap", onset=3, detected=4)])
    assert early.monitor_faults[0].found is False


def test_monitor_fault_called_network_fault_is_a_false_alarm_with_that_cause() -> None:
    faults: list[Fault | MonitorFault] = [monitor_fault("agent_starved", "agent:h1", endpoints=("c1/r0",))]
    result = judge(faults, [incident("rnic:h1/r0", "rnic_hardware_failure", "rnic")])
    assert result.alarms[0].standing == "false"
    assert result.monitor_faults[0].blamed == ("i1",)
    figures = pool([result])
    assert figures.bystanders.monitor_called_network.share == 1.0
    assert figures.detection.false_by_cause == {"congestion": 0, "monitor": 1, "nothing": 0}


def test_saying_that_evidence_lacks_during_a_monitor_fault_is_no_false_alarm() -> None:
    faults: list[Fault | MonitorFault] = [monitor_fault("collector_gap", "switch:leaf-1", endpoints=("c1/r0",))]
    result = judge(faults, [incident(None, kind="insufficient_evidence", endpoints=("c1/r0",))])
    assert result.alarms[0].standing == "set_aside"
    assert pool([result]).detection.alarms == 0
    assert result.monitor_faults[0].blamed == ()


def test_silent_monitor_fault_asks_for_no_incident() -> None:
    result = judge([monitor_fault("skeleton_transition", None, endpoints=("c1/r0",))], [])
    assert result.monitor_faults[0].found is None
    assert pool([result]).bystanders.monitor_found.of == 0


def test_silence_of_an_agent_explained_by_a_network_fault_is_set_aside() -> None:
    crash = fault("container:c1", "container_crash")
    result = judge([crash], [incident("agent:c1", kind="agent_missing", endpoints=("c1/r0",))])
    assert result.monitor_calls[0].standing == "set_aside"
    assert result.faults[0].alarms == ()
