"""``score``: figures of a recording on disk, and one clear sentence for whatever is wrong with the input."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner, Result

from schemas.codec import encode
from schemas.diagnosis import Incident
from schemas.folding import DERIVED_CLOCK, derived_producer
from schemas.maps import Ecmp, FabricMap, Link, Node
from schemas.truth import Truth
from skeletonhunter.cli import InputError, build_cli
from skeletonhunter.recordings.writer import RecordingWriter, about
from tests.unit.scoring.cases import START_US, at, fault, incident, truth


def fabric() -> FabricMap:
    return FabricMap(
        v=1,
        t_us=at(0),
        producer=derived_producer("t", "fab", 0),
        clock=DERIVED_CLOCK,
        fabric="fab",
        version=1,
        nodes=(Node(id="leaf-1", kind="leaf"), Node(id="h1/r0", kind="rnic")),
        links=(Link(id="a1", a="h1/r0/1", b="leaf-1/1"),),
        ecmp=Ecmp(method="traced"),
    )


def record(folder: Path, wrong: Truth | None) -> Path:
    path = folder / "rec"
    with RecordingWriter(path) as writer:
        writer.write("fabric-map", "fab", at(0), json.loads(encode("fabric-map", fabric())))
        manifest = about("rec", "", (START_US, at(100)), "hand-made", "CC0-1.0")
        writer.finish(manifest, None if wrong is None else msgspec.to_builtins(wrong))
    return path


def incidents(folder: Path, *said: Incident) -> Path:
    path = folder / "incidents.ndjson"
    path.write_bytes(b"".join(encode("incidents", item) + b"\n" for item in said))
    return path


def run(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(build_cli(), ["score", *map(str, arguments)])


def test_json_holds_figures_and_verdicts_with_the_fabric_s_equivalences(tmp_path: Path) -> None:
    recording = record(tmp_path, truth(fault("link:a1")))
    result = run(recording, incidents(tmp_path, incident("rnic:h1/r0")), "--json")
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert answer["figures"]["localization"]["component"]["share"] == 1.0
    assert answer["figures"]["localization"]["exact"]["share"] == 0.0
    assert answer["verdicts"]["faults"][0]["localization_s"] == 3.0


def test_table_names_fault_alarm_and_figures(tmp_path: Path) -> None:
    recording = record(tmp_path, truth(fault("link:a1", "crc_error")))
    result = run(recording, incidents(tmp_path, incident("rnic:h1/r0", "bond_error", "rnic")))
    assert result.exit_code == 0
    for words in ("link:a1", "after 3.0 s", "wrong class, issue", "component right"):
        assert words in " ".join(result.stdout.split())


def test_referee_counts_found_and_false(tmp_path: Path) -> None:
    recording = record(tmp_path, truth(fault("link:a1")))
    said = incidents(tmp_path, incident("rnic:h1/r0"), incident("host:h1", name="i2"))
    answer = json.loads(run(recording, said, "--referee", "--json").stdout)
    assert (answer["found"], answer["false_blames"], answer["precision"]) == (1, 1, 0.5)
    assert "1 / 1" in run(recording, said, "--referee").stdout


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"{", "incidents.ndjson:2: "),
        (b'{"v": 1}', "missing required field"),
        (b'"x"', "expected an incident as replay"),
    ],
)
def test_wrong_incident_line_is_named(tmp_path: Path, line: bytes, complaint: str) -> None:
    recording = record(tmp_path, truth())
    said = incidents(tmp_path, incident("rnic:h1/r0"))
    said.write_bytes(said.read_bytes() + line + b"\n")
    error = run(recording, said).exception
    assert isinstance(error, InputError)
    assert complaint in str(error)


def test_missing_inputs_are_named(tmp_path: Path) -> None:
    recording, said = record(tmp_path, None), incidents(tmp_path)
    for arguments, complaint in (
        ((recording, said), "rec: has no truth.json"),
        ((tmp_path / "nowhere", said), "nowhere: there is no such file or directory"),
        ((recording, tmp_path / "nothing"), "nothing: can't be read: No such file or directory"),
    ):
        error = run(*arguments).exception
        assert isinstance(error, InputError)
        assert complaint in str(error)
