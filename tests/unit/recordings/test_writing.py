"""A recording that can't be written is refused with one sentence, half of it is not left; others' files stay."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from skeletonhunter.cli.record import _cut
from skeletonhunter.recordings.anonymising import Anonymity
from skeletonhunter.recordings.cut import Cut, cut_recording
from skeletonhunter.recordings.manifest import RecordingError
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.recordings.writer import TAR_FORMAT, TOGETHER, RecordingWriter, about, entry_of
from skeletonhunter.settings import KafkaSettings, Settings

ABOUT = about("r", "a test", (0, 1_000), "tests", "")


def write_to_a_full_disk(path: Path, lines: int, compress: bool) -> None:
    with RecordingWriter(path, compress) as writer:
        name = f"agent-health.ndjson{'.zst' if compress else ''}"
        (writer.folder / name).symlink_to("/dev/full")
        for number in range(lines):
            writer.write("agent-health", "k", number, {"text": f"{number:0>100}" * 10})
        writer.finish(ABOUT)


@pytest.mark.parametrize("name", ["rec", "rec.tar.zst"])
@pytest.mark.parametrize("lines", [1, TOGETHER, 20 * TOGETHER])
@pytest.mark.parametrize("compress", [True, False])
def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path: Path, name: str, lines: int, compress: bool) -> None:
    with pytest.raises(RecordingError, match=rf"{name}(\.parts)?: can't be written: No space left on device"):
        write_to_a_full_disk(tmp_path / name, lines, compress)
    assert list(tmp_path.iterdir()) == []


def test_a_mistake_on_a_full_disk_is_told_as_it_is(tmp_path: Path) -> None:
    with (
        pytest.raises(RecordingError, match="arrived before the one above it"),
        RecordingWriter(tmp_path / "r") as made,
    ):
        (made.folder / "agent-health.ndjson.zst").symlink_to("/dev/full")
        made.write("agent-health", "k", 2, {})
        made.write("agent-health", "k", 1, {})
    assert list(tmp_path.iterdir()) == []


def test_a_cut_on_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("skeletonhunter.recordings.cut._Reader", lambda *_: None)
    monkeypatch.setattr("skeletonhunter.recordings.cut._read", full)
    with pytest.raises(RecordingError, match=r"rec: can't be written: No space left on device"):
        cut_recording(KafkaSettings(url="nowhere:1"), Cut((), 1), tmp_path / "rec", lambda _: None)


def test_what_stands_where_a_cut_is_to_wait_for_other_names_stays(tmp_path: Path) -> None:
    mine = tmp_path / "rec.named" / "the only copy"
    mine.parent.mkdir()
    mine.touch()
    with pytest.raises(RecordingError, match=r"rec\.named: is not empty"):
        _cut(Settings(), Cut((), 1), tmp_path / "rec", Anonymity(b"k" * 32), lambda _: None)
    assert mine.exists()


@pytest.mark.parametrize("arrival_us", [2**53, 2**64, 10**30])
def test_an_arrival_that_no_clock_has_is_refused_with_its_line(tmp_path: Path, arrival_us: int) -> None:
    with RecordingWriter(tmp_path / "rec", compress=False) as writer:
        writer.write("agent-health", "k", arrival_us, {})
        writer.finish(ABOUT)
    with (
        pytest.raises(RecordingError, match=r"agent-health\.ndjson:1: arrival_us is \d+, expected microseconds since"),
        Recording(tmp_path / "rec") as recording,
    ):
        list(recording.lines())


@pytest.mark.parametrize("size", [0, 2**33 - 1, 2**33, 2**40])
def test_a_file_in_an_archive_may_have_any_size(size: int) -> None:
    header = entry_of("rec/probe-results.ndjson.zst", size).tobuf(TAR_FORMAT)
    with tarfile.open(fileobj=io.BytesIO(header), mode="r|") as archive:
        found = archive.next()
    assert found is not None and found.size == size
    assert len(header) == 512 or size >= 2**33
