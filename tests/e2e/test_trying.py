"""Other parameters are tried on a recording, and what they change is told."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner, Result

from skeletonhunter.cli import InputError, build_cli
from skeletonhunter.replaying.simulating import simulate_recording
from skeletonhunter.testbed.scenario import FabricPlan, FaultPlan, JobPlan, Scenario

SCENARIO = Scenario(
    name="trying",
    seed=4,
    seconds=70,
    fabric=FabricPlan(hosts=4, rails=2, hosts_per_leaf=2, spines=2),
    jobs=(JobPlan(tp=2, pp=1, dp=4, period_s=5.0),),
    faults=(FaultPlan(what="crc_error", start_s=30, end_s=60, severity=0.7),),
    probes_per_train=50,
)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trying") / "recording"
    simulate_recording(SCENARIO, path, None)
    return path


def run(*words: object) -> Result:
    arguments = [str(word) for word in words]
    return CliRunner().invoke(build_cli(arguments[0]), arguments)


def test_a_replay_does_not_differ_from_itself_but_does_with_other_parameters(recording: Path, tmp_path: Path) -> None:
    kept = tmp_path / "usual.ndjson"
    assert run("replay", recording, "-o", kept).exit_code == 0
    assert kept.read_bytes()
    same = run("replay", recording, "--against", kept)
    assert (same.exit_code, same.stdout) == (0, "0 gone, 0 new, 0 changed, 1 the same\n")
    other = tmp_path / "other.ndjson"
    tried = run("replay", recording, "--set", "localization.settle_s=4", "--against", recording, "-o", other, "--json")
    assert tried.exit_code == 1
    [change] = orjson.loads(tried.stdout)["changed"]
    moved = change["fields"]["localized_us"]
    assert moved["after"] > moved["before"]
    assert run("diff", kept, other).exit_code == 1
    assert run("diff", other, other).exit_code == 0
    assert orjson.loads(run("diff", kept, other, "--json").stdout)["changed"] == [change]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--set", "localization.settled_s=4"],
            "localization has no parameter 'settled_s', expected one of settle_s, ",
        ),
        (["--set", "localization.settle_s=-4"], "flag for parameters.localization.settle_s: Expected `float` >= 0.0"),
        (["--against", "/no/such/file"], "/no/such/file"),
    ],
)
def test_what_can_not_be_tried_is_said_in_one_sentence(recording: Path, words: list[str], sentence: str) -> None:
    answer = run("replay", recording, *words)
    assert isinstance(answer.exception, InputError)
    assert sentence in str(answer.exception) and "\n" not in str(answer.exception)
