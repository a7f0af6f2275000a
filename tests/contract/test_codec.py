"""Bytes to values and back: what goes out comes in again, and whatever comes in is a value or a bad record."""

from __future__ import annotations

import json
import pickle
from typing import Any

import msgspec
import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import codec
from schemas.codec import BadRecord, decode, encode, key_of
from schemas.control import DeadLetter
from schemas.envelope import Message, Value
from schemas.telemetry import AgentHealth, RnicColumns, RnicCounters
from schemas.topics import topic, topics
from skeletonhunter.reference.examples import examples
from streams.sequencer import Sequencer
from tests.contract.malformed import ARRIVAL_US, MALFORMED, Malformed
from tests.strategies import spoiled, values_of

FAR_US = 2**53
TOPICS = sorted(topics())
ALL_TOPICS = [*TOPICS, "rnic-counters-dlq"]


def typical(topic_name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(bytes(examples()[topic_name]["typical.valid"].value))
    return value


def decoded(topic_name: str, wire: object) -> Value:
    key = examples()[topic_name]["typical.valid"].key
    return decode(topic_name, key, json.dumps(wire).encode(), ARRIVAL_US)


@pytest.mark.parametrize("topic_name", ALL_TOPICS)
@settings(max_examples=50)
@given(data=st.data())
def test_what_is_written_is_read_again(topic_name: str, data: st.DataObject) -> None:
    value = data.draw(values_of(topic_name))
    raw = encode(topic_name, value)
    key = value.key if isinstance(value, DeadLetter) else key_of(topic_name, value)
    again = decode(topic_name, key, raw, FAR_US)
    assert again == value
    assert encode(topic_name, again) == raw


@pytest.mark.parametrize("topic_name", ["rnic-counters", "agent-health", "device-events"])
@given(raw=st.binary(max_size=200))
def test_any_bytes_are_a_value_or_a_bad_record(topic_name: str, raw: bytes) -> None:
    with pytest.raises(BadRecord):
        decode(topic_name, "job", raw, ARRIVAL_US)


@pytest.mark.parametrize("topic_name", ALL_TOPICS)
@settings(max_examples=50)
@given(data=st.data())
def test_spoiled_messages_are_values_or_bad_records(topic_name: str, data: st.DataObject) -> None:
    """One field of a good message, anywhere in it, becomes any JSON; or some bytes of it any others."""
    wire = typical(topic_name.replace("rnic-counters-dlq", "dead-letters"))
    raw = bytearray(orjson.dumps(data.draw(spoiled(wire))))
    for _ in range(data.draw(st.integers(0, 2))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        value = decode(topic_name, data.draw(st.sampled_from(["llm-70b", "pod-7", None])), bytes(raw), ARRIVAL_US)
    except BadRecord as bad:
        assert bad.reason in codec.REASONS
        assert bad.detail
    else:
        assert decode(topic_name, getattr(value, topic(topic_name).key), encode(topic_name, value), ARRIVAL_US) == value


@pytest.mark.parametrize("malformed", MALFORMED, ids=lambda malformed: malformed.name)
def test_malformed_records_are_refused_with_their_reason(malformed: Malformed) -> None:
    sequencer = Sequencer()

    def take(raw: bytes) -> None:
        value = decode(malformed.topic, malformed.key, raw, ARRIVAL_US)
        assert isinstance(value, Message)
        sequencer.admit(malformed.topic, value)

    if malformed.before:
        take(malformed.before)
    with pytest.raises(BadRecord) as caught:
        take(malformed.raw)
    assert (caught.value.reason, malformed.words in caught.value.detail) == (malformed.reason, True), caught.value


def test_there_are_enough_malformed_records_of_every_reason_but_size() -> None:
    assert len({malformed.name for malformed in MALFORMED}) == len(MALFORMED) >= 20
    elsewhere = {"too_large", "too_many", "foreign_producer", "delivery_failed"}
    assert {malformed.reason for malformed in MALFORMED} == set(codec.REASONS) - elsewhere


def test_a_record_that_is_too_large_is_not_even_parsed() -> None:
    raw = json.dumps(typical("rnic-counters")).encode()
    assert decode("rnic-counters", "llm-70b", raw, ARRIVAL_US, max_bytes=len(raw))
    with pytest.raises(BadRecord, match=f"too_large: rnic-counters: {len(raw)} bytes, expected at most {len(raw) - 1}"):
        decode("rnic-counters", "llm-70b", raw, ARRIVAL_US, max_bytes=len(raw) - 1)


def test_an_old_message_is_read_as_the_newest_version() -> None:
    old = json.loads(bytes(examples()["agent-health"]["version-1.valid"].value))
    assert old["v"] == 1 and "plan_version" not in old
    value = decode("agent-health", "pod-7", json.dumps(old).encode(), ARRIVAL_US)
    assert isinstance(value, AgentHealth)
    assert (value.v, value.plan_version, value.agent) == (2, None, old["agent"])
    assert orjson.loads(encode("agent-health", value))["v"] == 2


def test_every_version_but_the_newest_can_be_lifted() -> None:
    steps = {(name, version) for name, spec in topics().items() for version in spec.versions if version != spec.newest}
    assert set(codec._UPGRADES) == steps


def test_another_version_than_the_newest_is_not_written() -> None:
    value = decoded("agent-health", typical("agent-health"))
    with pytest.raises(ValueError, match="agent-health: the value says v 1, but version 2 is written"):
        encode("agent-health", msgspec.structs.replace(value, v=1))


def test_the_last_of_two_equal_names_counts() -> None:
    raw = json.dumps(typical("job-progress")).encode().replace(b'"step": 1200', b'"step": 7, "step": 1200')
    assert decode("job-progress", "llm-70b", raw, ARRIVAL_US) == decoded("job-progress", typical("job-progress"))


def test_a_key_may_be_bytes_even_bad_ones() -> None:
    raw = json.dumps(typical("job-progress")).encode()
    assert decode("job-progress", b"llm-70b", raw, ARRIVAL_US)
    with pytest.raises(
        BadRecord, match=r"wrong_key: job-progress: key is '\\\\xff', expected the value's job 'llm-70b'"
    ):
        decode("job-progress", b"\xff", raw, ARRIVAL_US)


def test_the_future_begins_a_minute_after_arrival() -> None:
    raw = json.dumps(typical("job-progress")).encode()
    t_us = typical("job-progress")["t_us"]
    assert decode("job-progress", "llm-70b", raw, t_us - codec.FUTURE_BOUND_US)
    with pytest.raises(BadRecord, match="future_timestamp"):
        decode("job-progress", "llm-70b", raw, t_us - codec.FUTURE_BOUND_US - 1)


def test_a_detail_does_not_repeat_a_megabyte() -> None:
    wire = typical("job-progress") | {"step": "x"}
    with pytest.raises(BadRecord) as caught:
        decoded("device-events", typical("device-events") | {"severity": "x" * 1_000_000})
    assert len(caught.value.detail) < 1100
    with pytest.raises(BadRecord, match="Expected `int`, got `str`"):
        decoded("job-progress", wire)


def test_a_bad_record_survives_a_trip_to_another_process() -> None:
    bad = BadRecord("wrong_key", "key is 1")
    again = pickle.loads(pickle.dumps(bad))
    assert (again.reason, again.detail, str(again)) == (bad.reason, bad.detail, str(bad))


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (np.array([1, 2**63], dtype=np.uint64), (1, 2**63)),
        (np.arange(6, dtype=np.int64)[::3], (0, 3)),
        (np.array([5, 6], dtype=np.int32), (5, 6)),
        ([np.int64(5), np.uint8(6)], (5, 6)),
        (np.array([5, None], dtype=object), (5, None)),
    ],
)
def test_numpy_columns_go_straight_to_json(column: Any, expected: tuple[int | None, ...]) -> None:
    counters = decoded("rnic-counters", typical("rnic-counters"))
    assert isinstance(counters, RnicCounters)
    rnic = RnicColumns(rnic="mlx5_0", t_us=(1, 2), tx_bytes=column, rx_bytes=column, counters={"ecn": column})
    again = decoded(
        "rnic-counters", orjson.loads(encode("rnic-counters", msgspec.structs.replace(counters, rnics=(rnic,))))
    )
    assert isinstance(again, RnicCounters)
    assert (again.rnics[0].tx_bytes, again.rnics[0].counters) == (expected, {"ecn": expected})


def test_numpy_floats_keep_their_digits_and_nan_is_null() -> None:
    windows = decoded("pair-windows", typical("pair-windows"))
    raw = encode("pair-windows", msgspec.structs.replace(windows, rtt_us=np.array([0.1 + 0.2, np.nan])))
    assert orjson.loads(raw)["rtt_us"] == [0.1 + 0.2, None]


def test_what_json_has_no_word_for_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="object"):
        encode(
            "device-events",
            msgspec.structs.replace(decoded("device-events", typical("device-events")), values={"a": object()}),
        )


def test_the_codec_does_not_load_numpy() -> None:
    """The agent on the hosts must stay small."""
    import subprocess
    import sys

    program = "import sys, schemas.codec; print('numpy' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "False\n"
    )


def test_unknown_fields_are_ignored_everywhere() -> None:
    wire = typical("probe-results")
    plain = decoded("probe-results", wire)
    wire["new"], wire["producer"]["new"], wire["results"][0]["new"] = {"a": 1}, [1], None
    assert decoded("probe-results", wire) == plain


def test_what_is_no_list_beside_the_counters_is_ignored_too() -> None:
    wire = typical("rnic-counters")
    plain = decoded("rnic-counters", wire)
    wire["rnics"][0] |= {"driver": "mlx5_core", "speed": 400, "unit": None, "more": {"a": [1]}}
    assert decoded("rnic-counters", wire) == plain


def test_a_further_counter_can_not_take_the_place_of_a_column() -> None:
    with pytest.raises(ValueError, match="a further counter must not be called 'tx_bytes'"):
        RnicColumns(rnic="r", t_us=(), tx_bytes=(), rx_bytes=(), counters={"tx_bytes": ()})


def test_a_topic_that_is_none_is_a_bug_not_a_bad_record() -> None:
    for name in ("no-such-topic", "no-such-topic-dlq"):
        with pytest.raises(KeyError, match=name):
            decode(name, "k", b"{}", ARRIVAL_US)
