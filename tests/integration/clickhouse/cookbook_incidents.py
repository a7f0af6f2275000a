"""What the cookbook must say of incidents and of the monitor, checked against the recordings and their truth."""

from __future__ import annotations

from statistics import median

from tests.integration.clickhouse.cookbook_world import World

RNIC = "rnic:h-2269/mlx5_5"
LINK = "link:l16"
"""What is at fault in the bundled incident, and first in the simulated one."""


def open_incidents(bundled: World, simulated: World) -> None:
    assert bundled.ask("open_incidents") == []
    found = {row["component"]: row for row in simulated.ask("open_incidents")}
    newest = {each.incident: each for each in simulated.values("incidents")}
    assert {row["incident"] for row in found.values()} == {i for i, last in newest.items() if last.state != "resolved"}
    assert (found[LINK]["issue"], found[LINK]["action"], found[LINK]["target"]) == ("crc_error", "clean_fibre", LINK)


def incidents_by_component(bundled: World, simulated: World) -> None:
    [row] = bundled.ask("incidents_by_component")
    lasted_us = bundled.incident(RNIC).resolved_us
    assert lasted_us is not None
    hours = (lasted_us - bundled.incident(RNIC).onset_us) / 3.6e9
    assert row == {
        **{"component": RNIC, "component_class": "rnic", "incidents": 1, "open": 0, "jobs": 1},
        **{"issues": ["offloading_failure"], "hours": round(hours, 4)},
    }
    assert simulated.truth is not None
    blamed = {row["component"] for row in simulated.ask("incidents_by_component")}
    assert blamed >= {fault.component for fault in simulated.truth.faults if fault.kind == "network_fault"}


def incidents_by_issue(bundled: World, simulated: World) -> None:
    found = {(row["kind"], row["issue"]): row for row in simulated.ask("incidents_by_issue")}
    assert {("agent_missing", None), ("clock_bad", None), ("congestion", None)} <= set(found)
    assert {issue for kind, issue in found if kind == "network_fault"} >= {"crc_error", "rnic_port_flapping"}
    gone = simulated.incident("agent:c-1a80-001")
    assert gone.resolved_us is not None
    assert found["agent_missing", None]["median_duration_s"] == (gone.resolved_us - gone.onset_us) / 1e6
    assert bundled.ask("incidents_by_issue")[0]["mean_confidence"] == round(bundled.incident(RNIC).confidence, 3)


def incidents_by_tenant(bundled: World, simulated: World) -> None:
    [row] = bundled.ask("incidents_by_tenant")
    assert (row["tenant"], row["job"], row["worst_symptom"]) == ("tenant-24", "job-9504", "unconnectivity")
    touched = {job for each in simulated.values("incidents") for job in each.jobs}
    answer = simulated.ask("incidents_by_tenant")
    assert {row["job"] for row in answer} == touched
    assert all(row["tenant"].startswith("tenant-") and row["faults"] <= row["incidents"] for row in answer)


def incident_timeline_of(bundled: World, _: World) -> None:
    last = bundled.incident(RNIC)
    states = [each for each in bundled.values("incidents") if each.incident == last.incident]
    answer = bundled.ask("incident_timeline_of", incident=last.incident)
    assert [(row["since_onset_s"], row["state"], row["action"]) for row in answer] == [
        ((each.t_us - last.onset_us) / 1e6, each.state, each.action.kind) for each in states
    ]


def incident_evidence(bundled: World, _: World) -> None:
    last = bundled.incident(RNIC)
    answer = bundled.ask("incident_evidence", incident=last.incident)
    assert sorted((row["topic"], row["ref"], row["text"]) for row in answer) == sorted(
        (each.topic, each.ref, each.text) for each in last.evidence
    )
    flow = next(row for row in answer if row["topic"] == "flow-tables")
    assert "offloaded" in flow["text"] and flow["since_onset_s"] > 0


def incident_reasoning(bundled: World, _: World) -> None:
    last = bundled.incident(RNIC)
    answer = bundled.ask("incident_reasoning", incident=last.incident)
    expected = [(step.pass_, test.test, test.result) for step in last.trace for test in step.tests]
    assert [(row["pass"], row["test"], row["result"]) for row in answer if row["test"]] == expected
    assert any(row["verdict"] == "suspect" for row in answer)


def devices_said_around_incident(_: World, simulated: World) -> None:
    flapping = simulated.incident("rnic:h-7842/mlx5_3")
    answer = simulated.ask("devices_said_around_incident", incident=flapping.incident, lead_s=60)
    own = [row["event"] for row in answer if row["blamed"]]
    assert own.count("port_down") + own.count("port_up") == len(own) > 3
    assert any(row["event"] == "clock_step" and row["since_onset_s"] < 0 for row in answer)


def time_to_localize(bundled: World, simulated: World) -> None:
    last = bundled.incident(RNIC)
    assert last.localized_us is not None
    [row] = bundled.ask("time_to_localize")
    assert row["detect_p50_s"] == row["detect_p95_s"] == (last.detected_us - last.onset_us) / 1e6
    assert row["localize_p50_s"] == (last.localized_us - last.onset_us) / 1e6
    newest = {each.incident: each for each in simulated.values("incidents")}
    faults = [each for each in newest.values() if each.kind == "network_fault"]
    answer = {row["symptom"]: row for row in simulated.ask("time_to_localize")}
    assert sum(row["faults"] for row in answer.values()) == len(faults)
    for symptom, row in answer.items():
        delays = [(each.detected_us - each.onset_us) / 1e6 for each in faults if each.symptom == symptom]
        assert abs(row["detect_p50_s"] - median(delays)) < 1e-6


def quality_of_alarms(bundled: World, _: World) -> None:
    """After an operator has answered, see ``feedback`` in the test of this module."""
    [row] = bundled.ask("quality_of_alarms")
    assert (row["alarms"], row["judged"], row["right"], row["missed"]) == (1, 1, 1, 1)
    assert (row["precision"], row["recall"], row["localization_accuracy"]) == (1.0, 0.5, 1.0)


def failures_of_components(bundled: World, simulated: World) -> None:
    [row] = bundled.ask("failures_of_components")
    assert (row["component"], row["faults"], row["confirmed"], row["fixed"]) == (RNIC, 1, 1, 1)
    found = {row["component"]: row for row in simulated.ask("failures_of_components")}
    assert (found[LINK]["issues"], found[LINK]["confirmed"]) == (["crc_error"], 0)


def failures_by_month(bundled: World, simulated: World) -> None:
    [row] = bundled.ask("failures_by_month")
    assert (str(row["month"]), row["jobs"], row["failed_jobs"], row["failure_rate"]) == ("2025-05-01", 1, 1, 1.0)
    [row] = simulated.ask("failures_by_month")
    touched = {job for each in simulated.values("incidents") if each.kind == "network_fault" for job in each.jobs}
    assert (row["jobs"], row["failed_jobs"], row["change"]) == (2, len(touched), None)
