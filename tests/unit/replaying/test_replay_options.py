"""``replay`` refuses options that would do nothing, and places that can't be written, before it replays for hours."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from skeletonhunter.cli import InputError, build_cli
from skeletonhunter.recordings.writer import RecordingWriter, about


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    with RecordingWriter(tmp_path / "rec") as writer:
        writer.finish(about("r", "nothing happens", (1_000, 2_000), "tests", "Apache-2.0"))
    return tmp_path / "rec"


def run(*words: str) -> Result:
    return CliRunner().invoke(build_cli("replay"), ["replay", *words], catch_exceptions=False)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kafka", "broker:9092"], "--kafka needs --engine kafka"),
        (["--all-updates"], "--all-updates needs -o"),
    ],
)
def test_an_option_that_would_do_nothing_is_bad_usage(words: list[str], said: str) -> None:
    done = run("no-recording", *words)
    assert done.exit_code == 2
    assert said in done.output


def test_a_file_that_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no folder .*nowhere"):
        run("no-recording", "-o", str(tmp_path / "nowhere" / "incidents.ndjson"))
    with pytest.raises(InputError, match="it is a folder, expected the name of a file"):
        run("no-recording", "-o", str(tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"there is no folder .*file"):
        run("no-recording", "-o", str(tmp_path / "file" / "incidents.ndjson"))


def test_what_is_compared_with_is_read_before_it_is_written_over(recording: Path, tmp_path: Path) -> None:
    place = tmp_path / "incidents.ndjson"
    place.write_text("no incident\n")
    with pytest.raises(InputError, match=r"incidents\.ndjson:1: "):
        run(str(recording), "-o", str(place), "--against", str(place))
    assert place.read_text() == "no incident\n"
