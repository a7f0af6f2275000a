"""How is a topic's file read? Lines of an ``.ndjson`` or ``.ndjson.zst``, streamed, with bounds against resource bombs.

A file is read in pieces of 4 KiB (a piece of a zstd frame grows at most 32,000-fold), so memory stays bounded by the
longest line allowed plus one piece. Cost: about 0.1 us per line and 600 MB/s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import zstandard

from skeletonhunter.recordings.manifest import RecordingError

PIECE = 4096
COMPRESSED = ".zst"


@dataclass(frozen=True)
class Limits:
    """What a recording may cost: bytes of one line, and of all its files after decompression."""

    line_bytes: int = 16 * 1024 * 1024
    total_bytes: int = 64 * 1024**3


class Budget:
    """Bytes read so far of all that a recording may have; shared by its files."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.spent = 0

    def spend(self, count: int, place: str) -> None:
        """Counts ``count`` more bytes.

        Raises:
            RecordingError: they are too many.
        """
        self.spent += count
        if self.spent > self.limits.total_bytes:
            raise RecordingError(
                f"{place}: the recording has more than the {self.limits.total_bytes} bytes that are allowed (after "
                "decompression)"
            )


def read_lines(path: Path, place: str, budget: Budget) -> Iterator[bytes]:
    """The lines of a file without their line ends. A last line without an end is a line.

    Raises:
        RecordingError: the file can't be read, is cut off, or a line or the whole is too long.
    """
    rest: list[bytes] = []
    waiting, number = 0, 1
    for piece in read_pieces(path, place):
        budget.spend(len(piece), place)
        *ended, last = piece.split(b"\n")
        if ended:
            ended[0] = b"".join((*rest, ended[0]))
            yield from ended
            number += len(ended)
            rest, waiting = [], 0
        rest.append(last)
        waiting += len(last)
        if waiting > budget.limits.line_bytes:
            raise RecordingError(f"{place}:{number}: the line is longer than {budget.limits.line_bytes} bytes")
    if waiting:
        yield b"".join(rest)


def read_pieces(path: Path, place: str) -> Iterator[bytes]:
    """The content of a file, decompressed if its name ends in ``.zst``.

    Raises:
        RecordingError: the file can't be read, or its compressed data is damaged or cut off.
    """
    try:
        with path.open("rb") as file:
            yield from _unpacked(file, place) if path.name.endswith(COMPRESSED) else iter(lambda: file.read(65536), b"")
    except OSError as error:
        raise RecordingError(f"{place}: can't be read: {error.strerror}") from error


def _unpacked(file: IO[bytes], place: str) -> Iterator[bytes]:
    """All zstd frames of a file, one after the other."""
    frame = zstandard.ZstdDecompressor().decompressobj()
    begun = False
    try:
        while piece := file.read(PIECE):
            while piece:
                begun = True
                yield frame.decompress(piece)
                piece = frame.unused_data if frame.eof else b""
                if frame.eof:
                    frame, begun = zstandard.ZstdDecompressor().decompressobj(), False
    except zstandard.ZstdError as error:
        raise RecordingError(f"{place}: damaged zstd data: {error}") from error
    if begun:
        raise RecordingError(f"{place}: the zstd data ends in the middle, the file is cut off")
