"""How does a recording that was cut off go on? From a journal beside it: rows taken so far, and how far reading came.

``<output>.partial/`` holds ``rows`` (pickled, appended) and ``state.json`` (offsets, the length of ``rows`` that is
theirs, what is being cut). The state is replaced as a whole after the rows are on disk, so that whatever happens the
rows up to its length are those before its offsets. The same command goes on where it ended; when it is done the
journal is removed.
"""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from skeletonhunter.recordings.manifest import RecordingError
from skeletonhunter.recordings.spool import Row

Spot = tuple[str, int]
"""(topic with prefix, partition)"""


class _State(msgspec.Struct):
    """What is being cut (``cut``), up to when, the next offset of each partition, and how long ``rows`` is."""

    cut: dict[str, Any]
    to_us: int
    positions: list[tuple[str, int, int]]
    length: int


class Journal:
    """The journal of the recording that is to stand at ``output``; a context manager.

    ``cut`` says what is being recorded, as JSON-like values; ``to_us`` is taken from the journal when it is resumed.
    """

    def __init__(self, output: Path, cut: Mapping[str, Any], to_us: int) -> None:
        self.folder = output.with_name(output.name + ".partial")
        self.cut = dict(cut)
        found = self._found()
        self.resumed = found is not None
        self.to_us = found.to_us if found else to_us
        self.positions: dict[Spot, int] = {(topic, part): at for topic, part, at in found.positions} if found else {}
        self._length = found.length if found else 0

    def __enter__(self) -> Journal:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordingError(f"{self.folder}: can't be made: {error.strerror}") from error
        self._file = (self.folder / "rows").open("r+b" if self.resumed else "w+b")
        self._file.truncate(self._length)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if kind is None or not self.positions:
            self.drop()

    def drop(self) -> None:
        """Removes the journal: there is nothing to go on with."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def rows(self) -> Iterator[tuple[str, Row]]:
        """What was taken before; after it the journal is at its end."""
        self._file.seek(0)
        while self._file.tell() < self._length:
            topic, row = pickle.load(self._file)
            yield topic, Row(*row)
        self._file.seek(self._length)

    def add(self, topic: str, row: Row) -> None:
        """Takes a row; it counts once ``keep`` was called."""
        pickle.dump((topic, tuple(row)), self._file, protocol=5)

    def keep(self, positions: Mapping[Spot, int]) -> None:
        """Makes sure of all rows so far, which come from before these offsets."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self.positions = dict(positions)
        listed = [(topic, part, at) for (topic, part), at in sorted(positions.items())]
        state = _State(self.cut, self.to_us, listed, self._file.tell())
        fresh = self.folder / "state.json.new"
        fresh.write_bytes(msgspec.json.encode(state))
        fresh.replace(self.folder / "state.json")

    def _found(self) -> _State | None:
        file = self.folder / "state.json"
        if not file.is_file():
            return None
        try:
            state = msgspec.json.decode(file.read_bytes(), type=_State)
        except msgspec.MsgspecError as error:
            raise RecordingError(f"{file}: {error}") from error
        if state.cut != self.cut:
            raise RecordingError(
                f"{self.folder}: holds the beginning of another recording, expected the options that it was begun with "
                "(or remove it to begin anew)"
            )
        return state
