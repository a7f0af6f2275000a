"""What do the engines make of messages that are valid and make no sense? They must not fall: a worker would.

An input is lines of {topic, key, arrival_us, value}; what can't be decoded is left out, as in a worker. The seeds are
the beginnings of the bundled incident, a few messages of each topic.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec

from schemas.codec import BadRecord, decode
from schemas.control import Tick
from schemas.envelope import Message
from skeletonhunter.recordings.reader import Recording
from streams.local import LocalPipeline
from streams.parameters import Parameters

RECORDING = Path(__file__).parents[2] / "examples" / "incidents" / "stale-flow-offload"
SECOND_US = 1_000_000
OF_EACH, LONGEST = 6, 2_500
WAIT_US = 60 * SECOND_US
LONGEST_S = 20.0
"""A message that is an hour behind makes its key begin an hour back (``streams.sequencer.CATCH_UP_US``, no further):
3,600 seconds of each stage are a second or two of the processor, more where this code is instrumented."""


class Line(msgspec.Struct):
    """A record."""

    topic: str
    key: str
    arrival_us: int
    value: msgspec.Raw


def run(raw: bytes) -> None:
    """Feeds the lines to all stages, with a tick after each, and lets a minute pass."""
    emitted: list[object] = []
    pipeline = LocalPipeline(Parameters(), emitted.append)
    now_us = 0
    for text in raw.split(b"\n")[:100]:
        try:
            line = msgspec.json.decode(text, type=Line)
            value = decode(line.topic, line.key, bytes(line.value), line.arrival_us)
            assert isinstance(value, Message)
            pipeline.admit(line.topic, line.key, value)
        except (msgspec.MsgspecError, BadRecord, KeyError, AssertionError, UnicodeDecodeError):
            continue
        now_us = max(now_us, min(line.arrival_us, now_us + WAIT_US if now_us else line.arrival_us))
        pipeline.advance(Tick(t_us=now_us, source="clock", offsets={}, final=False))
    if now_us:
        pipeline.advance(Tick(t_us=now_us + WAIT_US, source="clock", offsets={}, final=True))


def seeds() -> list[bytes]:
    """Some messages of each topic, at several times of the incident."""
    lines: dict[int, list[bytes]] = {}
    counts: Counter[tuple[int, str]] = Counter()
    with Recording(RECORDING) as recording:
        for line in recording.lines():
            part = (line.arrival_us - recording.manifest.start_us) // (60 * SECOND_US)
            counts[part, line.topic] += 1
            if counts[part, line.topic] <= OF_EACH and len(line.raw) <= LONGEST:
                head = {"topic": line.topic, "key": line.key, "arrival_us": line.arrival_us}
                lines.setdefault(part, []).append(msgspec.json.encode({**head, "value": msgspec.Raw(line.raw)}))
    return [b"\n".join(part) for part in lines.values()]
