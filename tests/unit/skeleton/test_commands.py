"""``infer`` and ``plan`` over a recording: what they print, and how they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from skeletonhunter.cli import InputError, build_cli
from tests.simulated_jobs import Shape, name_of, write_recording

SHAPE = Shape(tp=2, pp=2, dp=3)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recording(tmp_path_factory.mktemp("rec") / "simulated", SHAPE, 80)


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(build_cli(), [str(argument) for argument in arguments])
    if isinstance(result.exception, InputError):
        raise result.exception
    return result


def true_pairs() -> set[tuple[str, ...]]:
    return {tuple(sorted((name_of(SHAPE, a), name_of(SHAPE, b)))) for a, b in SHAPE.edges()}


def test_infer_gives_the_skeleton_as_one_object(recording: Path) -> None:
    found = json.loads(run("infer", recording, "--json").stdout)
    assert {(a, b) for a, b, _ in found["edges"]} == true_pairs()
    assert found["state"] == "trusted"
    assert found["parallelism"]["pp"] == 2
    assert found.keys() >= {"groups", "confidence", "coverage", "period_s", "reason", "evidence"}


def test_history_is_a_list_from_forming_to_trusted(recording: Path) -> None:
    found = json.loads(run("infer", recording, "--json", "--history").stdout)
    assert [update["version"] for update in found] == list(range(1, len(found) + 1))
    assert (found[0]["state"], found[-1]["state"]) == ("forming", "trusted")


def test_infer_for_people(recording: Path) -> None:
    text = run("infer", recording).stdout
    for part in ("j: trusted", "period", "parallelism", "confidence", "12 dp", "6 pp"):
        assert part in text


def test_plan_covers_the_skeleton_in_as_few_slots_as_can_be(recording: Path) -> None:
    found = json.loads(run("plan", recording, "--json").stdout)
    pairs = [(src, dst) for slot in found["slots"] for src, dst, _ in slot]
    assert {tuple(sorted(pair)) for pair in pairs} == true_pairs()
    assert len(pairs) == len(set(pairs)) == 2 * len(true_pairs())
    assert found["mode"] == "skeleton"
    assert found["expected"]["round_s"] <= found["expected"]["lower_bound_s"] * 4 / 3


def test_plan_keeps_the_budget(recording: Path) -> None:
    found = json.loads(
        run("plan", recording, "--json", "--round-s", "0.2", "--targets", "2", "--directions", "alternate").stdout
    )
    ends = [end for slot in found["slots"] for src, dst, _ in slot for end in (src, dst)]
    assert found["expected"]["round_s"] <= 0.2
    assert max(ends.count(end) for end in set(ends)) <= 2
    assert found["budget"]["targets_per_rnic"] == 2


def test_plan_for_people(recording: Path) -> None:
    text = run("plan", recording).stdout
    for part in ("skeleton plan", "slots", "round", "at least", "excluded"):
        assert part in text


@pytest.mark.parametrize("command", ["infer", "plan"])
def test_wrong_input_is_one_sentence(command: str, recording: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        run(command, tmp_path / "nothing")
    with pytest.raises(InputError, match="there is no job 'k', expected one of j"):
        run(command, recording, "--job", "k")


def test_a_wrong_budget_is_refused_by_name(recording: Path) -> None:
    with pytest.raises(InputError, match="pps_per_rnic"):
        run("plan", recording, "--pps", "-1")


def test_a_recording_without_a_job_is_refused(tmp_path: Path, recording: Path) -> None:
    for file in recording.iterdir():
        if "endpoint-map" not in file.name:
            (tmp_path / file.name).write_bytes(file.read_bytes())
    manifest = json.loads((tmp_path / "recording.json").read_text())
    del manifest["topics"]["endpoint-map"]
    (tmp_path / "recording.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="there is no job to look at"):
        run("infer", tmp_path)


@pytest.mark.parametrize("command", ["infer", "plan"])
def test_pictures_need_a_folder_before_there_is_anything_to_draw(command: str, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.touch()
    with pytest.raises(InputError, match=r"taken: expected a folder, but .*taken is none"):
        run(command, tmp_path / "no-recording", "--plots", taken)
