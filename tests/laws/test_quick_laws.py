"""What is read in one pass is what the plain way reads, byte by byte of the message changed in any way."""

from __future__ import annotations

import re
from pathlib import Path

import orjson
from hypothesis import given
from hypothesis import strategies as st

from schemas import quick
from schemas.codec import BadRecord, convert
from schemas.envelope import Value
from schemas.topics import topic as schema_of

EXAMPLES = Path(__file__).parents[2] / "schemas/examples"
TOPICS = ("agent-health", "flow-tables", "pair-windows", "probe-results", "rnic-bursts", "switch-queues")
EACH = [(topic, path) for topic in TOPICS for path in sorted((EXAMPLES / topic).glob("*.json"))]
MESSAGES = [(topic, orjson.dumps(orjson.loads(path.read_bytes())["value"])) for topic, path in EACH]
ODD = (
    b"1e999",
    b"18446744073709551616",
    b"9223372036854775808",
    b"-9223372036854775809",
    b"1.0",
    b"1e2",
    b"NaN",
    b'"\\u0041"',
    b"null",
    b"[]",
)
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")


def plain(topic: str, raw: bytes) -> Value | None:
    """As the codec reads what is not read in one pass; None = it is refused."""
    try:
        wire = orjson.loads(raw)
        key = wire.get(schema_of(topic).key) if isinstance(wire, dict) else None
        return convert(topic, key, wire, 2**53)
    except (BadRecord, orjson.JSONDecodeError):
        return None


def same(topic: str, raw: bytes) -> None:
    value = quick.read(topic, raw)
    assert value is None or value == plain(topic, raw)


@given(st.data())
def test_a_message_with_bytes_changed_is_read_the_same_or_left_to_the_plain_way(data: st.DataObject) -> None:
    topic, raw = data.draw(st.sampled_from(MESSAGES))
    low = data.draw(st.integers(0, len(raw)))
    high = data.draw(st.integers(low, min(len(raw), low + 20)))
    same(topic, raw[:low] + data.draw(st.one_of(st.binary(max_size=8), st.sampled_from(ODD))) + raw[high:])


@given(st.data())
def test_a_message_with_another_number_is_read_the_same_or_left_to_the_plain_way(data: st.DataObject) -> None:
    topic, raw = data.draw(st.sampled_from(MESSAGES))
    number = data.draw(st.sampled_from(list(NUMBER.finditer(raw))))
    other = data.draw(st.one_of(st.integers().map(lambda n: b"%d" % n), st.sampled_from(ODD)))
    same(topic, raw[: number.start()] + other + raw[number.end() :])


def is_ordinary(topic: str, raw: bytes) -> bool:
    """Of the newest version, without what the parsers see differently."""
    return orjson.loads(raw)["v"] == schema_of(topic).newest and raw.isascii() and b"\\" not in raw


def test_ordinary_messages_are_read_in_one_pass() -> None:
    good = [(topic, raw) for topic, raw in MESSAGES if plain(topic, raw) is not None and is_ordinary(topic, raw)]
    assert {topic for topic, _ in good} == set(TOPICS)
    assert all(quick.read(topic, raw) == plain(topic, raw) for topic, raw in good)


def test_an_integer_that_only_one_parser_can_read_is_left_to_the_plain_way() -> None:
    topic, raw = next(each for each in MESSAGES if each[0] == "probe-results" and plain(*each) is not None)
    seq = re.sub(rb'"seq":\s*\d+', b'"seq":18446744073709551616', raw)
    assert quick.read(topic, seq) is None and plain(topic, seq) is None
