"""How does a recording become one that may be shared? Read twice: once for its names, once to replace them.

All topics and ``truth.json`` are rewritten with the same pseudonyms (``pseudonyms``), so that a replay says the same,
up to names and to the order of what is sorted by name. Records that are no JSON can't be looked through: their content
is left out, and they stay records that can't be used. Instants may be moved into the past by whole days that follow
from the key, which keeps windows of the engines where they were. Where a fabric computes paths by a hash of addresses,
other addresses would be other paths: then they are kept only if asked to be. Cost: about 60 us a message.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from skeletonhunter.recordings.manifest import TRUTH, Manifest, RecordingError
from skeletonhunter.recordings.names import KINDS, WORDS, first_kinds, names_in
from skeletonhunter.recordings.pseudonyms import KEY_BYTES, Pseudonyms
from skeletonhunter.recordings.reader import Line, Recording
from skeletonhunter.recordings.writer import RecordingWriter, about

UNREADABLE = b'"left out: it could not be read"'
DAY_US = 86_400_000_000
FOLD = "fold"
"""The boot of conclusions, which no machine has."""

EARLIEST_US = 10**15
"""What is less is a duration, not an instant (it would be before 2001)."""

WORDS_OF_FIXED_MEANING = frozenset(
    ("kind", "outcome", "state", "source", "event", "severity", "table", "direction", "symptom", "verdict", "issue")
)
INSTANTS = frozenset(
    (
        *("t_us", "start_us", "end_us", "onset_us", "detected_us", "localized_us", "resolved_us", "received_us"),
        *("expires_us", "arrival_us", "from_us", "to_us"),
    )
)


@dataclass(frozen=True)
class Anonymity:
    """What to do: the key, whether to move instants, whether addresses stay."""

    key: bytes
    shift_times: bool = False
    keep_addresses: bool = False

    def __post_init__(self) -> None:
        if len(self.key) < KEY_BYTES:
            raise RecordingError(f"the key has {len(self.key)} bytes, expected at least {KEY_BYTES}")


def key_of(file: Path | None) -> bytes:
    """The key in a file, without white space around it; without a file a random one.

    Raises:
        RecordingError: the file can't be read.
    """
    if file is None:
        return secrets.token_bytes(32)
    try:
        return file.read_bytes().strip()
    except OSError as error:
        raise RecordingError(f"{file}: can't be read: {error.strerror}") from error


def anonymise(recording: Recording, path: Path, how: Anonymity, progress: Callable[[int], None]) -> Manifest:
    """Writes the anonymised recording; its manifest.

    Raises:
        RecordingError: the recording is wrong, the place is taken, or its paths hang on addresses that may not stay.
    """
    rewriter = Rewriter(_pseudonyms(recording, how, progress), how.shift_times)
    old = recording.manifest
    with RecordingWriter(path) as writer:
        for topic in recording.files:
            if topic not in recording.skipped:
                writer.open_topic(topic)
        for number, line in enumerate(recording.lines(), start=1):
            key = None if line.key is None else rewriter.names.name(line.key)
            writer.write_raw(line.topic, key, line.arrival_us + rewriter.shift_us, rewriter.raw(line.raw))
            if number % 500 == 0:
                progress(recording.count + number)
        span_us = (old.start_us + rewriter.shift_us, old.end_us + rewriter.shift_us)
        name = path.name.removesuffix(".tar.zst")
        described = about(name, "an anonymised recording", span_us, "skeletonhunter anonymise", old.licence)
        return writer.finish(described, _truth(recording, rewriter))


class Rewriter:
    """Rewrites messages with pseudonyms, and moves their instants by ``shift_us``."""

    def __init__(self, names: Pseudonyms, shift_times: bool) -> None:
        self.names = names
        self.shift_us = -names.days() * DAY_US if shift_times else 0

    def raw(self, raw: bytes) -> bytes:
        """The message as JSON; what is no JSON is left out."""
        try:
            return orjson.dumps(self.value(orjson.loads(raw)))
        except (orjson.JSONDecodeError, orjson.JSONEncodeError):
            return UNREADABLE

    def value(self, value: Any, field: str = "") -> Any:
        """The same value with other names; ``field`` is the one that it stands in."""
        if isinstance(value, str):
            return self._string(value, field)
        if isinstance(value, dict):
            return {self.names.text(name): self.value(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.value(inner, field) for inner in value]
        if self.shift_us and field in INSTANTS and isinstance(value, int) and value > EARLIEST_US:
            return value + self.shift_us
        return value

    def _string(self, text: str, field: str) -> str:
        if field in WORDS_OF_FIXED_MEANING:
            return text
        if field == "boot" and text != FOLD:
            return self.names.opaque(text)
        return self.names.name(text) if field in KINDS else self.names.text(text)


def _pseudonyms(recording: Recording, how: Anonymity, progress: Callable[[int], None]) -> Pseudonyms:
    found: dict[str, set[str]] = {}
    hashing: set[str] = set()
    for number, line in enumerate(recording.lines(), start=1):
        for kind, name in _told(line, hashing):
            found.setdefault(name, set()).add(kind)
        if number % 500 == 0:
            progress(number)
    if hashing and not how.keep_addresses:
        raise RecordingError(
            f"{recording.path}: fabric {min(hashing)} computes paths by a hash of addresses, which other addresses "
            "would change; expected --keep-addresses"
        )
    return Pseudonyms(how.key, first_kinds(found), WORDS, how.keep_addresses)


def _told(line: Line, hashing: set[str]) -> list[tuple[str, str]]:
    try:
        value = orjson.loads(line.raw)
    except orjson.JSONDecodeError:
        return []
    if line.topic == "fabric-map" and isinstance(value, dict):
        ecmp = value.get("ecmp")
        if isinstance(ecmp, dict) and ecmp.get("method") == "hash":
            hashing.add(str(value.get("fabric")))
    return list(names_in(value))


def _truth(recording: Recording, rewriter: Rewriter) -> Any:
    file = recording.folder / TRUTH
    if not file.is_file():
        return None
    try:
        return rewriter.value(orjson.loads(file.read_bytes()))
    except orjson.JSONDecodeError as error:
        raise RecordingError(f"{file}: {error}") from error
