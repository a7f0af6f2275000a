"""Recordings that are made to harm whoever reads them are refused in one sentence, and leave nothing behind."""

from __future__ import annotations

import io
import tarfile
import tempfile
from pathlib import Path

import pytest
import zstandard

from skeletonhunter.recordings.files import Limits
from skeletonhunter.recordings.manifest import RecordingError
from skeletonhunter.recordings.reader import Recording, read_truth
from tests.unit.recordings.making import MANIFEST_TEXT, packed

Member = tuple[tarfile.TarInfo, bytes]


def member(name: str, content: bytes = b"", **fields: object) -> Member:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    for field, value in fields.items():
        setattr(entry, field, value)
    return entry, content


def archive(folder: Path, *members: Member, format: int = tarfile.PAX_FORMAT) -> Path:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=format) as tar:
        for entry, content in members:
            tar.addfile(entry, io.BytesIO(content))
    return packed(folder, raw.getvalue())


@pytest.fixture(autouse=True)
def unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where archives are unpacked; it must be empty in the end."""
    folder = tmp_path / "unpacked"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def refusal(path: Path, limits: Limits | None = None) -> str:
    with pytest.raises(RecordingError) as caught, Recording(path, limits) as recording:
        list(recording.lines())
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
    return str(caught.value)


@pytest.mark.parametrize(
    "bad",
    [
        member("rec/link", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        member("rec/hard", type=tarfile.LNKTYPE, linkname="recording.json"),
        member("rec/device", type=tarfile.CHRTYPE, devmajor=1, devminor=5),
        member("rec/disk", type=tarfile.BLKTYPE, devmajor=8),
        member("rec/pipe", type=tarfile.FIFOTYPE),
        member("../outside"),
        member("/etc/cron.d/x"),
        member("rec/../../x"),
        member("rec/a/b"),
        member("."),
        member("rec/.hidden"),
        member("rec/" + "n" * 5000),
        member("rec/new\nline"),
        member("rec/\u202etxt"),
    ],
    ids=lambda bad: repr(bad[0].name[:20]),
)
def test_members_that_are_no_plain_files_are_refused(tmp_path: Path, unpacked: Path, bad: Member) -> None:
    found = refusal(archive(tmp_path, member("rec/recording.json", MANIFEST_TEXT), bad))
    assert "expected plain files in one directory" in found
    assert list(unpacked.iterdir()) == []


def test_a_sparse_file_is_refused_before_it_fills_the_disk(tmp_path: Path, unpacked: Path) -> None:
    entry, _ = member("rec/probe-results.ndjson")
    entry.pax_headers = {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(2**40), "GNU.sparse.numblocks": "1"}
    assert "expected plain files" in refusal(archive(tmp_path, (entry, b"")))
    assert list(unpacked.iterdir()) == []


def test_a_header_as_large_as_a_disk_is_refused(tmp_path: Path) -> None:
    for kind in (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK):
        entry = tarfile.TarInfo("header")
        entry.type, entry.size = kind, 2**33
        path = packed(tmp_path, entry.tobuf(tarfile.GNU_FORMAT) + b"\0" * 100_000)
        assert "a header of 8589934592 bytes, expected at most 65536" in refusal(path)


def test_a_million_members_are_refused(tmp_path: Path, unpacked: Path) -> None:
    members = [member(f"rec/topic-{number}.ndjson") for number in range(1200)]
    assert "holds more than 1000 files and folders" in refusal(archive(tmp_path, *members))
    assert "holds more than 3 files" in refusal(archive(tmp_path, *members[:4]), Limits(members=3))
    assert list(unpacked.iterdir()) == []


def test_a_compressed_bomb_is_refused_by_its_growth(tmp_path: Path, unpacked: Path) -> None:
    bomb = member("rec/probe-results.ndjson", b"\0" * 300_000_000)
    path = archive(tmp_path, member("rec/recording.json", MANIFEST_TEXT), bomb)
    assert path.stat().st_size < 60_000
    assert "grows more than 2000-fold" in refusal(path)
    assert list(unpacked.iterdir()) == []
    assert "more than the 20000000 bytes that are allowed" in refusal(
        path, Limits(total_bytes=20_000_000, expansion=10**6)
    )


def test_a_bomb_inside_an_archive_is_refused_when_it_is_read(tmp_path: Path) -> None:
    line = b'{"key":"j","arrival_us":1,"value":1}\n'
    inner = zstandard.ZstdCompressor().compress(line * 1_000_000)
    manifest = MANIFEST_TEXT.replace(b'"topics": {}', b'"topics": {"probe-results": 1000000}')
    path = archive(tmp_path, member("recording.json", manifest), member("probe-results.ndjson.zst", inner))
    assert "probe-results.ndjson.zst: grows more than 2000-fold" in refusal(path)


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"format":' * 100_000, b"\xff\xfe", b'"\\ud800"', b""])
def test_a_manifest_or_a_truth_of_garbage_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "rec").mkdir()
    (tmp_path / "rec" / "recording.json").write_bytes(content)
    assert "recording.json" in refusal(tmp_path / "rec")
    (tmp_path / "rec" / "truth.json").write_bytes(content)
    with pytest.raises(RecordingError, match=r"truth\.json"):
        read_truth(tmp_path / "rec")


def test_a_manifest_that_never_ends_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rec").mkdir()
    (tmp_path / "rec" / "recording.json").write_bytes(b" " * 5000)
    assert "longer than the 4096 bytes" in refusal(tmp_path / "rec", Limits(about_bytes=4096))


@pytest.mark.parametrize("cut", [1, 100, 511, 600])
def test_an_archive_that_is_cut_off_or_spoiled_is_refused(tmp_path: Path, cut: int) -> None:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        entry, content = member("rec/recording.json", MANIFEST_TEXT)
        tar.addfile(entry, io.BytesIO(content))
    assert refusal(packed(tmp_path, raw.getvalue()[:cut]))


def test_honest_regular_data_is_read(tmp_path: Path, unpacked: Path) -> None:
    line = b'{"key": "j", "arrival_us": 1, "value": {"n": 1}}\n'
    manifest = MANIFEST_TEXT.replace(b'"topics": {}', b'"topics": {"probe-results": 100000}')
    path = archive(tmp_path, member("rec/recording.json", manifest), member("rec/probe-results.ndjson", line * 100_000))
    with Recording(path) as recording:
        assert sum(1 for _ in recording.lines()) == 100_000
    assert list(unpacked.iterdir()) == []
