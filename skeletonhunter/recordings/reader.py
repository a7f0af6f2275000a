"""What did the pipeline receive, in which order? A recording read as one stream of lines, merged over its topics.

Lines come in order of arrival; of equal arrivals the topic that is first in the alphabet, then the line that is first
in its file. Lines of one topic are never reordered: where a file is not in order of arrival, a line's place among the
other topics is that of the latest arrival so far. Nothing is held in memory but one line per topic.

A line that is not {key, arrival_us, value} is an error of the recording; a *value* that can't be used is not: it is
handed on as it stands and becomes a dead letter where it is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from heapq import merge
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import NamedTuple

import msgspec

from schemas.instants import LATEST_US
from schemas.topics import topics
from schemas.truth import Truth
from skeletonhunter.recordings.archive import is_archive, unpack
from skeletonhunter.recordings.files import COMPRESSED, Budget, Limits, read_lines, read_whole
from skeletonhunter.recordings.manifest import MANIFEST, TRUTH, Manifest, RecordingError, parse_manifest

SUFFIXES = (".ndjson", f".ndjson{COMPRESSED}")


class Line(NamedTuple):
    """One line: ``raw`` is the value's JSON as it stands in the file; ``number`` counts from 1."""

    at_us: int
    topic: str
    number: int
    key: str | None
    arrival_us: int
    raw: bytes


class _Wire(msgspec.Struct):
    key: str | None
    arrival_us: int
    value: msgspec.Raw


_DECODER = msgspec.json.Decoder(_Wire)
_BROKEN_VALUE = re.compile(
    rb'\{\s*"key"\s*:\s*("(?:[^"\\]|\\.)*"|null)\s*,\s*"arrival_us"\s*:\s*(\d{1,18})\s*,\s*"value"\s*:(.*)', re.S
)


class Recording:
    """A recording that is open for reading; a context manager. ``skipped``: topics that this version doesn't know."""

    def __init__(self, path: Path, limits: Limits | None = None) -> None:
        self.path = path
        self.limits = limits or Limits()
        self._unpacked: TemporaryDirectory[str] | None = None
        try:
            self.folder = self._folder()
            self.manifest = self._manifest()
            self.files = {topic: self._file(topic) for topic in sorted(self.manifest.topics)}
        except OSError as error:
            self.close()
            raise RecordingError(f"{path}: can't be read: {error.strerror}") from error
        except BaseException:
            self.close()
            raise
        self.skipped = tuple(topic for topic in self.files if topic not in topics())

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Removes what was unpacked."""
        if self._unpacked is not None:
            self._unpacked.cleanup()
            self._unpacked = None

    @property
    def count(self) -> int:
        """Lines of all known topics, by the manifest."""
        return sum(count for topic, count in self.manifest.topics.items() if topic not in self.skipped)

    def lines(self) -> Iterator[Line]:
        """All lines of all known topics, merged.

        Raises:
            RecordingError: at the line that is wrong, or at the end of a file whose lines are not as many as promised.
        """
        budget = Budget(self.limits)
        return merge(*(self._topic_lines(topic, budget) for topic in self.files if topic not in self.skipped))

    def place(self, topic: str, number: int | None = None) -> str:
        """Where a line stands, to tell a person: ``file:line``."""
        name = f"{self.path.name}/{self.files[topic].name}"
        return name if number is None else f"{name}:{number}"

    def _topic_lines(self, topic: str, budget: Budget) -> Iterator[Line]:
        place = self.place(topic)
        promised = self.manifest.topics[topic]
        latest_us = number = 0
        for number, text in enumerate(read_lines(self.files[topic], place, budget), start=1):
            key, arrival_us, raw = parse_line(text, place, number)
            latest_us = max(latest_us, arrival_us)
            yield Line(latest_us, topic, number, key, arrival_us, raw)
        if number != promised:
            raise RecordingError(f"{place}: has {number} lines, but {MANIFEST} says {promised}")

    def _folder(self) -> Path:
        if not self.path.exists():
            raise RecordingError(f"{self.path}: there is no such file or directory")
        if self.path.is_dir():
            return self.path
        if not is_archive(self.path):
            raise RecordingError(f"{self.path}: expected a directory or a .tar.zst file")
        self._unpacked = TemporaryDirectory(prefix="recording-")
        try:
            return unpack(self.path, Path(self._unpacked.name), Budget(self.limits))
        except BaseException:
            self.close()
            raise

    def _manifest(self) -> Manifest:
        file = self.folder / MANIFEST
        if not file.is_file():
            raise RecordingError(f"{self.path}: has no {MANIFEST}")
        place = f"{self.path.name}/{MANIFEST}"
        return parse_manifest(read_whole(file, place, self.limits), place)

    def _file(self, topic: str) -> Path:
        found = [path for suffix in SUFFIXES if (path := self.folder / f"{topic}{suffix}").is_file()]
        if not found:
            raise RecordingError(f"{self.path}: {MANIFEST} names topic {topic!r}, but there is no {topic}.ndjson[.zst]")
        if len(found) > 1:
            raise RecordingError(f"{self.path}: has both {found[0].name} and {found[1].name}, expected one of them")
        return found[0]


def parse_line(text: bytes, place: str, number: int) -> tuple[str | None, int, bytes]:
    """Key, arrival and the value's JSON of a line. A value that is not JSON is returned as it stands.

    Raises:
        RecordingError: the line is not {key, arrival_us, value}.
    """
    try:
        wire = _DECODER.decode(text)
    except msgspec.ValidationError as error:
        raise RecordingError(f"{place}:{number}: {error}, expected a line {{key, arrival_us, value}}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        broken = _BROKEN_VALUE.fullmatch(text.strip())
        if broken is None:
            raise RecordingError(f"{place}:{number}: {error}, expected a line {{key, arrival_us, value}}") from error
        return _broken_key(broken[1]), int(broken[2]), broken[3].removesuffix(b"}")
    if not 0 <= wire.arrival_us <= LATEST_US:
        raise RecordingError(f"{place}:{number}: arrival_us is {wire.arrival_us}, expected microseconds since 1970")
    return wire.key, wire.arrival_us, bytes(wire.value)


def _broken_key(text: bytes) -> str | None:
    try:
        key: str | None = msgspec.json.decode(text, type=str | None)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return text[1:-1].decode(errors="backslashreplace")
    return key


def read_truth(folder: Path, limits: Limits | None = None) -> Truth | None:
    """The recording's ``truth.json``, None = it has none. For scoring only.

    Raises:
        RecordingError: it is not what it should be.
    """
    file = folder / TRUTH
    if not file.is_file():
        return None
    try:
        return msgspec.json.decode(read_whole(file, str(file), limits or Limits()), type=Truth)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RecordingError(f"{file}: {error}") from error
