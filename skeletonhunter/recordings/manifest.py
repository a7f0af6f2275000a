"""What does ``recording.json`` say? The manifest of a recording, read strictly, written in one shape.

A recording is a directory (or the same as ``.tar.zst``) with ``recording.json``, one ``<topic>.ndjson`` or
``<topic>.ndjson.zst`` per topic, and perhaps ``truth.json``. Each line is {``key``, ``arrival_us``, ``value``}.
Instants are integer microseconds since the Unix epoch.
"""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from msgspec import Meta

FORMAT = "skeletonhunter-recording"
VERSION = 1
MANIFEST = "recording.json"
TRUTH = "truth.json"
_TOPIC_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")


class RecordingError(ValueError):
    """A recording that can't be used: one sentence naming the file, the line if any, and the expectation."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The manifest's fields; unknown ones are ignored so that old readers read new recordings."""

    format: str
    version: int
    name: str
    description: str = ""
    start_us: Annotated[int, Meta(ge=0)]
    end_us: Annotated[int, Meta(ge=0)]
    topics: dict[str, Annotated[int, Meta(ge=0)]]
    origin: str = ""
    licence: str = ""


def parse_manifest(raw: bytes, place: str) -> Manifest:
    """The manifest in ``raw``, which stood at ``place``.

    Raises:
        RecordingError: not JSON, a field missing or of the wrong type, another format or version, an end before the
            start, or a topic that can't be one.
    """
    try:
        manifest = msgspec.json.decode(raw, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RecordingError(f"{place}: {error}") from error
    if manifest.format != FORMAT:
        raise RecordingError(f"{place}: format is {manifest.format!r}, expected {FORMAT!r}")
    if manifest.version != VERSION:
        raise RecordingError(f"{place}: version is {manifest.version}, expected {VERSION}")
    if manifest.end_us < manifest.start_us:
        raise RecordingError(f"{place}: end_us {manifest.end_us} is before start_us {manifest.start_us}")
    for name in manifest.topics:
        if not _TOPIC_NAME.fullmatch(name):
            raise RecordingError(f"{place}: topics names {name!r}, expected letters, digits, '.', '_' and '-'")
    return manifest


def format_manifest(manifest: Manifest) -> bytes:
    """The bytes of ``recording.json``: indented JSON, topics in alphabetical order."""
    wire = msgspec.to_builtins(manifest)
    wire["topics"] = dict(sorted(manifest.topics.items()))
    return msgspec.json.format(msgspec.json.encode(wire), indent=1) + b"\n"
