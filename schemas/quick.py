"""The two topics that a fleet sends most of, read in one pass: from bytes to typed values, no dictionaries between.

``read`` gives the value that the plain way gives (``orjson``, then ``msgspec.convert``), or None: then the plain way
has to read it, and to say what is wrong. None is given for all that the two parsers see differently: text that is not
ASCII or has escapes, and integers beyond 2^64 - 1, which msgspec reads exactly and orjson as floats. One difference is
left: of a field that nobody knows, a number too large for a float is not noticed here.

Cost on one core, beside the plain way: 10 us instead of 15 for a probe message of 2.4 kB with nine trains.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from schemas.diagnosis import PairWindows
from schemas.envelope import Message
from schemas.probing import ProbeResults

LARGEST = 2**64 - 1
VERSION = 1


def _small_results(value: ProbeResults) -> bool:
    results = value.results
    late = [each.late for each in results if each.late is not None]
    return max([each.sent for each in results] + late, default=0) <= LARGEST and value.plan_version <= LARGEST


def _small_windows(value: PairWindows) -> bool:
    columns = (value.sport, value.path, value.sent, value.lost)
    return all(not column or (max(column) <= LARGEST and min(column) >= -(2**63)) for column in columns)


_READERS: dict[str, tuple[msgspec.json.Decoder[Any], Callable[[Any], bool]]] = {
    "pair-windows": (msgspec.json.Decoder(PairWindows), _small_windows),
    "probe-results": (msgspec.json.Decoder(ProbeResults), _small_results),
}


def read(topic_name: str, raw: bytes) -> Message | None:
    """The value of a message of version ``VERSION``; None = it has to be read the plain way."""
    known = _READERS.get(topic_name)
    if known is None or not raw.isascii() or b"\\" in raw:
        return None
    decoder, is_small = known
    try:
        value: Message = decoder.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return value if value.v == VERSION and value.producer.seq <= LARGEST and is_small(value) else None
