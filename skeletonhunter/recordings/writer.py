"""How is a recording written? One file per topic, lines in arrival order, the same bytes for the same content.

Compressed files are single zstd frames made by one thread without a content size or time in them, so equal input gives
equal bytes. That thread works behind the caller, at most one block of lines per topic ahead of it, so that compressing
costs a second core, not time. The archive form is a tar of the directory with fixed owners and times. Cost: about 2 us
per line + zstd.
"""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final

import orjson
import zstandard

from skeletonhunter.recordings.manifest import (
    FORMAT,
    MANIFEST,
    TRUTH,
    VERSION,
    Manifest,
    RecordingError,
    format_manifest,
)

LEVEL = 9
TOGETHER = 256
ARCHIVE = ".tar.zst"
TAR_FORMAT: Final = tarfile.PAX_FORMAT
"""As plain as the oldest one, but that a file may have 8 GiB or more."""


class _TopicFile:
    """The file of one topic; lines wait until ``TOGETHER`` of them are compressed at once."""

    def __init__(self, path: Path, level: int | None, behind: ThreadPoolExecutor) -> None:
        self.name = path.name
        self.place = path.parent
        self.behind = behind
        self.written: Future[int] | None = None
        self.count = 0
        self.last_us = 0
        self.waiting: list[bytes] = []
        self.disk = path.open("wb")
        self.file: IO[bytes] = self.disk
        if level is not None:
            self.file = zstandard.ZstdCompressor(level=level).stream_writer(self.disk)

    def add(self, arrival_us: int, line: bytes) -> None:
        """Appends a line.

        Raises:
            RecordingError: it arrived before the previous one.
        """
        self.count += 1
        if arrival_us < self.last_us:
            raise RecordingError(f"{self.name}: line {self.count} arrived before the one above it")
        self.last_us = arrival_us
        self.waiting.append(line)
        if len(self.waiting) >= TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Hands on what waits, when what was handed on before is written.

        Raises:
            RecordingError: that could not be written.
        """
        self.settle()
        self.written = self.behind.submit(self.file.write, b"".join(self.waiting))
        self.waiting.clear()

    def close(self) -> None:
        """Ends the file; it is closed even where its end can't be written.

        Raises:
            OSError: its end could not be written.
        """
        try:
            self.file.close()
        finally:
            self.disk.close()

    def settle(self) -> None:
        """Waits until all that was handed on is written.

        Raises:
            RecordingError: it could not be written.
        """
        written, self.written = self.written, None
        if written is not None:
            try:
                written.result()
            except OSError as error:
                raise _unwritten(self.place, error) from error


class RecordingWriter:
    """Writes a recording into a new directory or ``<name>.tar.zst``; a context manager, ended by ``finish``."""

    def __init__(self, path: Path, compress: bool = True, level: int = LEVEL) -> None:
        self.path = path
        self.archive = path.name.endswith(ARCHIVE)
        self.folder = path.with_name(path.name + ".parts") if self.archive else path
        self.compress = compress
        self.level = level
        self.files: dict[str, _TopicFile] = {}
        self._behind = ThreadPoolExecutor(1, "recording")
        self._keys: dict[str | None, bytes] = {}
        for place in (self.path, self.folder):
            refuse_taken(place)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordingError(f"{self.folder}: can't be made: {error.strerror}") from error

    def __enter__(self) -> RecordingWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._behind.shutdown()
        for topic in self.files.values():
            with suppress(OSError):  # what counts was closed by ``finish``, which says so if it could not be written
                topic.close()
        if self.archive or kind is not None:  # half a recording is none
            shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, topic: str, key: str | None, arrival_us: int, value: Any) -> None:
        """Appends a line; ``value`` is JSON-like.

        Raises:
            RecordingError: the line arrived before the topic's previous one.
        """
        self.write_raw(topic, key, arrival_us, orjson.dumps(value))

    def write_raw(self, topic: str, key: str | None, arrival_us: int, raw: bytes) -> None:
        """As ``write``, of a value that is JSON already."""
        file = self.files.get(topic) or self.open_topic(topic)
        name = self._keys.get(key)
        if name is None:
            name = self._keys[key] = orjson.dumps(key)
        file.add(arrival_us, b'{"key":%b,"arrival_us":%d,"value":%b}\n' % (name, arrival_us, raw))

    def open_topic(self, topic: str) -> _TopicFile:
        """Makes the topic's file, also if nothing will be written to it."""
        path = self.folder / (f"{topic}.ndjson.zst" if self.compress else f"{topic}.ndjson")
        self.files[topic] = _TopicFile(path, self.level if self.compress else None, self._behind)
        return self.files[topic]

    def finish(self, about: Manifest, truth: dict[str, Any] | None = None) -> Manifest:
        """Writes truth and manifest; the manifest's counts are what was written. Returns the manifest as written.

        Raises:
            RecordingError: something could not be written.
        """
        try:
            return self._finish(about, truth)
        except OSError as error:
            raise _unwritten(self.folder, error) from error

    def _finish(self, about: Manifest, truth: dict[str, Any] | None) -> Manifest:
        for topic in self.files.values():
            topic.flush()
            topic.settle()
            topic.close()
        if truth is not None:
            (self.folder / TRUTH).write_bytes(orjson.dumps(truth, option=orjson.OPT_INDENT_2) + b"\n")
        manifest = Manifest(
            format=FORMAT,
            version=VERSION,
            name=about.name,
            description=about.description,
            start_us=about.start_us,
            end_us=max([about.end_us, *(topic.last_us for topic in self.files.values())]),
            topics={name: topic.count for name, topic in self.files.items()},
            origin=about.origin,
            licence=about.licence,
        )
        (self.folder / MANIFEST).write_bytes(format_manifest(manifest))
        if self.archive:
            self._pack()
        return manifest

    def _pack(self) -> None:
        """Beside the finished files first, so that there is a whole archive or none."""
        name = self.path.name.removesuffix(ARCHIVE)
        packing = self.folder / ".archive"
        files = sorted(self.folder.iterdir())
        with (
            packing.open("wb") as raw,
            zstandard.ZstdCompressor(level=self.level).stream_writer(raw) as packed,
            tarfile.open(fileobj=packed, mode="w|", format=TAR_FORMAT) as tar,
        ):
            for file in files:
                with file.open("rb") as content:
                    tar.addfile(entry_of(f"{name}/{file.name}", file.stat().st_size), content)
        packing.replace(self.path)


def entry_of(name: str, size: int) -> tarfile.TarInfo:
    """The header of a file of so many bytes, the same whoever writes it and when."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o644
    return entry


def _unwritten(place: Path, error: OSError) -> RecordingError:
    return RecordingError(f"{place}: can't be written: {error.strerror}")


def refuse_taken(place: Path) -> None:
    """What stands where a recording is to go is never replaced; an empty folder may stand there.

    Raises:
        RecordingError: something does.
    """
    if place.is_dir() and any(place.iterdir()):
        raise RecordingError(f"{place}: is not empty, a recording needs a new place")
    if not place.is_dir() and os.path.lexists(place):
        raise RecordingError(f"{place}: is there already, a recording needs a new place")


def about(name: str, description: str, span_us: tuple[int, int], origin: str, licence: str) -> Manifest:
    """A manifest to give to ``RecordingWriter.finish``, which fills in the counts."""
    return Manifest(
        format=FORMAT,
        version=VERSION,
        name=name,
        description=description,
        start_us=span_us[0],
        end_us=span_us[1],
        topics={},
        origin=origin,
        licence=licence,
    )


def write_lines(writer: RecordingWriter, lines: Iterable[tuple[str, str, int, Any]]) -> None:
    """Writes lines (topic, key, arrival_us, value) sorted by arrival within their topic; ties keep their order."""
    for topic, key, arrival_us, value in sorted(lines, key=lambda line: line[2]):
        writer.write(topic, key, arrival_us, value)
