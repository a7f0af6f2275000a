"""Recordings are read as written, merged in order of arrival, and refused with one sentence that names the place."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from skeletonhunter.recordings.files import Limits
from skeletonhunter.recordings.journal import Journal
from skeletonhunter.recordings.manifest import RecordingError
from skeletonhunter.recordings.reader import Line, Recording, read_truth
from skeletonhunter.recordings.writer import RecordingWriter, about, write_lines

ABOUT = about("r", "a test", (1_000, 2_000), "tests", "Apache-2.0")
JSON = st.recursive(st.none() | st.integers(-(2**53), 2**53) | st.text(), lambda inner: st.lists(inner, max_size=3))
LINES = st.lists(
    st.tuples(
        st.sampled_from(["probe-results", "agent-health", "rnic-bursts"]),
        st.text(min_size=1, max_size=5),
        st.integers(0, 2**53 - 1),
        JSON,
    ),
    max_size=30,
)


def write(folder: Path, lines: list[tuple[str, str, int, Any]], name: str = "rec", compress: bool = True) -> Path:
    with RecordingWriter(folder / name, compress=compress) as writer:
        write_lines(writer, lines)
        writer.finish(ABOUT)
    return folder / name


def by_hand(folder: Path, files: dict[str, bytes], **changes: Any) -> Path:
    """A recording whose files are given byte by byte."""
    folder.mkdir(exist_ok=True)
    manifest = {"format": "skeletonhunter-recording", "version": 1, "name": "r", "start_us": 0, "end_us": 9}
    manifest |= {"topics": {name.split(".")[0]: text.count(b"\n") for name, text in files.items()}} | changes
    (folder / "recording.json").write_bytes(orjson.dumps(manifest))
    for name, text in files.items():
        (folder / name).write_bytes(text)
    return folder


def read(path: Path, limits: Limits | None = None) -> list[Line]:
    with Recording(path, limits) as recording:
        return list(recording.lines())


@settings(max_examples=60, deadline=None)
@given(LINES, st.sampled_from(["rec", "rec.tar.zst"]), st.booleans())
def test_what_was_written_is_read_in_order_of_arrival(lines: Any, name: str, compress: bool) -> None:
    with TemporaryDirectory() as folder:
        found = read(write(Path(folder), lines, name, compress))
    merged = sorted(sorted(lines, key=lambda line: line[2]), key=lambda line: (line[2], line[0]))
    assert [(line.topic, line.key, line.arrival_us, orjson.loads(line.raw)) for line in found] == merged


@pytest.mark.parametrize("name", ["rec", "rec.tar.zst"])
def test_equal_content_is_equal_bytes(tmp_path: Path, name: str) -> None:
    lines = [("probe-results", "j", n, {"n": n}) for n in range(50)]
    contents = []
    for turn in ("a", "b"):
        (tmp_path / turn).mkdir()
        path = write(tmp_path / turn, lines, name)
        files = [path] if path.is_file() else sorted(path.iterdir())
        contents.append([(file.name, file.read_bytes()) for file in files])
    assert contents[0] == contents[1]


def test_lines_out_of_order_keep_their_order_within_their_topic(tmp_path: Path) -> None:
    rows = [b'{"key":"k","arrival_us":%d,"value":%d}\n' % (at, at) for at in (5, 3, 9)]
    others = [b'{"key":"k","arrival_us":%d,"value":%d}\n' % (at, at) for at in (4, 6)]
    path = by_hand(tmp_path, {"probe-results.ndjson": b"".join(rows), "agent-health.ndjson": b"".join(others)})
    assert [(line.topic[0], line.arrival_us) for line in read(path)] == [
        ("a", 4),
        ("p", 5),
        ("p", 3),
        ("a", 6),
        ("p", 9),
    ]


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        (b'{"key":"k","arrival_us":1,"value":{"v":NaN}}', b'{"v":NaN}'),
        (b'{"key":"k","arrival_us":1,"value":{"v":1,"t}', b'{"v":1,"t'),
        (b'{"key":null,"arrival_us":1,"value":"text"}', b'"text"'),
        (b'{"key":"k","arrival_us":1,"value":1e999}', b"1e999"),
        (b'{"key":"k","arrival_us":1,"value":{"a":"\xff"}}', b'{"a":"\xff"}'),
    ],
)
def test_a_broken_value_is_handed_on_as_it_stands(tmp_path: Path, text: bytes, raw: bytes) -> None:
    (line,) = read(by_hand(tmp_path, {"probe-results.ndjson": text + b"\n"}))
    assert (line.arrival_us, line.raw) == (1, raw)


GOOD = b'{"key":"k","arrival_us":1,"value":{}}\n'
PACKED = zstandard.ZstdCompressor().compress(GOOD * 400)


@pytest.mark.parametrize(
    ("files", "changes", "message"),
    [
        ({"probe-results.ndjson": b"{}\n"}, {}, "rec/probe-results.ndjson:1: Object missing required field `key`"),
        ({"probe-results.ndjson": GOOD + b"oops\n"}, {}, "rec/probe-results.ndjson:2: JSON is malformed"),
        ({"probe-results.ndjson": b'{"key":"k","arrival_us":"1","value":1}\n'}, {}, ":1: Expected `int`, got `str`"),
        ({"probe-results.ndjson": b'{"key":"k","arrival_us":-1,"value":1}\n'}, {}, ":1: arrival_us is -1, expected"),
        ({"probe-results.ndjson": GOOD}, {"topics": {"probe-results": 2}}, "has 1 lines, but recording.json says 2"),
        ({}, {"topics": {"probe-results": 2}}, "names topic 'probe-results', but there is no probe-results.ndjson"),
        ({}, {"topics": {"probe-results": -2}}, "rec/recording.json: Expected `int` >= 0"),
        ({}, {"format": "tape"}, "rec/recording.json: format is 'tape', expected 'skeletonhunter-recording'"),
        ({}, {"version": 2}, "rec/recording.json: version is 2, expected 1"),
        ({}, {"start_us": 10}, "rec/recording.json: end_us 9 is before start_us 10"),
        ({}, {"topics": {"../x": 1}}, "topics names '../x', expected letters"),
        ({}, {"start_us": "x"}, "rec/recording.json: Expected `int`, got `str`"),
        ({"probe-results.ndjson.zst": PACKED[:-20]}, {"topics": {"probe-results": 400}}, "the file is cut off"),
        ({"probe-results.ndjson.zst": b"no zstd"}, {}, "rec/probe-results.ndjson.zst: damaged zstd data"),
        ({"probe-results.ndjson": GOOD, "probe-results.ndjson.zst": PACKED}, {}, "has both probe-results.ndjson and"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    tmp_path: Path, files: dict[str, bytes], changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(RecordingError) as caught:
        read(by_hand(tmp_path / "rec", files, **changes))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_several_frames_are_one_file(tmp_path: Path) -> None:
    frame = zstandard.ZstdCompressor().compress(GOOD)
    path = by_hand(tmp_path, {"probe-results.ndjson.zst": frame * 3}, topics={"probe-results": 3})
    assert len(read(path)) == 3


def test_a_bomb_is_refused(tmp_path: Path) -> None:
    bomb = zstandard.ZstdCompressor().compress(b"\0" * 50_000_000)
    path = by_hand(tmp_path, {"probe-results.ndjson.zst": bomb}, topics={"probe-results": 1})
    with pytest.raises(RecordingError, match=r"zst:1: the line is longer than 1000000 bytes"):
        read(path, Limits(line_bytes=1_000_000, expansion=10**6))
    with pytest.raises(RecordingError, match="more than the 2000000 bytes"):
        read(path, Limits(total_bytes=2_000_000, expansion=10**6))


def test_topics_of_the_future_are_left_out_and_named(tmp_path: Path) -> None:
    path = by_hand(tmp_path, {"probe-results.ndjson": GOOD, "moon-phase.ndjson": GOOD})
    with Recording(path) as recording:
        assert recording.skipped == ("moon-phase",)
        assert [line.topic for line in recording.lines()] == ["probe-results"]


@pytest.mark.parametrize("name", ["/etc/x", "rec/../x", "rec/a/b"])
def test_an_archive_must_not_reach_outside(tmp_path: Path, name: str) -> None:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    path = tmp_path / "rec.tar.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(raw.getvalue()))
    with pytest.raises(RecordingError, match="expected plain files in one directory"):
        Recording(path)


def test_an_archive_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, [("probe-results", "j", n, {"n": str(n) * 40}) for n in range(500)], "rec.tar.zst")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(RecordingError, match="cut off"):
        Recording(path)


def test_a_recording_is_not_written_over_another(tmp_path: Path) -> None:
    write(tmp_path, [("probe-results", "j", 1, {})])
    with pytest.raises(RecordingError, match="is not empty"):
        write(tmp_path, [])


def test_the_writer_refuses_lines_out_of_order(tmp_path: Path) -> None:
    with RecordingWriter(tmp_path / "r") as writer:
        writer.write("probe-results", "j", 2, {})
        with pytest.raises(RecordingError, match="line 2 arrived before"):
            writer.write("probe-results", "j", 1, {})


def test_truth_is_read_only_on_request(tmp_path: Path) -> None:
    folder = by_hand(tmp_path, {})
    assert read_truth(folder) is None
    (folder / "truth.json").write_bytes(b'{"faults": [{"fault": "f"}]}')
    assert read(folder) == []
    with pytest.raises(RecordingError, match=r"truth\.json: Object missing required field"):
        read_truth(folder)


@pytest.mark.parametrize("name", ["rec", "rec.tar.zst"])
def test_what_stands_where_a_recording_is_to_go_stays(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    place.write_text("the only copy")
    with pytest.raises(RecordingError, match=f"{name}: is there already, a recording needs a new place"):
        RecordingWriter(place)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "the only copy")]


def test_a_place_below_a_file_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RecordingError, match=r"file/rec: can't be made: Not a directory"):
        RecordingWriter(tmp_path / "file" / "rec")


def test_an_archive_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tarfile.TarFile, "addfile", full)
    with pytest.raises(RecordingError, match="No space left"):
        write(tmp_path, [("agent-health", "k", 1, None)], "rec.tar.zst")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_may_not_be_read_is_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path, [])
    monkeypatch.setattr(Path, "is_file", forbidden)
    with pytest.raises(RecordingError, match=f"^{path}: can't be read: Permission denied$"):
        read(path)


def test_a_cut_that_has_no_place_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RecordingError, match=r"file/rec\.partial: can't be made: Not a directory"):
        Journal(tmp_path / "file" / "rec", {}, 1).__enter__()
