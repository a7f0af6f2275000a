"""Bytes to values and back: orjson for JSON, msgspec for types; one clear reason for everything that can't be read.

``decode`` accepts every version listed in the topic's YAML and lifts older ones to the newest, so engines know one
version only. ``encode`` writes the newest one; numpy arrays and scalars in a value go to JSON directly, NaN as null
(a value that could not be read is null, never 0).

Edge cases. Integers reach to 2^64 - 1 (instants to 2^53 - 1, exact in every consumer); a larger one, a fraction, an
exponent or a boolean is no integer. Of a name given twice in one object the last counts. NaN, Infinity, lone
surrogates and bytes that are not UTF-8 are no JSON. Unknown fields are ignored, so old readers take new data.

Cost on one core: a probe message of 1 kB with five trains is read in 8 us and written in 3 us; 10 s of counters of
8 RNICs (4.5 kB) in 33 us and 7 us.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec
import orjson

from schemas import quick, telemetry
from schemas.envelope import Value
from schemas.limits import MessageLimits, excess
from schemas.refusals import explain
from schemas.topics import Topic, topic

Reason = Literal[
    "malformed_json",
    "not_an_object",
    "unknown_version",
    "invalid_value",
    "wrong_key",
    "future_timestamp",
    "conflicting_seq",
    "too_large",
    "too_many",
    "foreign_producer",
    "delivery_failed",
]
"""Why a record became a dead letter."""

REASONS: dict[Reason, str] = {
    "malformed_json": "the bytes are not JSON, or not UTF-8",
    "not_an_object": "the JSON is not an object",
    "unknown_version": "`v` is none of the topic's versions",
    "invalid_value": "a field is missing, has the wrong type, is out of range or contradicts another",
    "wrong_key": "the Kafka key is not the one that the value calls for",
    "future_timestamp": "`t_us` is more than a minute ahead of the record's arrival",
    "conflicting_seq": "the producer used the sequence number before for other content",
    "too_large": "the record has more bytes or elements, or a longer text, than are parsed",
    "too_many": "there are more keys in the partition, or producers and endpoints under the key, than are followed",
    "foreign_producer": "the producer speaks for what is another's: the endpoint map gives it to another host, two "
    "boots or agents take turns for half a minute, or it is another tenant's",
    "delivery_failed": "the record is good, but no attempt could deliver its alert",
}
"""The reasons in words."""

FUTURE_BOUND_US = 60_000_000
"""A message stamped further ahead of its arrival than this is not believed."""

MAX_BYTES = 16 * 1024 * 1024
"""A record larger than this is not parsed, unless the reader sets another bound: JSON grows tenfold in memory."""

LIMITS = MessageLimits()
"""What a message may cost, unless the reader sets other bounds."""

DETAIL_LENGTH = 1000
"""Characters of a detail: a wrong value of a megabyte is not repeated in full."""

Json = dict[str, Any]


class BadRecord(ValueError):
    """A record that can't be used. ``reason`` is machine-readable, ``detail`` says field and expectation."""

    def __init__(self, reason: Reason, detail: str) -> None:
        self.reason: Reason = reason
        self.detail = detail if len(detail) <= DETAIL_LENGTH else f"{detail[:DETAIL_LENGTH]} ..."
        super().__init__(f"{reason}: {self.detail}")

    def __reduce__(self) -> tuple[type[BadRecord], tuple[Reason, str]]:
        return BadRecord, (self.reason, self.detail)


def decode(
    topic_name: str,
    key: str | bytes | None,
    raw: bytes,
    arrival_us: int,
    max_bytes: int = MAX_BYTES,
    limits: MessageLimits = LIMITS,
) -> Value:
    """The value in ``raw``, checked against the topic's schema, its key and its arrival.

    Raises:
        BadRecord: with the reason.
        KeyError: there is no such topic.
    """
    check_size(topic_name, raw, max_bytes, limits)
    return complete(topic_name, key, raw, arrival_us, quick.read(topic_name, raw))


def is_small(raw: bytes, max_bytes: int, limits: MessageLimits) -> bool:
    """Whether ``check_size`` lets it pass."""
    return len(raw) <= max_bytes and excess(raw, limits) is None


def check_size(topic_name: str, raw: bytes, max_bytes: int, limits: MessageLimits) -> None:
    """Refuses what may not even be looked at.

    Raises:
        BadRecord: ``too_large``.
    """
    if len(raw) > max_bytes:
        raise BadRecord("too_large", f"{topic_name}: {len(raw)} bytes, expected at most {max_bytes}")
    beyond = excess(raw, limits)
    if beyond is not None:
        raise BadRecord("too_large", f"{topic_name}: {beyond}")


def complete(topic_name: str, key: str | bytes | None, raw: bytes, arrival_us: int, value: Value | None) -> Value:
    """As ``decode``, of a message that was read in one pass; ``value``: what it is, None = the plain way is left."""
    if value is not None:
        return _checked(topic(topic_name), key, value, arrival_us)
    try:
        wire = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise BadRecord("malformed_json", f"{topic_name}: {error}") from error
    return convert(topic_name, key, wire, arrival_us)


def convert(topic_name: str, key: str | bytes | None, wire: object, arrival_us: int) -> Value:
    """As ``decode``, from parsed JSON."""
    spec = topic(topic_name)
    if not isinstance(wire, dict):
        raise BadRecord("not_an_object", f"{topic_name}: expected a JSON object, got {type(wire).__name__}")
    lifted = _lift(spec, wire)
    try:
        value: Value = msgspec.convert(lifted, spec.value_type)
    except msgspec.ValidationError as error:
        detail = explain(error, lifted, spec.value_type)
        raise BadRecord("invalid_value", f"{topic_name}: {_as_on_wire(spec, detail)}") from error
    return _checked(spec, key, value, arrival_us)


def _checked(spec: Topic, key: str | bytes | None, value: Value, arrival_us: int) -> Value:
    _check_key(spec, key, value)
    _check_time(spec, value, arrival_us)
    return value


def encode(topic_name: str, value: Value) -> bytes:
    """JSON bytes of a value, in its topic's newest version; fields keep their order: equal values are equal bytes.

    Raises:
        ValueError: the value claims another version than the one that is written.
        TypeError: the value holds something that JSON has no word for.
    """
    spec = topic(topic_name)
    version = getattr(value, "v", None)
    if version != spec.newest:
        raise ValueError(f"{topic_name}: the value says v {version}, but version {spec.newest} is written")
    return _ENCODER.encode(_spread_counters(value) if isinstance(value, telemetry.RnicCounters) else value)


def key_of(topic_name: str, value: Value) -> str:
    """The Kafka key of a value: the field that the topic's YAML names."""
    return str(getattr(value, topic(topic_name).key))


def _lift(spec: Topic, wire: Json) -> Json:
    version = wire.get("v")
    if type(version) is not int or version not in spec.versions:
        known = ", ".join(str(number) for number in sorted(spec.versions))
        raise BadRecord("unknown_version", f"{spec.topic}: v is {version!r:.40}, expected one of {known}")
    for number in range(version, spec.newest):
        wire = _UPGRADES[spec.topic, number](wire)
    raise_shape = _RAISE.get(spec.topic)
    return raise_shape(wire) if raise_shape else wire


def _check_key(spec: Topic, key: str | bytes | None, value: Value) -> None:
    expected = getattr(value, spec.key)
    if isinstance(key, bytes):
        key = key.decode(errors="backslashreplace")
    if key != expected:
        raise BadRecord("wrong_key", f"{spec.topic}: key is {key!r}, expected the value's {spec.key} {expected!r}")


def _check_time(spec: Topic, value: Value, arrival_us: int) -> None:
    t_us: int = getattr(value, "t_us", arrival_us)
    if t_us - arrival_us > FUTURE_BOUND_US:
        ahead_s, bound_s = (t_us - arrival_us) / 1e6, FUTURE_BOUND_US / 1e6
        detail = f"t_us {t_us} is {ahead_s:.0f} s ahead of its arrival, expected at most {bound_s:.0f} s"
        raise BadRecord("future_timestamp", f"{spec.topic}: {detail}")


def _numpy_as_json(item: Any) -> msgspec.Raw:
    """JSON of a numpy array or scalar, without a detour over Python numbers (nor an import of numpy in the agent)."""
    try:
        return msgspec.Raw(orjson.dumps(item, option=orjson.OPT_SERIALIZE_NUMPY))
    except orjson.JSONEncodeError:
        if not hasattr(item, "tolist"):
            raise
        return msgspec.Raw(orjson.dumps(item.tolist()))


_ENCODER = msgspec.json.Encoder(enc_hook=_numpy_as_json)


def _health_to_v2(wire: Json) -> Json:
    return {**wire, "v": 2, "plan_version": None}


_UPGRADES: dict[tuple[str, int], Callable[[Json], Json]] = {("agent-health", 1): _health_to_v2}
"""From (topic, version) to the next version, on parsed JSON."""


def _gather_counters(wire: Json) -> Json:
    """Wire to struct: further counters beside ``tx_bytes`` move into ``counters``."""
    rnics = wire.get("rnics")
    if not isinstance(rnics, list):
        return wire
    return {**wire, "rnics": [_gather_columns(r) if isinstance(r, dict) else r for r in rnics]}


def _gather_columns(wire: Json) -> Json:
    own = {name: column for name, column in wire.items() if name in telemetry.RNIC_COLUMNS}
    further = {n: column for n, column in wire.items() if n not in own and isinstance(column, list)}
    return own | {"counters": further}


def _spread_counters(value: telemetry.RnicCounters) -> Json:
    """Struct to wire, the inverse of ``_gather_counters``."""
    rnics = [
        {"rnic": r.rnic, "t_us": r.t_us, "tx_bytes": r.tx_bytes, "rx_bytes": r.rx_bytes, **r.counters}
        for r in value.rnics
    ]
    return {**msgspec.structs.asdict(value), "rnics": rnics}


def _as_on_wire(spec: Topic, detail: str) -> str:
    """Further counters have no ``counters`` around them on the wire."""
    return detail.replace(".counters.", ".") if spec.topic in _RAISE else detail


_RAISE: dict[str, Callable[[Json], Json]] = {"rnic-counters": _gather_counters}
"""Topics whose values look different on the wire and as a struct."""
