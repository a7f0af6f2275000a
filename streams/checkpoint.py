"""How does a stage write its state down so that a crash at any moment leaves one that can be read? Pure.

A partition's state is rows of a table, ``<stage>|<partition>|<row>``: one *part* per key of the stage, and last of all
the *mark*, which says up to which tick and which offsets the parts have come. A part is the key's snapshot, compressed;
one of more than ``CHUNK_BYTES`` is cut up, its pieces are written first, alternately to two places (``A``, ``B``), and
then the part that names them, so that a part never points to half-written pieces.

After a crash between two rows some parts are newer than the mark. That does no harm: what is delivered again they
recognise as known or late. A part that does not fit its pieces (two workers that both took themselves for the owner)
makes the whole state unreadable: ``Damaged``, and the partition is folded again from its topics' beginnings. So does a
mark of another shape (``streams.shapes``): states that another version, or other parameters, have made; and a changelog
that was cut off, which compaction never does: parts may be missing then. Then no row of
them may be left when the next mark is written; nor may one of a key that is no more: a row of None is a deletion.

Cost: zstd takes about 3 ms per MB of state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from zlib import crc32

import msgspec
import zstandard

from schemas.instants import SECOND_US, micros
from streams.barrier import BEGINNING, Moment

CHUNK_BYTES = 500_000
"""Kafka takes messages of up to 1 MB by default."""

LEVEL = 1

SHARE = 0.02
"""Of the processor, at most, for making rows, where the states are so large that it would be more."""
RAREST_US = 60 * SECOND_US
"""But once in a minute in any case: what was read since is read again after a crash."""

T = TypeVar("T")

Rows = Mapping[bytes, bytes]
Row = tuple[bytes, bytes | None]


class DamagedError(Exception):
    """The rows of a partition contradict each other."""


class Mark(msgspec.Struct, frozen=True):
    """Up to which tick, and up to which offset of each topic, a partition's state has come.

    ``written``: by target partition and topic, the offset after what this partition has sent there. ``shape``: what the
    states are made of. ``begins``: the first offset of the changelog when the worker that wrote it began.
    """

    handled: Moment
    positions: dict[str, int]
    written: dict[int, dict[str, int]]
    shape: str = ""
    begins: int = 0


class _Part(msgspec.Struct, frozen=True):
    """A key's snapshot: in ``blob``, or in ``pieces`` rows of ``slot``, whose bytes together have the check sum."""

    key: str
    slot: str
    pieces: int
    check: int
    blob: bytes


_ENCODER = msgspec.msgpack.Encoder()
_PART = msgspec.msgpack.Decoder(_Part)
_MARK = msgspec.msgpack.Decoder(Mark)


@dataclass(slots=True)
class Checkpoint:
    """State of one partition of one stage in rows of a table, whose changelog ``begins`` at that offset."""

    stage: str
    partition: int
    shape: str = ""
    begins: int = 0
    _slots: dict[str, str] = field(default_factory=dict)
    _names: dict[str, set[bytes]] = field(default_factory=dict)
    _stale: set[bytes] = field(default_factory=set)

    def rows(self, snapshots: Iterator[tuple[str, bytes | None]], mark: Mark) -> Iterator[Row]:
        """The rows to write, in this order, each only after the one before it is sure to be kept before it."""
        compress = zstandard.ZstdCompressor(level=LEVEL).compress
        for key, snapshot in snapshots:
            for name, row in self._no_rows(key) if snapshot is None else self._part_rows(key, compress(snapshot)):
                self._stale.discard(name)
                yield name, row
        while self._stale:
            yield self._stale.pop(), None
        yield self._name("mark"), _ENCODER.encode(mark)

    def read(self, rows: Rows) -> tuple[Mark | None, dict[str, bytes]]:
        """The mark (None = nothing was written yet) and each key's snapshot.

        Raises:
            DamagedError: a row is none of ours, a part does not fit its pieces, the states are of another shape, or
                rows were cut off.
        """
        row = rows.get(self._name("mark"))
        self._stale = {name for name in rows if name.startswith((self._name("part/"), self._name("piece/")))}
        if row is None:
            return None, {}
        mark = self._decoded(_MARK, row, "mark")
        if mark.shape != self.shape:
            raise DamagedError(
                f"{self.stage}, partition {self.partition}: the state is of another version or other parameters"
            )
        if mark.begins != self.begins:
            raise DamagedError(
                f"{self.stage}, partition {self.partition}: the changelog began at offset {mark.begins} and begins at "
                f"{self.begins} now, so rows of the state may be missing"
            )
        snapshots = {}
        prefix = self._name("part/")
        for name in sorted(name for name in rows if name.startswith(prefix)):
            part = self._decoded(_PART, rows[name], name.decode())
            self._slots[part.key] = part.slot
            snapshots[part.key] = zstandard.ZstdDecompressor().decompress(self._blob(part, rows))
        for name in self._stale:
            self._noted(self._key_in(name), name)
        self._stale = set()
        return mark, snapshots

    def _key_in(self, name: bytes) -> str:
        """The key that a part or a piece belongs to."""
        what, _, rest = name.decode().split("|", 2)[2].partition("/")
        return rest.split("/", 2)[2] if what == "piece" else rest

    def _no_rows(self, key: str) -> Iterator[Row]:
        """Deletes a key's part, and then the pieces that it may have named."""
        self._slots.pop(key, None)
        for name in sorted(self._names.pop(key, ())):
            yield name, None

    def _part_rows(self, key: str, blob: bytes) -> Iterator[Row]:
        pieces = range(0, len(blob), CHUNK_BYTES) if len(blob) > CHUNK_BYTES else range(0)
        slot = "B" if self._slots.get(key) == "A" else "A"
        for number, begin in enumerate(pieces):
            yield self._noted(key, self._piece_name(key, slot, number)), blob[begin : begin + CHUNK_BYTES]
        if pieces:
            self._slots[key] = slot
        part = _Part(key, self._slots.get(key, "B"), len(pieces), crc32(blob), b"" if pieces else blob)
        yield self._noted(key, self._name(f"part/{key}")), _ENCODER.encode(part)

    def _noted(self, key: str, name: bytes) -> bytes:
        self._names.setdefault(key, set()).add(name)
        return name

    def _blob(self, part: _Part, rows: Rows) -> bytes:
        names = [self._piece_name(part.key, part.slot, number) for number in range(part.pieces)]
        blob = b"".join(rows.get(name, b"") for name in names) if names else part.blob
        if crc32(blob) != part.check:
            raise DamagedError(f"{self.stage}, partition {self.partition}: the state of key {part.key!r} is damaged")
        return blob

    def _decoded(self, decoder: msgspec.msgpack.Decoder[T], row: bytes, name: str) -> T:
        try:
            return decoder.decode(row)
        except msgspec.MsgspecError as error:
            raise DamagedError(
                f"{self.stage}, partition {self.partition}: the row {name} of the state is damaged: {error}"
            ) from error

    def _name(self, row: str) -> bytes:
        return f"{self.stage}|{self.partition}|{row}".encode()

    def _piece_name(self, key: str, slot: str, number: int) -> bytes:
        return self._name(f"piece/{slot}/{number}/{key}")


@dataclass(slots=True)
class Pace:
    """When is a checkpoint due? Every ``least_us`` of event time, or as rarely as ``SHARE`` asks for.

    ``clock``: of the processor, seconds. ``last_us``: event time of the last one. ``cost_s``: what its rows took.
    """

    least_us: int
    clock: Callable[[], float]
    last_us: int = -1
    cost_s: float = 0.0

    def is_due(self, t_us: int) -> bool:
        """Whether one is due at that event time."""
        return t_us - self.last_us >= max(self.least_us, min(RAREST_US, micros(self.cost_s / SHARE)))

    def timed(self, rows: Iterator[Row]) -> Iterator[Row]:
        """The rows as they are; notes what making them takes."""
        self.cost_s, begin = 0.0, self.clock()
        for row in rows:
            self.cost_s += self.clock() - begin
            yield row
            begin = self.clock()


def partition_of(name: bytes) -> int:
    """The partition that a row belongs to."""
    return int(name.split(b"|", 2)[1])


NOTHING = Mark(BEGINNING, {}, {})
"""Where a partition without a state begins."""
