"""Records that must become dead letters, each with its reason: for the codec's tests and for the pipeline's.

Whoever sends them through Kafka expects exactly these dead letters and nothing else disturbed. They are made from the
valid examples under ``schemas/examples``; ``before`` is a good record of the same key that must be sent first.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from schemas.codec import Reason
from skeletonhunter.reference.examples import examples

ARRIVAL_US = 1_753_000_400_000_000
"""An arrival after all examples; a record of the year 2255 is in its future and in that of every clock."""

YEAR_2255_US = 2**53 - 1


class Malformed(NamedTuple):
    """One record that can't be used: expect ``reason``, and ``words`` in the detail."""

    name: str
    topic: str
    key: str | None
    raw: bytes
    reason: Reason
    words: str
    before: bytes | None = None


def _good(topic: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(bytes(examples()[topic]["typical.valid"].value))
    return value


def _key(topic: str) -> str:
    return str(examples()[topic]["typical.valid"].key)


def _raw(topic: str) -> bytes:
    return json.dumps(_good(topic)).encode()


def _changed(topic: str, change: Callable[[dict[str, Any]], object]) -> bytes:
    value = copy.deepcopy(_good(topic))
    change(value)
    return json.dumps(value).encode()


def _set(*path: str | int, to: object) -> Callable[[dict[str, Any]], object]:
    def change(value: Any) -> None:
        for step in path[:-1]:
            value = value[step]
        value[path[-1]] = to

    return change


def _invalid(name: str, topic: str, words: str, change: Callable[[dict[str, Any]], object]) -> Malformed:
    return Malformed(name, topic, _key(topic), _changed(topic, change), "invalid_value", words)


def _spoiled(name: str, topic: str, raw: bytes, reason: Reason, words: str) -> Malformed:
    return Malformed(name, topic, _key(topic), raw, reason, words)


_PROBES, _COUNTERS, _MAP = "probe-results", "rnic-counters", "endpoint-map"

MALFORMED: tuple[Malformed, ...] = (
    _spoiled("empty record", _PROBES, b"", "malformed_json", "empty"),
    _spoiled("truncated JSON", _PROBES, _raw(_PROBES)[:200], "malformed_json", "line 1 column"),
    _spoiled("two documents", _PROBES, _raw(_PROBES) * 2, "malformed_json", "after document"),
    _spoiled(
        "not UTF-8", "device-events", _raw("device-events").replace(b"Health", b"\xff\xfe"), "malformed_json", "UTF-8"
    ),
    _spoiled(
        "lone surrogate",
        "device-events",
        _raw("device-events").replace(b"Health", b"\\ud800"),
        "malformed_json",
        "surrogate",
    ),
    _spoiled("NaN", _PROBES, _raw(_PROBES).replace(b"12.8", b"NaN"), "malformed_json", "unexpected"),
    _spoiled("infinite number", _PROBES, _raw(_PROBES).replace(b"12.8", b"1e999"), "malformed_json", "infinity"),
    _spoiled("nested too deep", "device-events", b"[" * 5000 + b"]" * 5000, "malformed_json", "depth"),
    _spoiled("text, not JSON", _COUNTERS, b"mlx5_0 tx_bytes 918273645", "malformed_json", "column 1"),
    _spoiled("not an object", _COUNTERS, b"[1, 2, 3]", "not_an_object", "got list"),
    _spoiled("null", _MAP, b"null", "not_an_object", "got NoneType"),
    _spoiled(
        "unknown version", _PROBES, _changed(_PROBES, _set("v", to=99)), "unknown_version", "v is 99, expected one of 1"
    ),
    _spoiled("version as text", _PROBES, _changed(_PROBES, _set("v", to="1")), "unknown_version", "v is '1'"),
    _spoiled("boolean version", _PROBES, _changed(_PROBES, _set("v", to=True)), "unknown_version", "v is True"),
    _spoiled("no version", _PROBES, _changed(_PROBES, lambda value: value.pop("v")), "unknown_version", "v is None"),
    _spoiled(
        "future time stamp", _PROBES, _changed(_PROBES, _set("t_us", to=YEAR_2255_US)), "future_timestamp", "ahead"
    ),
    Malformed("wrong key", _PROBES, "another-job", _raw(_PROBES), "wrong_key", "key is 'another-job', expected"),
    Malformed("no key", _COUNTERS, None, _raw(_COUNTERS), "wrong_key", "key is None, expected"),
    _invalid("missing field", _PROBES, "missing required field `src`", lambda value: value.pop("src")),
    _invalid("no producer", _COUNTERS, "missing required field `producer`", lambda value: value.pop("producer")),
    _invalid("wrong type", _PROBES, "Expected `array`, got `str` - at `$.results`", _set("results", to="none")),
    _invalid(
        "negative counter", _COUNTERS, ">= 0 - at `$.rnics[0].tx_bytes[0]`", _set("rnics", 0, "tx_bytes", 0, to=-5)
    ),
    _invalid("huge number", _COUNTERS, "at `$.rnics[0].rx_bytes[1]`", _set("rnics", 0, "rx_bytes", 1, to=10**30)),
    _invalid("boolean counter", _COUNTERS, "got `bool`", _set("rnics", 0, "tx_bytes", 0, to=True)),
    _invalid(
        "wrong further counter",
        _COUNTERS,
        "at `$.rnics[0].out_of_buffer[1]`",
        _set("rnics", 0, "out_of_buffer", 1, to="0"),
    ),
    _invalid(
        "columns of unequal length", _COUNTERS, "one length: t_us has 2", _set("rnics", 0, "rx_bytes", to=[1, 2, 3])
    ),
    _invalid("negative instant", _PROBES, "at `$.t_us`", _set("t_us", to=-1)),
    _invalid("wrong outcome", _PROBES, "got 'agent_silent'", _set("results", 0, "outcome", to="agent_silent")),
    _invalid("lost more than sent", _PROBES, "lost 11 is more than sent 10", _set("results", 0, "lost", to=11)),
    _invalid("more samples than sent", _PROBES, "RTT samples of only", _set("results", 0, "rtt_us", to=[1.0] * 11)),
    _invalid("outcome against counts", _PROBES, "contradicts", _set("results", 0, "outcome", to="lost")),
    _invalid("burst ends before it starts", "rnic-bursts", "is before start_us", _set("bursts", 0, "end_us", to=1)),
    _invalid(
        "endpoint not container/rnic", _MAP, "must be <container>/<rnic>", _set("endpoints", 0, "endpoint", to="x")
    ),
    _invalid("rank twice", _MAP, "a rank is listed twice", _set("endpoints", 1, "rank", to=0)),
    _invalid("unknown state", _MAP, "Expected one of 'starting', 'running', 'ended'", _set("state", to="gone")),
    _invalid("link to unknown node", "fabric-map", "not in nodes", _set("links", 0, "a", to="nowhere/p0")),
    _invalid("table of an unnamed RNIC", "flow-tables", "must name its rnic", _set("table", to="rnic")),
    _invalid(
        "values too deep", "device-events", "nested deeper", _set("values", "a", to=[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]])
    ),
    Malformed(
        "sequence number used twice",
        _COUNTERS,
        _key(_COUNTERS),
        _changed(_COUNTERS, _set("rnics", to=[])),
        "conflicting_seq",
        "used seq 60 for other content before",
        before=_raw(_COUNTERS),
    ),
)
"""At least twenty different ways of being wrong; names are unique."""
