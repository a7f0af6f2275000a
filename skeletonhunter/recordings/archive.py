"""What is in a ``.tar.zst``? The files of a recording, unpacked into a directory, within a budget.

Only plain files directly in the archive or in its one top directory are taken, by their bare name; links, devices and
deeper paths are refused. The archive is read as a stream.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from skeletonhunter.recordings.files import PIECE, Budget, read_pieces
from skeletonhunter.recordings.manifest import RecordingError

ARCHIVE = ".tar.zst"


def is_archive(path: Path) -> bool:
    """Whether the name says so."""
    return path.name.endswith(ARCHIVE)


def unpack(archive: Path, into: Path, budget: Budget) -> Path:
    """Unpacks the recording and returns ``into``.

    Raises:
        RecordingError: the archive is damaged, cut off, too large, or holds what a recording has not.
    """
    place = str(archive)
    try:
        with tarfile.open(fileobj=_Stream(read_pieces(archive, place), budget, place), mode="r|") as tar:
            for entry in tar:
                if entry.isdir():
                    continue
                parts = PurePosixPath(entry.name).parts
                parts = parts[1:] if parts[0] == "." else parts
                if not entry.isfile() or len(parts) > 2 or ".." in parts or entry.name.startswith("/"):
                    raise RecordingError(f"{place}: holds {entry.name!r}, expected plain files in one directory")
                content = tar.extractfile(entry)
                assert content is not None
                with (into / parts[-1]).open("xb") as file:
                    while piece := content.read(PIECE * 64):
                        file.write(piece)
    except FileExistsError as error:
        raise RecordingError(f"{place}: holds {Path(error.filename).name!r} twice") from error
    except tarfile.TarError as error:
        raise RecordingError(f"{place}: not a tar archive: {error}") from error
    return into


class _Stream(io.RawIOBase):
    """Pieces as a file that ``tarfile`` can read."""

    def __init__(self, pieces: Iterator[bytes], budget: Budget, place: str) -> None:
        self.pieces, self.budget, self.place = pieces, budget, place
        self.rest = bytearray()

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes; fewer only at the end."""
        while size < 0 or len(self.rest) < size:
            piece = next(self.pieces, None)
            if piece is None:
                break
            self.budget.spend(len(piece), self.place)
            self.rest += piece
        taken = bytes(self.rest if size < 0 else self.rest[:size])
        del self.rest[: len(taken)]
        return taken
