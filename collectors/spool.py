"""Where do messages wait while Kafka is away? In files of bounded size in all, taken out again in the order they came.

A spool is a folder of segments ``<number>.spool`` (records one behind the other: length and CRC-32, 4 bytes each,
little endian, then topic, key and value as msgpack) and a file ``cursor``: up to there everything is confirmed.
It survives a restart of the agent: a new run reads on from the cursor, writes into a segment of its own, and leaves a
record out that a crash tore. What was confirmed after the cursor was saved comes again, which ``seq`` makes harmless.

When the bound is reached the oldest segment goes, since what is newest says most about what is wrong now; its records
that were not read yet are counted in ``dropped``. A disk that is full refuses the new record instead (``OSError``).
Cost: one system call of 20 us a record; no memory.
"""

from __future__ import annotations

import fcntl
import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple
from zlib import crc32

import msgspec

from collectors.stamping import Stamped

HEADER = struct.Struct("<II")
SEGMENT_BYTES = 1 << 20
FIRST_NUMBER = 1_000_000
"""Numbers below are left for what must come before everything else."""

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Stamped)


class SpoolError(OSError):
    """The spool's folder can't be used; the text says which and why."""


class Place(NamedTuple):
    """Behind a record: number of the segment, and offset in it."""

    segment: int
    offset: int


class Spool:
    """The spool in ``folder``, of up to ``max_bytes``; nobody else may have it open.

    Raises:
        SpoolError: the folder can't be made or written, or another agent has it.
    """

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self.folder = folder
        self.max_bytes = max_bytes
        self.dropped = 0
        self._segment_bytes = min(SEGMENT_BYTES, max_bytes // 4)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SpoolError(f"{folder}: another agent uses this spool") from error
        except OSError as error:
            raise SpoolError(f"{folder}: can't be used as a spool: {error.strerror}") from error
        self._sizes = {int(path.stem): path.stat().st_size for path in folder.glob("*.spool")}
        self._writing: int | None = None
        self._file: BinaryIO | None = None
        self._file_number = -1
        self._confirmed = self._saved = self._reading = self._saved_cursor()
        self._next = max([FIRST_NUMBER - 1, self._reading.segment, *self._sizes]) + 1  # no number is used twice
        self._forget_confirmed()

    def is_empty(self) -> bool:
        """Whether everything has been read."""
        return not any(size > self._start_of(number) for number, size in self._sizes.items())

    def bytes_kept(self) -> int:
        """Bytes on disk."""
        return sum(self._sizes.values())

    def append(self, stamped: Stamped) -> None:
        """Puts a message behind all others.

        Raises:
            OSError: it could not be written.
        """
        record = _record(stamped)
        while len(self._sizes) > 1 and self.bytes_kept() + len(record) > self.max_bytes:
            self._drop_oldest()
        number = self._segment_for(len(record))
        self._write(number, record)

    def put_first(self, messages: list[Stamped]) -> None:
        """Puts messages before all others; what was read and not confirmed must be among them.

        Raises:
            OSError: they could not be written.
        """
        self._confirmed = self._reading
        self._forget_confirmed()
        if messages:
            self._cut_off_what_was_read()
            number = min([FIRST_NUMBER, *self._sizes]) - 1
            self._sizes[number] = 0
            for stamped in messages:
                self._write(number, _record(stamped))
            self._confirmed = self._reading = Place(number, 0)
        self.save()

    def read(self) -> tuple[Stamped, Place] | None:
        """The next message and the place behind it; None: there is none. A torn record ends its segment.

        Raises:
            OSError: the disk can't be read.
        """
        for number in sorted(self._sizes):
            offset = self._start_of(number)
            if offset >= self._sizes[number]:
                continue
            found = self._record_at(number, offset)
            if found is None:
                self.dropped += 1
                self._sizes[number] = offset
                continue
            stamped, end = found
            self._reading = Place(number, end)
            return stamped, self._reading
        return None

    def confirm(self, place: Place) -> None:
        """Everything up to ``place`` has arrived."""
        self._confirmed = max(self._confirmed, place)
        self._forget_confirmed()

    def save(self) -> None:
        """Writes the cursor down, if it has moved.

        Raises:
            OSError: it could not be written.
        """
        if self._confirmed != self._saved:
            fresh = self.folder / "cursor.new"
            fresh.write_text(f"{self._confirmed.segment} {self._confirmed.offset}\n")
            fresh.replace(self.folder / "cursor")
            self._saved = self._confirmed

    def close(self) -> None:
        """Saves the cursor and lets others have the folder.

        Raises:
            OSError: the cursor could not be written; the folder is free all the same.
        """
        try:
            self.save()
        finally:
            self._close_file()
            os.close(self._lock)

    def _saved_cursor(self) -> Place:
        try:
            segment, offset = (self.folder / "cursor").read_text().split()
            return Place(int(segment), int(offset))
        except (FileNotFoundError, ValueError):
            return Place(0, 0)

    def _start_of(self, number: int) -> int:
        """Where reading begins in a segment."""
        if number == self._reading.segment:
            return self._reading.offset
        return 0 if number > self._reading.segment else self._sizes[number]

    def _segment_for(self, length: int) -> int:
        number = self._writing
        if number is None or number not in self._sizes or self._sizes[number] + length > self._segment_bytes:
            number = self._writing = self._next
            self._next += 1
            self._sizes[number] = 0
        return number

    def _cut_off_what_was_read(self) -> None:
        number, offset = self._reading
        if number in self._sizes and offset:
            rest = self._bytes_at(number, offset, self._sizes[number] - offset)
            fresh = self.folder / "rest.new"
            fresh.write_bytes(rest)
            self._close_file()
            fresh.replace(self._path(number))
            self._sizes[number] = len(rest)

    def _write(self, number: int, record: bytes) -> None:
        fd = os.open(self._path(number), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            written = os.pwrite(fd, record, self._sizes[number])
            if written < len(record):
                raise OSError(f"{self.folder}: the disk is full")
        finally:
            os.close(fd)
        self._sizes[number] += written

    def _record_at(self, number: int, offset: int) -> tuple[Stamped, int] | None:
        try:
            header = self._bytes_at(number, offset, HEADER.size)
            length, checksum = HEADER.unpack(header)
            body = self._bytes_at(number, offset + HEADER.size, min(length, self._sizes[number]))
            if len(body) < length or crc32(body) != checksum:
                return None
            return _DECODER.decode(body), offset + HEADER.size + length
        except (struct.error, msgspec.DecodeError, FileNotFoundError):
            return None

    def _bytes_at(self, number: int, offset: int, length: int) -> bytes:
        if self._file is None or self._file_number != number:
            self._close_file()
            self._file, self._file_number = self._path(number).open("rb", buffering=0), number
        return os.pread(self._file.fileno(), length, offset)

    def _drop_oldest(self) -> None:
        oldest = min(self._sizes)
        offset = self._start_of(oldest)
        while offset < self._sizes[oldest] and (found := self._record_at(oldest, offset)):
            self.dropped += 1
            offset = found[1]
        self._remove(oldest)

    def _forget_confirmed(self) -> None:
        """Removes segments of which everything has arrived."""
        for number in sorted(self._sizes):
            done = number < self._confirmed.segment or (
                number == self._confirmed.segment and self._confirmed.offset >= self._sizes[number]
            )
            if not done:
                break
            self._remove(number)

    def _remove(self, number: int) -> None:
        del self._sizes[number]
        if self._file_number == number:
            self._close_file()
        with suppress(OSError):  # what can't be removed comes again after a restart, which ``seq`` makes harmless
            self._path(number).unlink(missing_ok=True)

    def _close_file(self) -> None:
        if self._file:
            self._file.close()
        self._file, self._file_number = None, -1

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:012d}.spool"


def _record(stamped: Stamped) -> bytes:
    body = _ENCODER.encode(stamped)
    return HEADER.pack(len(body), crc32(body)) + body
