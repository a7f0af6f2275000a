"""Each view gives the answer that can be worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from schemas import diagnosis, maps, probing
from schemas.envelope import Producer
from skeletonhunter.sinks.clickhouse import ClickHouseWriter
from skeletonhunter.sinks.received import Received
from tests.integration.clickhouse.asking import rows
from tests.unit.sinks.messages import T0_US, envelope_of, probe_train, received_examples

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

pytestmark = pytest.mark.clickhouse

SECOND_US = 1_000_000
DAY_US = 86_400 * SECOND_US


def incident(name: str, seq: int, fabric: str, **fields: Any) -> diagnosis.Incident:
    value = next(each.value for each in received_examples("incidents") if getattr(each.value, "issue", None))
    assert isinstance(value, diagnosis.Incident)
    producer = Producer(id=f"localization:{fabric}", kind="stage", boot="fold", seq=seq)
    plain = {"incident": name, "fabric": fabric, "producer": producer, "state": "open", "t_us": T0_US + seq * SECOND_US}
    return msgspec.structs.replace(value, **{**plain, **fields})


def feedback(name: str, seq: int, fabric: str, **fields: Any) -> diagnosis.OperatorFeedback:
    envelope = envelope_of("operator-feedback", seq=seq, t_us=T0_US + seq * SECOND_US, fabric=fabric)
    about = {name: value for name, value in envelope.items() if name not in ("job", "tenant")}
    return diagnosis.OperatorFeedback(**about, incident=name, **fields)


def write(writer: ClickHouseWriter, topic: str, *values: Any) -> None:
    writer.write(topic, [Received(value, value.t_us) for value in values])


def test_current_is_the_newest_state_in_whatever_order_states_arrive(client: Client, writer: ClickHouseWriter) -> None:
    opened = incident("inc-1", 1, "f-current", confidence=0.5)
    updated = incident("inc-1", 2, "f-current", confidence=0.7, state="updated")
    resolved = incident("inc-1", 3, "f-current", t_us=updated.t_us, state="resolved", resolved_us=updated.t_us)
    for value in (resolved, opened, updated, opened):
        write(writer, "incidents", value)
    current = rows(client, "SELECT * FROM incidents_current WHERE fabric = 'f-current'")
    assert [(row["incident"], row["state"], row["seq"]) for row in current] == [("inc-1", "resolved", 3)]
    assert current[0]["resolved_us"] == updated.t_us
    assert current[0]["detection_delay_s"] == (opened.detected_us - opened.onset_us) / 1e6
    assert current[0]["candidate_components"] == [each.component for each in opened.candidates]
    assert not rows(client, "SELECT * FROM incidents_current WHERE fabric = 'f-current' AND state != 'resolved'")


def test_timeline_tells_every_state_in_order_with_what_was_before(client: Client, writer: ClickHouseWriter) -> None:
    first = incident("inc-2", 1, "f-line", component=None, confidence=0.2, onset_us=T0_US)
    second = incident("inc-2", 2, "f-line", state="updated", confidence=0.9, onset_us=T0_US)
    write(writer, "incidents", second, first, second)
    told = rows(client, "SELECT * FROM incident_timeline WHERE fabric = 'f-line' ORDER BY step")
    assert [(row["step"], row["state"], row["previous_state"]) for row in told] == [
        (1, "open", None),
        (2, "updated", "open"),
    ]
    assert [row["previous_component"] for row in told] == [None, None]
    assert told[1]["component"] == second.component
    assert told[1]["previous_confidence"] == 0.2
    assert [row["since_onset_s"] for row in told] == [1.0, 2.0]


def judged(writer: ClickHouseWriter, fabric: str) -> None:
    """Alarms: two right, one wrong component, one false, one nobody judged, one of the monitor; and a missed fault."""
    for seq, name in enumerate(("a", "b", "c", "d", "f"), start=1):
        write(writer, "incidents", incident(f"{fabric}-{name}", seq, fabric))
    write(writer, "incidents", incident(f"{fabric}-e", 9, fabric, kind="agent_missing", issue=None))
    verdicts = {"a": "right", "b": "wrong", "d": "wrong", "e": "wrong"}
    for seq, (name, verdict) in enumerate(verdicts.items(), start=1):
        write(writer, "operator-feedback", feedback(f"{fabric}-{name}", seq, fabric, verdict=verdict))
    write(writer, "operator-feedback", feedback(f"{fabric}-b", 20, fabric, verdict="right", fixed=True))
    named = feedback(f"{fabric}-c", 21, fabric, verdict="component", was="switch:leaf-9")
    write(writer, "operator-feedback", named, named)
    missed = feedback(f"{fabric}-unheard-of", 22, fabric, verdict="component", was="link:l7")
    mistyped = feedback(f"{fabric}-mistyped", 23, fabric, verdict="right")
    write(writer, "operator-feedback", missed, mistyped)


def test_alarm_quality_has_its_denominators(client: Client, writer: ClickHouseWriter) -> None:
    judged(writer, "f-quality")
    [quality] = rows(client, "SELECT * FROM alarm_quality WHERE fabric = 'f-quality'")
    counts = {"alarms": 5, "judged": 4, "right": 2, "wrong_component": 1, "false_alarms": 1, "missed": 1}
    assert {name: quality[name] for name in counts} == counts
    assert quality["precision"] == 3 / 4
    assert quality["recall"] == 3 / 4
    assert quality["localization_accuracy"] == 2 / 3


def test_quality_without_any_feedback_is_unknown_not_perfect(client: Client, writer: ClickHouseWriter) -> None:
    write(writer, "incidents", incident("inc-quiet", 1, "f-quiet"))
    [quality] = rows(client, "SELECT * FROM alarm_quality WHERE fabric = 'f-quiet'")
    assert (quality["alarms"], quality["judged"]) == (1, 0)
    assert [quality[name] for name in ("precision", "recall", "localization_accuracy")] == [None, None, None]


def test_failures_are_put_down_to_what_operators_say_it_was(client: Client, writer: ClickHouseWriter) -> None:
    judged(writer, "f-parts")
    found = {row["component"]: row for row in rows(client, "SELECT * FROM component_failures WHERE fabric = 'f-parts'")}
    assert set(found) == {"rnic:host-01/mlx5_0", "switch:leaf-9"}
    rnic = found["rnic:host-01/mlx5_0"]
    assert (rnic["faults"], rnic["open"], rnic["confirmed"], rnic["fixed"]) == (3, 3, 2, 1)
    assert (rnic["issues"], rnic["component_class"]) == (["offloading_failure"], "rnic")
    assert (found["switch:leaf-9"]["faults"], found["switch:leaf-9"]["component_class"]) == (1, None)


def job_state(job: str, t_us: int, version: int = 1) -> maps.EndpointMap:
    fields = envelope_of("endpoint-map", t_us=t_us, fabric="f-month", job=job)
    return maps.EndpointMap(**fields, version=version, state="running", reason="test", endpoints=())


def test_monthly_failure_rate_counts_jobs_and_the_faults_that_touched_them(
    client: Client, writer: ClickHouseWriter
) -> None:
    june, july = 1_749_000_000 * SECOND_US, 1_752_000_000 * SECOND_US
    early = [job_state(f"j{number}", june + number) for number in range(4)]
    late = [job_state(f"j{number}", july + number, version=2) for number in range(10)]
    write(writer, "endpoint-map", *early, *late, *early)
    for seq, (onset_us, jobs) in enumerate([(june, ("j0", "j1")), (june, ("j1",)), (july, ("j2",))], start=1):
        write(writer, "incidents", incident(f"month-{seq}", seq, "f-month", onset_us=onset_us, jobs=jobs))
    found = rows(client, "SELECT * FROM monthly_failure_rate WHERE fabric = 'f-month' ORDER BY month")
    assert [(str(row["month"]), row["jobs"], row["failed_jobs"], row["faults"]) for row in found] == [
        ("2025-06-01", 4, 2, 2),
        ("2025-07-01", 10, 1, 1),
    ]
    assert [row["failure_rate"] for row in found] == [0.5, 0.1]
    assert found[0]["change"] is None
    assert found[1]["change"] == pytest.approx(-0.8)


def results(seq: int, *trains: probing.ProbeResult) -> probing.ProbeResults:
    fields = envelope_of("probe-results", seq=seq, fabric="f-rtt", job="j-rtt")
    return probing.ProbeResults(**fields, src="c-1/r0", plan_version=1, results=trains)


def test_pair_rtt_is_second_by_second_and_silence_is_not_loss(client: Client, writer: ClickHouseWriter) -> None:
    end_us = T0_US + SECOND_US
    first = probe_train("c-2/r0", T0_US + 1, rtt_us=(10.0, 20.0, 30.0))
    same_second = probe_train("c-2/r0", end_us, rtt_us=(40.0,), sent=10, lost=2)
    next_second = probe_train("c-2/r0", end_us + 1, rtt_us=(), sent=5, lost=5, outcome="lost")
    not_sent = probe_train("c-2/r0", end_us + 2 * SECOND_US, rtt_us=(), sent=0, lost=0, outcome="not_sent")
    message = results(1, first, same_second, next_second, not_sent)
    write(writer, "probe-results", message, message)
    found = rows(client, "SELECT * FROM pair_rtt WHERE fabric = 'f-rtt' ORDER BY window_end_us")
    assert [row["window_end_us"] for row in found] == [end_us, end_us + SECOND_US, end_us + 2 * SECOND_US]
    assert [(row["trains"], row["sent"], row["lost"]) for row in found] == [(2, 20, 2), (1, 5, 5), (1, 0, 0)]
    assert [row["loss"] for row in found] == [0.1, 1.0, None]
    assert [row["rtt_us"] for row in found] == [25.0, None, None]
    assert [found[0][name] for name in ("rtt_min_us", "rtt_max_us", "samples")] == [10.0, 40.0, 4]
    assert found[2]["not_sent"] == 1
