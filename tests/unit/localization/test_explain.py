"""``explain`` says in plain words what an incident rests on, and refuses what it can't read with one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from schemas.codec import encode
from schemas.diagnosis import Incident
from skeletonhunter.cli import InputError, build_cli
from tests.small_fabric import WELL, Suffers, by_time, endpoint, endpoint_map, fabric_map, incidents, probe_results, run

runner = CliRunner()


@pytest.fixture(scope="module")
def told() -> list[Incident]:
    def two(second: int, src: str, dst: str, path: tuple[str, ...]) -> Suffers:
        hit = second > 30 and (endpoint(3, 1) in (src, dst) or endpoint(6, 0) in (src, dst))
        return Suffers(loss=1.0) if hit else WELL

    return incidents(run(by_time([fabric_map(), endpoint_map(), *probe_results(60, two)])))


@pytest.fixture
def file(tmp_path: Path, told: list[Incident]) -> Path:
    path = tmp_path / "incidents.ndjson"
    path.write_bytes(b"\n".join(encode("incidents", incident) for incident in told))
    return path


def explain(*words: str, given: str | None = None) -> str:
    result = runner.invoke(build_cli(), ["explain", *words], input=given, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_every_pass_test_and_figure_is_told(file: Path, told: list[Incident]) -> None:
    incident = told[-1]
    text = explain(str(file), incident.incident)
    assert incident.component is not None
    for expected in (incident.component, incident.incident, incident.action.why, *incident.endpoints[:8]):
        assert expected in text
    for step in incident.trace:
        assert step.reason in text
        assert all(test.detail in text for test in step.tests)
    assert all(evidence.text in text for evidence in incident.evidence)


def test_json_is_the_incident_itself(file: Path, told: list[Incident]) -> None:
    wire = json.loads(explain(str(file), told[-1].incident, "--json"))
    assert msgspec.convert(wire, Incident) == told[-1]


def test_the_id_may_be_left_out_when_there_is_one(tmp_path: Path, told: list[Incident]) -> None:
    path = tmp_path / "one.ndjson"
    path.write_bytes(encode("incidents", told[0]))
    assert told[0].incident in explain(str(path))
    assert told[0].incident in explain("-", given=path.read_text())


def test_which_one_is_asked_for_when_there_are_several(file: Path) -> None:
    with pytest.raises(InputError, match=r"holds 2 incidents, expected the id of one of them: incident-"):
        explain(str(file))


def test_an_unknown_id_names_the_known_ones(file: Path) -> None:
    with pytest.raises(InputError, match=r"there is no incident 'incident-x', expected one of incident-"):
        explain(str(file), "incident-x")


def test_a_line_that_is_no_incident_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.ndjson"
    path.write_text('{"incident": 3}\n')
    with pytest.raises(InputError, match=r"bad\.ndjson:1: .*expected an incident"):
        explain(str(path))


def test_two_ids_are_bad_usage(file: Path) -> None:
    assert runner.invoke(build_cli(), ["explain", "a", "b"]).exit_code == 2


@pytest.mark.parametrize("command", [["explain"], ["report", "-o", "page.html"]])
def test_a_file_that_is_not_there_is_named_and_no_database_is_made(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        InputError, match=r"^incidents\.ndjsn: there is no such file, and chdb://\S+: there is no database"
    ):
        runner.invoke(build_cli(), [*command, "incidents.ndjsn"], catch_exceptions=False)
    assert list(tmp_path.iterdir()) == []


def test_a_word_that_can_be_no_file_is_an_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"there is no such file"):
        runner.invoke(build_cli(), ["explain", "i" * 5000], catch_exceptions=False)
