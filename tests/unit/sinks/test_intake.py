"""Records become values, dead letters of ours, or somebody else's; nothing is lost in between."""

from __future__ import annotations

import json

import pytest

from schemas import codec, telemetry
from schemas.topics import topics
from skeletonhunter.reference.examples import examples
from skeletonhunter.sinks.intake import REMEMBERED, Intake
from skeletonhunter.sinks.rows import STORED_TOPICS
from streams.records import Record
from streams.stages import dead_letter_stage
from tests.unit.sinks.messages import T0_US, envelope_of

CASES = [(topic, name) for topic in STORED_TOPICS for name in examples()[topic]]


def record_of(topic: str, name: str) -> Record:
    example = examples()[topic][name]
    key = None if example.key is None else example.key.encode()
    return Record(topic, 0, 5, key, bytes(example.value), example.arrival_us)


def step(seq: int, number: int) -> Record:
    value = telemetry.JobProgress(**envelope_of("job-progress", seq=seq), step=number, step_s=1.5)
    return Record("job-progress", 0, number, b"job-1", codec.encode("job-progress", value), T0_US)


@pytest.mark.parametrize(("topic", "name"), CASES)
def test_every_example_lands_where_it_belongs(topic: str, name: str) -> None:
    arrivals = Intake().read([record_of(topic, name)])
    example = examples()[topic][name]
    if example.is_valid:
        assert [each.offset for each in arrivals.received[topic]] == [5]
    elif dead_letter_stage(topic) is None:
        assert [(record.offset, error.reason) for record, error in arrivals.ours] == [(5, example.reason)]
    else:
        assert (arrivals.received, arrivals.ours, arrivals.left_to_stages) == ({}, [], 1)


def test_some_topics_are_read_by_no_stage_so_that_the_sink_has_to_report_them() -> None:
    ours = {topic for topic in STORED_TOPICS if dead_letter_stage(topic) is None}
    assert {"job-progress", "operator-feedback", "incidents", "probe-plans"} <= ours < set(topics())


def test_a_number_used_again_for_other_content_is_refused_and_a_repetition_is_not() -> None:
    intake = Intake()
    first = intake.read([step(1, 1), step(1, 1)])
    assert len(first.received["job-progress"]) == 2
    second = intake.read([step(1, 2), step(2, 3)])
    assert [error.reason for _, error in second.ours] == ["conflicting_seq"]
    assert len(second.received["job-progress"]) == 1


def test_conclusions_of_stages_may_change_their_mind() -> None:
    name = next(name for name, example in examples()["incidents"].items() if example.is_valid)
    record = record_of("incidents", name)
    changed = json.loads(record.value) | {"confidence": 0.01}
    arrivals = Intake().read([record, Record("incidents", 0, 6, record.key, json.dumps(changed).encode(), T0_US * 2)])
    assert len(arrivals.received["incidents"]) == 2


def test_memory_of_numbers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skeletonhunter.sinks.intake.REMEMBERED", 10)
    intake = Intake()
    intake.read([step(seq, seq) for seq in range(100)])
    assert len(intake._contents) == 10 < REMEMBERED


def test_a_record_beyond_the_size_bound_is_not_parsed() -> None:
    arrivals = Intake(max_bytes=10).read([step(1, 1)])
    assert [error.reason for _, error in arrivals.ours] == ["too_large"]
