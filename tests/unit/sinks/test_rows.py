"""Rows say what the message said, whole, and nothing else."""

from __future__ import annotations

from typing import get_args, get_type_hints

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import diagnosis, envelope, probing, telemetry
from schemas.topics import topics
from skeletonhunter.reference.examples import examples
from skeletonhunter.sinks.clickhouse import ClickHouseWriter
from skeletonhunter.sinks.received import Received
from skeletonhunter.sinks.rows import STORED_TOPICS, frames
from tests.strategies import values_of
from tests.unit.sinks.messages import envelope_of, probe_train, received_examples


def test_the_topics_with_a_table_are_those_that_name_the_sink_as_their_reader() -> None:
    assert set(STORED_TOPICS) == {name for name, spec in topics().items() if "sink" in spec.consumers}


@pytest.mark.parametrize("topic", STORED_TOPICS)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_no_value_that_the_codec_takes_breaks_a_batch(topic: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(values_of(topic), min_size=1, max_size=4))
    received = [Received(value, 2**53, 1, place) for place, value in enumerate(values)]
    tables, refused = ClickHouseWriter(client=None, database="none").rows(topic, received)
    kept = [each for each in received if each not in [refusal.received for refusal in refused]]
    one_by_one = [frames(topic, [each]) for each in kept]
    for name, frame in tables.items():
        assert frame.height == sum(single[name].height for single in one_by_one)
        if one_by_one:
            assert frame.equals(pl.concat([single[name] for single in one_by_one]))


@pytest.mark.parametrize("topic", [topic for topic in STORED_TOPICS if topic != "probe-plans"])
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_only_free_integers_of_plans_can_be_too_large(topic: str, data: st.DataObject) -> None:
    value = data.draw(values_of(topic))
    _, refused = ClickHouseWriter(client=None, database="none").rows(topic, [Received(value, 2**53)])
    assert not refused


def test_a_message_that_no_column_can_hold_is_left_out_alone() -> None:
    good = received_examples("probe-plans")[0]
    budget = probing.ProbeBudget(targets_per_rnic=2**64 - 1)
    plan = good.value
    assert isinstance(plan, probing.ProbePlan)
    bad = Received(_replaced(plan, budget=budget), 0, 0, 8)
    tables, refused = ClickHouseWriter(client=None, database="none").rows("probe-plans", [good, bad, good])
    assert tables["probe_plans"].height == 2
    assert [refusal.received.offset for refusal in refused] == [8]
    assert "probe-plans" in refused[0].why


def test_every_row_carries_its_provenance() -> None:
    results = probing.ProbeResults(
        **envelope_of("probe-results", seq=7),
        src="c-1/r0",
        plan_version=3,
        results=(probe_train("c-2/r0"), probe_train("c-3/r0")),
    )
    frame = frames("probe-results", [Received(results, 1_700_000_000_000_000, 2, 41)])["probe_results"]
    assert frame["item"].to_list() == [0, 1]
    assert frame["seq"].to_list() == [7, 7]
    assert frame["kafka_partition"].to_list() == [2, 2]
    assert frame["kafka_offset"].to_list() == [41, 41]
    assert frame["clock_error_us"].to_list() == [10.0, 10.0]
    assert frame["dst"].to_list() == ["c-2/r0", "c-3/r0"]
    assert frame["rtt_us"].to_list() == [[12.5, 13.0], [12.5, 13.0]]


def test_null_is_unknown_and_a_column_that_is_missing_is_unknown_throughout() -> None:
    queue = telemetry.QueueColumns(port="eth1", queue=3, t_us=(1, 2), depth_bytes=(None, 0), dropped=(4, None))
    fields = envelope_of("switch-queues")
    message = telemetry.SwitchQueues(**_without_job(fields), switch="leaf-1", ports=(queue,))
    frame = frames("switch-queues", [Received(message, 5)])["switch_queues"]
    assert frame["depth_bytes"].to_list() == [None, 0]
    assert frame["dropped"].to_list() == [4, None]
    assert frame["ecn_marked"].to_list() == [None, None]
    assert frame["queue"].to_list() == ["3", "3"]
    assert frame["kafka_offset"].to_list() == [None, None]


def test_further_counters_stand_beside_their_names_sample_by_sample() -> None:
    rnic = telemetry.RnicColumns(
        rnic="r0", t_us=(1, 2), tx_bytes=(5, 6), rx_bytes=(7, None), counters={"cnp": (1, None), "ecn": (0, 2**64 - 1)}
    )
    plain = telemetry.RnicColumns(rnic="r1", t_us=(3,), tx_bytes=(8,), rx_bytes=(9,))
    message = telemetry.RnicCounters(**envelope_of("rnic-counters"), container="c-1", host="h-1", rnics=(rnic, plain))
    frame = frames("rnic-counters", [Received(message, 5)])["rnic_counters"]
    assert frame["rnic"].to_list() == ["r0", "r0", "r1"]
    assert frame["counter.name"].to_list() == [["cnp", "ecn"], ["cnp", "ecn"], []]
    assert frame["counter.value"].to_list() == [[1, 0], [None, 2**64 - 1], []]


def test_an_empty_snapshot_leaves_a_trace() -> None:
    message = telemetry.FlowTables(
        **_without_job(envelope_of("flow-tables")), host="h-1", rnic="r0", table="rnic", complete=True, flows=()
    )
    tables = frames("flow-tables", [Received(message, 5)])
    assert tables["flow_entries"].height == 0
    assert tables["flow_snapshots"]["flows"].to_list() == [0]


def test_each_pass_and_test_is_a_step_and_a_pass_without_tests_is_one_too() -> None:
    received = received_examples("incidents")
    incident = next(each.value for each in received if isinstance(each.value, diagnosis.Incident) and each.value.trace)
    bare = diagnosis.TracePass(pass_="monitor", assumption="none", tests=(), verdict="clean", reason="nothing silent")
    longer = _replaced(incident, trace=(*incident.trace, bare))
    steps = frames("incidents", [Received(longer, 5)])["localization_steps"]
    assert steps["pass_no"].to_list()[-1] == len(longer.trace)
    assert steps["test_no"].to_list()[-1] == 0
    assert steps["test"].to_list()[-1] is None
    assert steps.height == sum(max(1, len(each.tests)) for each in longer.trace)


def test_values_of_numpy_are_written_like_plain_ones() -> None:
    np = pytest.importorskip("numpy")
    step = telemetry.JobProgress(**envelope_of("job-progress"), step=np.int64(4), step_s=np.float64(2.5))
    frame = frames("job-progress", [Received(step, 5)])["job_progress"]
    assert frame["step"].to_list() == [4]
    assert frame["step_s"].to_list() == [2.5]


@pytest.mark.parametrize("topic", STORED_TOPICS)
def test_every_example_of_a_topic_becomes_rows_or_says_nothing(topic: str) -> None:
    valid = [name for name, example in examples()[topic].items() if example.is_valid]
    assert len(received_examples(topic)) == len(valid) > 0
    tables = frames(topic, received_examples(topic))
    assert sum(frame.height for frame in tables.values()) > 0


RENAMED = {
    "counters": "counter.name",
    "ports": "port",
    "rnics": "rnic",
    "results": "dst",
    "bursts": "bytes",
    "nodes": "node",
    "id": "node",
    "parallelism": "tp",
    "budget": "budget_round_s",
    "expected": "round_s",
    "baseline": "baseline_loss",
    "observed": "observed_loss",
    "sent": "observed_sent",
    "window_s": "observed_window_s",
    "loss": "observed_loss",
    "rtt_us": "observed_rtt_us",
    "pps_per_rnic": "budget_pps_per_rnic",
    "targets_per_rnic": "budget_targets_per_rnic",
    "end_us": "t_us",
    "links": "link",
    "candidates": "candidates.component",
    "evidence": "evidence.topic",
    "action": "action_kind",
    "target": "action_target",
    "why": "action_why",
    "pass_": "pass",
    "tests": "test_no",
    "excluded": "excluded.endpoint",
}
"""Fields that stand under another name, or whose parts have columns of their own."""


def _fields(hint: object, depth: int = 0) -> set[str]:
    """Names of the fields of a message and of its parts, the envelope aside."""
    if isinstance(hint, type) and issubclass(hint, envelope.Value):
        own = {name: inner for name, inner in get_type_hints(hint).items() if name not in ("v", "producer", "clock")}
        parts = [_fields(inner, depth + 1) for name, inner in own.items() if name not in STORED_AS_JSON]
        return set(own).union(*parts)
    return set().union(*(_fields(inner, depth) for inner in get_args(hint)))


LEFT_OUT = {"alert-deliveries": {"labels", "members", "over", "said", "told"}}
"""What nobody asks of: the memory that an alert sender goes on from."""

STORED_AS_JSON = ("groups", "ecmp", "turns", "coverage", "left_out", "extra")


@pytest.mark.parametrize("topic", STORED_TOPICS)
def test_every_field_of_a_message_has_a_column(topic: str) -> None:
    columns = {column for frame in frames(topic, received_examples(topic)).values() for column in frame.columns}
    columns |= {column.rpartition(".")[2] for column in columns}
    missing = {name for name in _fields(topics()[topic].value_type) if not {name, RENAMED.get(name)} & columns}
    assert missing == LEFT_OUT.get(topic, set())


def _without_job(fields: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in fields.items() if name not in ("job", "tenant")}


def _replaced(value: envelope.Value, **fields: object) -> envelope.Value:
    import msgspec

    return msgspec.structs.replace(value, **fields)
