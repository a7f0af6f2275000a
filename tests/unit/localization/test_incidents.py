"""What becomes of troubles of a small fabric, from probes to incidents: who is blamed, how, and who is not."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from schemas.diagnosis import Incident
from schemas.envelope import Message
from schemas.telemetry import FlowEntry
from tests.small_fabric import (
    BEGIN_US,
    WELL,
    Effect,
    Suffers,
    by_time,
    endpoint,
    endpoint_map,
    event,
    fabric_map,
    health,
    incidents,
    probe_results,
    queues,
    run,
    told,
    well,
)
from tests.small_tables import Tables

SRC, DST = endpoint(0, 0), endpoint(2, 0)


def touching(name: str, suffers: Suffers, start: int = 30, end: int = 10_000) -> Effect:
    """Every train from, to or over ``name`` suffers."""

    def effect(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return suffers if start < second <= end and name in (src, dst, *path) else WELL

    return effect


def pair(suffers: Suffers, start: int = 30) -> Effect:
    def effect(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return suffers if second > start and (src, dst) == (SRC, DST) else WELL

    return effect


def verdicts(incident: Incident) -> dict[str, str]:
    return {step.pass_: step.verdict for step in incident.trace}


def stale(second: int, table: str, row: FlowEntry) -> FlowEntry | None:
    """From second 30 on the source's RNIC has lost the pair's flow, the virtual switch holds it as offloaded."""
    mine = second >= 30 and (row.src, row.dst) == (SRC, DST)
    if not mine or "h0" not in row.at:
        return row
    return None if table == "rnic" else msgspec.structs.replace(row, path="software")


def test_a_healthy_fabric_has_no_incident() -> None:
    assert told(90, well, health(90), queues(90), Tables(90).messages()) == []


def test_a_lossy_link_is_named_though_no_pair_shows_it() -> None:
    (incident,) = told(90, touching("u-0-0-1", Suffers(loss=0.006)))
    assert (incident.kind, incident.component) == ("network_fault", "link:u-0-0-1")
    assert incident.confidence > 0.8
    assert incident.action.kind == "clean_fibre"


def test_two_faults_at_once_are_two_incidents() -> None:
    def both(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        hit = second > 30 and ("u-0-0-1" in path or "u-3-1-0" in path)
        return Suffers(loss=0.05) if hit else WELL

    assert {each.component for each in told(60, both)} == {"link:u-0-0-1", "link:u-3-1-0"}


def test_a_dead_rnic_is_one_incident_that_ends_after_it_has_recovered() -> None:
    (incident,) = told(110, touching(endpoint(3, 1), Suffers(loss=1.0), end=60), health(110))
    assert (incident.kind, incident.component) == ("network_fault", "rnic:h3/mlx5_1")
    assert (incident.state, incident.symptom) == ("resolved", "unconnectivity")
    assert (incident.detected_us - incident.onset_us) / 1e6 <= 3
    assert incident.resolved_us is not None


def test_a_whole_host_is_blamed_not_each_of_its_rnics() -> None:
    def dead(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return Suffers(loss=1.0) if second > 30 and ("c3/" in src or "c3/" in dst) else WELL

    (incident,) = told(60, dead, health(60))
    assert incident.component == "host:h3"


def test_a_stale_offload_is_the_rnics_with_overlay_and_underlay_clean() -> None:
    effect = pair(Suffers(rtt=6.0))
    (incident,) = told(90, effect, health(90), queues(90), Tables(90, stale).messages())
    assert (incident.kind, incident.issue, incident.component) == (
        "network_fault",
        "offloading_failure",
        "rnic:h0/mlx5_0",
    )
    assert verdicts(incident) == {
        "monitor": "clean",
        "overlay": "clean",
        "underlay": "clean",
        "boundary": "suspect",
        "host": "inconclusive",
    }
    assert (incident.action.kind, incident.action.target) == ("quarantine", "rnic:h0/mlx5_0")


def test_one_cause_with_changing_symptoms_is_one_incident() -> None:
    def phases(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        if (src, dst) != (SRC, DST) or second <= 30:
            return WELL
        return Suffers(rtt=6.0) if second <= 50 else Suffers(loss=1.0) if second <= 60 else Suffers(loss=0.2, rtt=40.0)

    messages = [fabric_map(), endpoint_map(), *probe_results(80, phases), *Tables(80, stale).messages()]
    sent = incidents(run(by_time([*messages, *queues(80)])))
    assert len({incident.incident for incident in sent}) == 1
    assert sent[-1].symptom == "unconnectivity"
    assert {incident.component for incident in sent} == {"rnic:h0/mlx5_0"}


def test_without_flow_tables_the_verdict_is_open_and_asks_for_them() -> None:
    (incident,) = told(60, pair(Suffers(rtt=6.0)), health(60), queues(60))
    assert (incident.kind, incident.component) == ("insufficient_evidence", None)
    assert "flow tables of h0" in incident.action.why
    assert verdicts(incident)["boundary"] == "inconclusive"


def test_deep_queues_on_the_way_are_congestion_and_nothing_is_taken_out() -> None:
    def deep(port: str, second: int) -> int:
        return 400_000 if second > 30 and port == "leaf-1-0/2" else 0

    (incident,) = told(60, touching("a2-0", Suffers(rtt=6.0)), queues(60, deep))
    assert (incident.kind, incident.component) == ("congestion", "port:leaf-1-0/2")
    assert incident.action.kind == "none"


def test_a_queue_spike_without_an_anomaly_is_no_incident() -> None:
    assert told(60, well, queues(60, lambda port, second: 900_000 if second == 40 else 0)) == []


def test_an_agent_that_dies_is_missing_and_the_network_is_not_blamed() -> None:
    def dead(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        if second <= 30:
            return WELL
        return Suffers(silent=True) if "c3/" in src else Suffers(loss=1.0) if "c3/" in dst else WELL

    (incident,) = told(70, dead, health(70, dead={3: 30}))
    assert (incident.kind, incident.component) == ("agent_missing", "agent:c3")


def test_a_container_that_exits_takes_its_agent_along() -> None:
    def dead(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        if second <= 30:
            return WELL
        return Suffers(silent=True) if "c3/" in src else Suffers(loss=1.0) if "c3/" in dst else WELL

    found = told(70, dead, health(70, dead={3: 30}), [event(30.5, "container:c3", "container_exit", "code 137")])
    assert [(each.issue, each.component) for each in found] == [("container_crash", "container:c3")]


def test_a_starved_agent_is_told_and_slow_pairs_of_it_are_not() -> None:
    def slow(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        return Suffers(rtt=8.0) if second > 30 and ("c3/" in src or "c3/" in dst) else WELL

    assert {each.kind for each in told(70, slow, health(70, starved={3: 28}))} == {"agent_starved"}


def test_endpoints_that_leave_raise_nothing_although_the_map_comes_late() -> None:
    def leaving(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        if second <= 30:
            return WELL
        return Suffers(silent=True) if "c3/" in src else Suffers(loss=1.0) if "c3/" in dst else WELL

    left: list[Message] = [endpoint_map(32.2, version=2, gone=[3])]
    assert told(80, leaving, health(80, dead={3: 30}), left) == []


def test_a_topic_that_was_never_seen_proves_nothing() -> None:
    assert told(90, well) == []


def test_a_collector_that_stops_is_a_gap() -> None:
    (incident,) = told(60, well, [m for m in queues(60) if m.switch != "spine-0" or m.t_us < BEGIN_US + 30_000_000])
    assert (incident.kind, incident.component) == ("collector_gap", "agent:q")


@pytest.mark.parametrize(
    ("device", "code", "values", "component", "issue"),
    [
        ("rnic:h3/mlx5_1", "port_down", {}, "rnic:h3/mlx5_1", "rnic_port_down"),
        ("port:leaf-1-1/3", "port_down", {"fault": "remote"}, "rnic:h3/mlx5_1", "rnic_hardware_failure"),
        ("rnic:h3/mlx5_1", "port_down", {"fault": "remote"}, "port:leaf-1-1/3", "switch_port_down"),
        ("rnic:h3/mlx5_1", "bond_failed", {}, "rnic:h3/mlx5_1", "bond_error"),
        ("rnic:h3/mlx5_1", "gid_changed", {}, "rnic:h3/mlx5_1", "gid_change"),
    ],
)
def test_warnings_name_the_issue(device: str, code: str, values: dict[str, str], component: str, issue: str) -> None:
    warned: list[Message] = [event(30.5, device, code, **values)]
    (incident,) = told(60, touching(endpoint(3, 1), Suffers(loss=1.0)), warned)
    assert (incident.component, incident.issue) == (component, issue)


def _dropped(second: int, table: str, row: FlowEntry) -> FlowEntry | None:
    hit = second >= 30 and (row.src, row.dst) == (SRC, DST) and row.at == "vswitch:h0"
    return msgspec.structs.replace(row, next=None, actions="drop") if hit else row


def _looping(second: int, table: str, row: FlowEntry) -> FlowEntry | None:
    hit = second >= 30 and (row.src, row.dst) == (SRC, DST) and row.at == "tunnel:h0"
    return msgspec.structs.replace(row, next="vswitch:h0") if hit else row


def _astray(second: int, table: str, row: FlowEntry) -> FlowEntry | None:
    hit = second >= 30 and (row.src, row.dst) == (SRC, DST) and row.at == "tunnel:h0"
    return msgspec.structs.replace(row, next="rnic:h0/mlx5_1") if hit else row


@pytest.mark.parametrize(
    ("edit", "component", "result"),
    [
        (_dropped, "vswitch:h0", "dropped"),
        (_looping, "vswitch:h0", "loop"),
        (_astray, "tunnel:h0", "wrong tunnel"),
    ],
)
def test_a_chain_that_does_not_arrive_is_the_overlays(
    edit: Callable[[int, str, FlowEntry], FlowEntry | None], component: str, result: str
) -> None:
    (incident,) = told(70, pair(Suffers(loss=1.0)), queues(70), Tables(70, edit).messages())
    assert incident.component == component
    overlay = next(step for step in incident.trace if step.pass_ == "overlay")
    assert (overlay.verdict, overlay.tests[0].result) == ("suspect", result)


def test_scores_add_up_to_at_most_one_and_confidence_is_the_winners() -> None:
    (incident,) = told(60, touching(endpoint(3, 1), Suffers(loss=1.0)), health(60))
    assert sum(candidate.score for candidate in incident.candidates) <= 1.0
    assert incident.confidence == pytest.approx(incident.candidates[0].score, abs=1e-3)
