"""What is fuzzed: each place where bytes from outside are understood, and how it may say no.

A target takes bytes and does all that the program would do with them. It may raise what it is documented to raise
(``refusals``); anything else is a fault. The collectors' parsers have seeds and rules of their own under
``tests/unit/collectors``; here they are targets like the others.
"""

from __future__ import annotations

import atexit
import io
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest.mock import Mock

import orjson
import zstandard

from collectors.maps.map_files import parse_map
from collectors.maps.neighbours import parse_lldp
from collectors.maps.pods import Labels, read_pod
from collectors.probing.packet import read_packet
from schemas.codec import BadRecord, decode, encode
from schemas.diagnosis import Incident
from schemas.envelope import Message
from schemas.topics import topic, topics
from skeletonhunter.recordings.files import Budget, Limits, read_lines
from skeletonhunter.recordings.manifest import RecordingError, parse_manifest
from skeletonhunter.recordings.reader import Recording, parse_line
from skeletonhunter.reference.examples import examples
from skeletonhunter.replaying.listener import AlertListener
from skeletonhunter.settings import SettingsError, load_settings
from skeletonhunter.sinks.alert_body import alert_body, encode_body
from skeletonhunter.sinks.received import Received
from skeletonhunter.sinks.rows import STORED_TOPICS, frames
from tests.fuzz import pipeline
from tests.unit.collectors.events import fuzz_texts
from tests.unit.collectors.rnic import fuzz_parsers

CORPUS = Path(__file__).parent / "corpus"
FAR_US = 2**53
SMALL = Limits(line_bytes=65_536, total_bytes=1_000_000, members=20)


class Target(NamedTuple):
    """``read`` takes bytes; ``refusals`` are its ways to say no; ``seeds`` are inputs to begin with.

    ``in_a_row``: inputs until the next target has its turn; fewer for what takes long. ``longest_s``: an input that
    takes more of the processor is a fault.
    """

    read: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...]
    seeds: Callable[[], list[bytes]]
    in_a_row: int = 20
    longest_s: float = 2.0


def message(name: str) -> Target:
    """A record of a topic: read, written again, and made a row of ClickHouse or an alert."""

    def read(raw: bytes) -> None:
        key = key_in(raw, topic(name).key)
        value = decode(name, key, raw, FAR_US)
        again = decode(name, key, encode(name, value), FAR_US)
        if again != value and b"nan" not in repr(value).encode():
            raise AssertionError(f"{value} was written and read as {again}")
        if name in STORED_TOPICS and isinstance(value, Message):
            frames(name, [Received(value, FAR_US, 0, 0)])
        if isinstance(value, Incident):
            encode_body(alert_body(value))

    return Target(read, (BadRecord,), lambda: [bytes(example.value) for example in examples()[name].values()])


def key_in(raw: bytes, field: str) -> str | None:
    """The key under which a record would be sent; its value says so."""
    try:
        key = orjson.loads(raw)[field]
    except (orjson.JSONDecodeError, KeyError, TypeError, IndexError):
        return None
    return key if isinstance(key, str) else None


def line(raw: bytes) -> object:
    return parse_line(raw, "fuzz", 1)


def manifest(raw: bytes) -> object:
    return parse_manifest(raw, "fuzz")


def compressed_lines(raw: bytes) -> None:
    """A topic's file."""
    path = folder() / "topic.ndjson.zst"
    path.write_bytes(raw)
    for _ in read_lines(path, "fuzz", Budget(SMALL)):
        pass


def archive(raw: bytes) -> None:
    """A tar inside whole zstd data: what is fuzzed is the tar."""
    path = folder() / "rec.tar.zst"
    path.write_bytes(zstandard.ZstdCompressor(level=1).compress(raw))
    with Recording(path, SMALL) as recording:
        for _ in recording.lines():
            pass


def settings(raw: bytes) -> object:
    """A file with settings."""
    path = folder() / "settings.toml"
    path.write_bytes(raw)
    return load_settings(path, {})


def posted(raw: bytes) -> None:
    """A request to the listener of alerts, byte by byte."""

    class Connection:
        def makefile(self, *_how: object) -> io.BytesIO:
            return io.BytesIO(raw)

        def sendall(self, _answer: bytes) -> None:
            """Goes nowhere."""

    handler: Any = AlertListener.handler([])
    handler(Connection(), ("127.0.0.1", 1), Mock())


def pod(raw: bytes) -> object:
    """A pod as the API server of Kubernetes tells it."""
    wire = parsed(raw)
    return (
        read_pod(wire, Labels(job="training.kubeflow.org/job-name", rank="rank"), {})
        if isinstance(wire, dict)
        else None
    )


def parsed(raw: bytes) -> object:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None


@cache
def folder() -> Path:
    """Where files are put that are read by name; it goes with the process."""
    kept = TemporaryDirectory(prefix="fuzz-")
    atexit.register(kept.cleanup)
    return Path(kept.name)


def nothing() -> list[bytes]:
    """Where the corpus has the seeds."""
    return []


def collectors() -> dict[str, Target]:
    """The parsers of the collectors, with their own seeds and ways to refuse."""
    found = {}
    for number, parse in enumerate(fuzz_parsers.PARSERS):
        found[f"rnic-{number}"] = Target(parse, (), lambda: list(fuzz_parsers.SHORT))
    texts: list[bytes] = []

    def known() -> list[bytes]:
        if not texts:
            texts.extend(text.encode() for text in fuzz_texts.seeds() if len(text) < 500)
        return texts

    for name, (read, may_refuse) in fuzz_texts.PARSERS.items():
        refusals: tuple[type[Exception], ...] = (ValueError,) if may_refuse else ()
        found[f"text-{name.replace(' ', '-')}"] = Target(_of_text(read), refusals, known)
    return found


def _of_text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda raw: read(raw.decode("utf-8", "replace"))


def maps(name: str) -> Target:
    """A map in a file."""
    return Target(
        lambda raw: parse_map(name, "fuzz", raw, 1),
        (ValueError,),
        lambda: [bytes(e.value) for e in examples()[name].values()],
    )


TARGETS: dict[str, Target] = {
    **{f"message-{name}": message(name) for name in topics()},
    "pipeline": Target(pipeline.run, (), pipeline.seeds, in_a_row=1, longest_s=pipeline.LONGEST_S),
    "recording-line": Target(line, (RecordingError,), nothing),
    "recording-manifest": Target(manifest, (RecordingError,), nothing),
    "recording-lines": Target(compressed_lines, (RecordingError,), nothing),
    "recording-archive": Target(archive, (RecordingError,), nothing),
    "settings": Target(settings, (SettingsError,), nothing),
    "http-listener": Target(posted, (), nothing),
    "probe-packet": Target(read_packet, (ValueError,), nothing),
    "map-endpoint": maps("endpoint-map"),
    "map-fabric": maps("fabric-map"),
    "lldp-device": Target(lambda raw: parse_lldp("d", raw), (ValueError,), nothing),
    "pod": Target(pod, (ValueError,), nothing),
    **collectors(),
}


def corpus(name: str) -> list[bytes]:
    """What is kept of a target in the repository: seeds, and inputs that once did harm."""
    return [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))]


def fault(target: Target, raw: bytes) -> str:
    """What went wrong with an input; empty: nothing."""
    try:
        target.read(raw)
    except target.refusals as refusal:
        return "" if str(refusal).strip() else f"refused {raw!r:.300} without a word"
    except Exception as error:
        return f"{error!r:.300} on {raw!r:.2000}"
    return ""
