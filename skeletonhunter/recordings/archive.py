"""What is in a ``.tar.zst``? The files of a recording, unpacked into a directory, within a budget.

Only plain files directly in the archive or in its one top directory are taken, by their bare name; links, devices,
pipes, sparse files (which are larger than what is stored of them) and deeper paths are refused. The archive is read as
a stream; headers that carry long names are bounded, because ``tarfile`` reads them as a whole.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from skeletonhunter.recordings.files import PIECE, Budget, read_pieces
from skeletonhunter.recordings.manifest import RecordingError

ARCHIVE = ".tar.zst"
HEADER_BYTES = 64 * 1024
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}")


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
        stream = _Stream(read_pieces(archive, place, budget.limits), budget, place)
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Entry) as tar:
            for number, entry in enumerate(tar, start=1):
                if number > budget.limits.members:
                    raise RecordingError(f"{place}: holds more than {budget.limits.members} files and folders")
                if entry.isdir():
                    continue
                name = _plain_name(entry)
                if name is None:
                    raise RecordingError(f"{place}: holds {entry.name!r:.200}, expected plain files in one directory")
                content = tar.extractfile(entry)
                assert content is not None
                with (into / name).open("xb") as file:
                    while piece := content.read(PIECE * 64):
                        file.write(piece)
    except RecordingError:
        raise
    except FileExistsError as error:
        raise RecordingError(f"{place}: holds {Path(error.filename).name!r} twice") from error
    except OSError as error:
        raise RecordingError(f"{place}: can't be unpacked to {into}: {error.strerror}") from error
    except (tarfile.TarError, ValueError, EOFError, OverflowError) as error:
        raise RecordingError(f"{place}: not a tar archive: {error}") from error
    return into


def _plain_name(entry: tarfile.TarInfo) -> str | None:
    """The bare name under which an entry is taken; None = it is refused."""
    parts = PurePosixPath(entry.name).parts
    parts = parts[1:] if parts[:1] == (".",) else parts
    if not entry.isfile() or entry.issparse() or len(parts) not in (1, 2) or not all(map(_NAME.fullmatch, parts)):
        return None
    return parts[-1]


class _Entry(tarfile.TarInfo):
    """A header whose long names and further fields are bounded."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.size > HEADER_BYTES and self.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            raise tarfile.ReadError(f"a header of {self.size} bytes, expected at most {HEADER_BYTES}")
        entry: tarfile.TarInfo = super()._proc_member(archive)  # type: ignore[misc]
        return entry


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
