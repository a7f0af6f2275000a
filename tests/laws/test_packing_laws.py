"""A packed message says what the message says: its trains to the bit, and the whole of it when it comes again."""

from __future__ import annotations

import re
from array import array
from pathlib import Path

import msgspec
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localization.detection import DetectionEngine
from localization.parameters import DetectionParameters
from schemas import packing, quick
from schemas.codec import BadRecord, decode, encode
from schemas.folding import Emission, Observation, TimeReached
from schemas.instants import SECOND_US
from schemas.packing import PackedResults, Packer, same_content, unpacked
from schemas.probing import ProbeResult, ProbeResults
from streams.fold import StageFold
from streams.parameters import Parameters
from streams.stages import STAGES
from tests.laws.test_quick_laws import NUMBER, ODD
from tests.laws.test_quick_laws import plain as read_plainly
from tests.small_fabric import BEGIN_US, envelope

TOPIC = "probe-results"
KINDS = ("rdma", "tcp", "udp", "traceroute")
EXAMPLE = Path(__file__).parents[2] / "schemas/examples/probe-results/typical.valid.json"
TYPICAL: bytes = orjson.dumps(orjson.loads(EXAMPLE.read_bytes())["value"])


def train(drawn: tuple[int, int, int, int, int | None, float | None]) -> ProbeResult:
    dst, kind, sent, lost, sport, delay = drawn
    lost = min(lost, sent)
    outcome = "not_sent" if not sent else "lost" if lost == sent else "reply"
    return ProbeResult(
        dst=f"c{dst}/mlx5_0",
        t_us=BEGIN_US + 1000 * dst,
        kind=KINDS[kind],  # type: ignore[arg-type]
        outcome=outcome,  # type: ignore[arg-type]
        sent=sent,
        lost=lost,
        rtt_us=(7.5, 1e-3, 81.25)[: min(sent - lost, dst)],
        prober_delay_us=delay,
        sport=sport,
        path=(None, (), ("up", f"down-{dst}"))[dst % 3],
    )


trains = st.tuples(
    *(st.integers(0, 4), st.integers(0, 3), st.sampled_from([0, 1, 3, 200]), st.integers(0, 3)),
    *(st.none() | st.integers(0, 65535), st.none() | st.floats(0, 100)),
).map(train)


def message(results: tuple[ProbeResult, ...], second: int = 1, seq: int = 1) -> ProbeResults:
    body = envelope("agent:c9/probe-results", float(second), seq)
    return ProbeResults(**body, job="j", src="c9/mlx5_0", plan_version=1, results=results)


def said(packed: PackedResults) -> tuple[object, ...]:
    links = [None if route is None else route.links for route in packed.routes]
    return packed.t_us, packed.producer, packed.src, packed.dst, links, packed.numbers, packed.samples


def plain(value: ProbeResults) -> tuple[object, ...]:
    """What ``said`` is to be, by a loop over the trains."""
    kept = [each for each in value.results if each.sent and each.kind != "traceroute"]
    columns = [[each.t_us, each.sent, each.lost, each.sport or 0, len(each.rtt_us)] for each in kept]
    numbers = array("q", [number for row in columns for number in row]).tobytes()
    samples = array("d", [rtt for each in kept for rtt in each.rtt_us]).tobytes()
    ends = tuple(each.dst for each in kept), [each.path for each in kept]
    return value.t_us, value.producer, value.src, *ends, numbers, samples


@given(st.lists(trains, max_size=6))
def test_what_is_read_or_packed_is_what_the_trains_say(results: list[ProbeResult]) -> None:
    value, packer = message(tuple(results)), Packer()
    for packed in (*packer.read(TOPIC, [encode(TOPIC, value)]), packer.pack(value)):
        assert isinstance(packed, PackedResults)
        assert said(packed) == plain(value)
        assert unpacked(packed) == value


@given(st.lists(st.lists(trains, max_size=3), max_size=5), st.sets(st.integers(0, 4)))
def test_messages_read_together_are_read_as_each_by_itself(all_results: list[list[ProbeResult]], bad: set[int]) -> None:
    raws = [encode(TOPIC, message(tuple(results))) for results in all_results]
    raws = [raw[: len(raw) // 2] if n in bad else raw for n, raw in enumerate(raws)]
    for raw, packed in zip(raws, Packer().read(TOPIC, raws), strict=True):
        (alone,) = Packer().read(TOPIC, [raw])
        assert (packed is None) == (alone is None)
        if packed is not None:
            assert isinstance(packed, PackedResults) and isinstance(alone, PackedResults)
            assert said(packed) == said(alone) and unpacked(packed) == unpacked(alone)


def same(raw: bytes) -> None:
    """Read packed as it is read otherwise, or left to the plain way."""
    (packed,) = Packer().read(TOPIC, [raw])
    if packed is None:
        assert quick.read(TOPIC, raw) is None
        return
    value = read_plainly(TOPIC, raw)
    assert isinstance(packed, PackedResults) and isinstance(value, ProbeResults)
    assert unpacked(packed) in (value, None) and same_content(packed, packed)
    if max((each.sent for each in value.results), default=0) <= packing.MOST:
        assert said(packed) == plain(value)


@given(st.data())
def test_a_message_with_bytes_changed_is_read_the_same(data: st.DataObject) -> None:
    low = data.draw(st.integers(0, len(TYPICAL)))
    high = data.draw(st.integers(low, min(len(TYPICAL), low + 20)))
    same(TYPICAL[:low] + data.draw(st.one_of(st.binary(max_size=8), st.sampled_from(ODD))) + TYPICAL[high:])


@given(st.data())
def test_a_message_with_another_number_is_read_the_same(data: st.DataObject) -> None:
    number = data.draw(st.sampled_from(list(NUMBER.finditer(TYPICAL))))
    other = data.draw(st.one_of(st.integers().map(lambda n: b"%d" % n), st.sampled_from(ODD)))
    same(TYPICAL[: number.start()] + other + TYPICAL[number.end() :])


@pytest.mark.parametrize("path", [b"[1]", b'["a",null]', b'"a"', b"{}", b"[[]]"])
def test_a_path_that_is_none_is_refused(path: bytes) -> None:
    raw = re.sub(rb'"path":\[[^\]]*\]', b'"path":' + path, TYPICAL)
    assert raw != TYPICAL and Packer().read(TOPIC, [raw]) == [None]
    with pytest.raises(BadRecord, match="invalid_value"):
        decode(TOPIC, "llm-70b", raw, 2**53)


def test_of_a_path_that_is_given_twice_the_last_counts() -> None:
    usual = encode(TOPIC, message(tuple(train((n, 0, 200, 0, 50_000, 1.0)) for n in range(3))))
    raw = usual.replace(b'"path":', b'"path":[1],"path":')
    same(raw)
    fold = StageFold(STAGES["detection"], Parameters())
    first, again, other = fold.read(TOPIC, [raw, raw, raw + b" "])
    assert isinstance(first, PackedResults) and isinstance(again, PackedResults) and isinstance(other, PackedResults)
    assert unpacked(first) is None
    assert fold.admit(TOPIC, "j", first) == "new"
    assert fold.admit(TOPIC, "j", again) == "duplicate"
    with pytest.raises(BadRecord, match="conflicting_seq"):
        fold.admit(TOPIC, "j", other)


def test_a_message_that_comes_again_is_compared_in_full() -> None:
    results = tuple(train((n, 0, 200, 0, 50_000, 1.0)) for n in range(3))
    slower = (msgspec.structs.replace(results[0], prober_delay_us=2.0), *results[1:])
    one, other = message(results), message(slower)
    raw, spaced = encode(TOPIC, one), orjson.dumps(orjson.loads(encode(TOPIC, one)), option=orjson.OPT_INDENT_2)
    fold = StageFold(STAGES["detection"], Parameters())
    first, same_again, changed = fold.read(TOPIC, [raw, spaced, encode(TOPIC, other)])
    assert all(isinstance(each, PackedResults) for each in (first, same_again, changed))
    assert same_content(first, same_again) and same_content(first, one) and not same_content(first, changed)
    assert fold.admit(TOPIC, "j", first) == "new"
    assert fold.admit(TOPIC, "j", same_again) == "duplicate"
    with pytest.raises(BadRecord, match="conflicting_seq"):
        fold.admit(TOPIC, "j", changed)


def sent_by(seconds: list[ProbeResults], packer: Packer) -> list[bytes]:
    """What detection says when each message comes twice in its second."""
    engine = DetectionEngine(DetectionParameters())
    state, sent = engine.start("j"), list[Emission]()
    for second, value in enumerate(seconds):
        for _ in range(2):
            engine.step(state, Observation(TOPIC, packer.pack(value)))
        sent += engine.step(state, TimeReached(BEGIN_US + (second + 1) * SECOND_US))[1]
    return [encode(emission.topic, emission.value) for emission in sent]


def test_what_is_forgotten_in_between_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [message(tuple(train((n, 0, 9, 0, n, None)) for n in (4, 1, 2, 4, 0, 4)), s, s) for s in range(1, 5)]
    expected = sent_by(seconds, Packer())
    monkeypatch.setattr(packing, "REMEMBERED", 1)
    assert sent_by(seconds, Packer()) == expected
    assert len(expected) == len(seconds)


def test_a_train_of_more_packets_than_there_are_is_cut_and_stops_nobody() -> None:
    many = msgspec.structs.replace(train((2, 0, 200, 1, 7, None)), sent=2**64 - 1)
    raw = encode(TOPIC, message((many,)))
    (value,) = Packer().read(TOPIC, [raw])
    assert isinstance(value, PackedResults)
    engine = DetectionEngine(DetectionParameters())
    state = engine.start("j")
    engine.step(state, Observation(TOPIC, value))
    (window,) = engine.step(state, TimeReached(BEGIN_US + SECOND_US))[1]
    assert window.value.sent == (packing.MOST,)  # type: ignore[attr-defined]
