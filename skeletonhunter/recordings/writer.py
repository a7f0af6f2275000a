"""How is a recording written? One file per topic, lines in arrival order, the same bytes for the same content.

Compressed files are single zstd frames made by one thread without a content size or time in them, so equal input gives
equal bytes. The archive form is a tar of the directory with fixed owners and times. Cost: about 2 us per line + zstd.
"""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import IO, Any

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


class RecordingWriter:
    """Writes a recording into a new directory or ``<name>.tar.zst``; a context manager, ended by ``finish``."""

    def __init__(self, path: Path, compress: bool = True, level: int = LEVEL) -> None:
        self.path = path
        self.archive = path.name.endswith(ARCHIVE)
        self.folder = path.with_name(path.name + ".parts") if self.archive else path
        self.compress = compress
        self.level = level
        self.files: dict[str, IO[bytes]] = {}
        self.waiting: dict[str, list[bytes]] = {}
        self.counts: dict[str, int] = {}
        self.last_us: dict[str, int] = {}
        if self.folder.exists() and any(self.folder.iterdir()):
            raise RecordingError(f"{self.folder}: is not empty, a recording needs a new place")
        self.folder.mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> RecordingWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self.files.values():
            file.close()
        if self.archive or kind is not None:  # half a recording is none
            shutil.rmtree(self.folder, ignore_errors=True)

    def write(self, topic: str, key: str, arrival_us: int, value: Any) -> None:
        """Appends a line; ``value`` is JSON-like.

        Raises:
            RecordingError: the line arrived before the topic's previous one.
        """
        self.write_raw(topic, key, arrival_us, orjson.dumps(value))

    def write_raw(self, topic: str, key: str | None, arrival_us: int, raw: bytes) -> None:
        """As ``write``, of a value that is JSON already."""
        if arrival_us < self.last_us.get(topic, 0):
            raise RecordingError(
                f"{self._file_name(topic)}: line {self.counts[topic] + 1} arrived before the one above it"
            )
        self.last_us[topic] = arrival_us
        if topic not in self.files:
            self.open_topic(topic)
        self.counts[topic] += 1
        waiting = self.waiting[topic]
        waiting.append(b'{"key":%b,"arrival_us":%d,"value":%b}\n' % (orjson.dumps(key), arrival_us, raw))
        if len(waiting) >= TOGETHER:
            self._flush(topic)

    def _flush(self, topic: str) -> None:
        """Compresses what waits: many short writes cost more than one long one."""
        self.files[topic].write(b"".join(self.waiting[topic]))
        self.waiting[topic].clear()

    def open_topic(self, topic: str) -> None:
        """Makes the topic's file, also if nothing will be written to it."""
        raw: IO[bytes] = (self.folder / self._file_name(topic)).open("wb")
        if self.compress:
            raw = zstandard.ZstdCompressor(level=self.level).stream_writer(raw)
        self.files[topic] = raw
        self.waiting[topic] = []
        self.counts[topic] = 0

    def finish(self, about: Manifest, truth: dict[str, Any] | None = None) -> Manifest:
        """Writes truth and manifest; the manifest's counts are what was written. Returns the manifest as written."""
        for topic, file in self.files.items():
            self._flush(topic)
            file.close()
        if truth is not None:
            (self.folder / TRUTH).write_bytes(orjson.dumps(truth, option=orjson.OPT_INDENT_2) + b"\n")
        manifest = Manifest(
            format=FORMAT,
            version=VERSION,
            name=about.name,
            description=about.description,
            start_us=about.start_us,
            end_us=max([about.end_us, *self.last_us.values()]),
            topics=self.counts,
            origin=about.origin,
            licence=about.licence,
        )
        (self.folder / MANIFEST).write_bytes(format_manifest(manifest))
        if self.archive:
            self._pack()
        return manifest

    def _file_name(self, topic: str) -> str:
        return f"{topic}.ndjson.zst" if self.compress else f"{topic}.ndjson"

    def _pack(self) -> None:
        name = self.path.name.removesuffix(ARCHIVE)
        with (
            self.path.open("wb") as raw,
            zstandard.ZstdCompressor(level=self.level).stream_writer(raw) as packed,
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.USTAR_FORMAT) as tar,
        ):
            for file in sorted(self.folder.iterdir()):
                entry = tarfile.TarInfo(f"{name}/{file.name}")
                entry.size = file.stat().st_size
                entry.mode = 0o644
                with file.open("rb") as content:
                    tar.addfile(entry, content)


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
