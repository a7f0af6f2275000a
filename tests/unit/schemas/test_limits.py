"""Resource bombs are refused before they are parsed; what is large and honest is not."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.codec import BadRecord, decode
from schemas.limits import MessageLimits, excess
from skeletonhunter.reference.examples import examples

LIMITS = MessageLimits(elements=1000, text_bytes=1024)
ARRIVAL_US = 1_753_000_400_000_000


def bomb(raw: bytes, topic: str = "skeleton-updates") -> str:
    with pytest.raises(BadRecord) as caught:
        decode(topic, "j", raw, ARRIVAL_US)
    assert caught.value.reason == "too_large"
    return caught.value.detail


def test_a_skeleton_of_a_million_edges_is_refused_before_it_takes_memory() -> None:
    raw = b'{"v":1,"edges":[' + b",".join([b'["a","b","dp"]'] * 1_000_000) + b"]}"
    tracemalloc.start()
    try:
        assert "elements, expected at most 2000000" in bomb(raw)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("piece", [b"[]", b"{}", b"1", b'""', b"[[1]]"])
def test_huge_arrays_are_refused(piece: bytes) -> None:
    raw = b"[" + b",".join([piece] * (15_000_000 // (len(piece) + 1))) + b"]"
    assert "elements" in bomb(raw)


def test_a_very_long_text_is_refused_however_it_is_written() -> None:
    assert "a text of 100000 bytes" in bomb(b'{"v":1,"reason":"%b"}' % (b"x" * 100_000))
    assert "a text of 200002 bytes" in bomb(b'{"v":1,"reason":"%b"}' % (b'\\"' * 100_001))
    assert "a text of 100000 bytes" in bomb(b'{"v":1,"%b":"a\\nb"}' % (b"k" * 100_000))


def test_deep_nesting_is_refused_by_the_parser() -> None:
    for raw in (b"[" * 60_000, b'{"a":' * 60_000, b"[" * 60_000 + b"]" * 60_000):
        with pytest.raises(BadRecord, match="malformed_json"):
            decode("skeleton-updates", "j", raw, ARRIVAL_US)


def test_numbers_between_texts_are_no_text() -> None:
    wire = json.loads(bytes(examples()["rnic-counters"]["typical.valid"].value))
    count = 30_000
    wire["rnics"][0] |= {name: [1] * count for name, column in wire["rnics"][0].items() if isinstance(column, list)}
    raw = json.dumps(wire).encode()
    assert len(raw) > MessageLimits().text_bytes
    assert decode("rnic-counters", wire["job"], raw, ARRIVAL_US)


@given(st.lists(st.text('a"\\,:[{é', max_size=600), min_size=1), st.booleans())
def test_the_longest_text_is_measured_exactly(texts: list[str], wide: bool) -> None:
    raw = json.dumps([texts, "p" * 1025], ensure_ascii=wide).encode()
    longest = max(len(json.dumps(text, ensure_ascii=wide).encode()) - 2 for text in [*texts, "p" * 1025])
    assert excess(raw, MessageLimits(text_bytes=longest)) is None
    assert (
        excess(raw, MessageLimits(text_bytes=longest - 1))
        == f"a text of {longest} bytes, expected at most {longest - 1}"
    )


def test_limits_are_what_the_reader_sets() -> None:
    raw = json.dumps({"text": "x" * 2000}).encode()
    assert excess(raw, LIMITS) == "a text of 2000 bytes, expected at most 1024"
    assert excess(raw, MessageLimits(text_bytes=2000)) is None
    assert excess(b"[" * 1001, LIMITS) == "1001 elements, expected at most 1000"
