"""Agents carry out the plans that the engines make, and the command writes what it was asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from schemas.codec import decode
from schemas.probing import ProbeResults
from skeletonhunter.recordings.reader import Recording, read_truth
from skeletonhunter.replaying.simulating import simulate_recording
from skeletonhunter.testbed.scenario import FabricPlan, JobPlan, Scenario
from streams.parameters import Parameters

PROGRAM = "from skeletonhunter.cli import main; main()"
SCENARIO = Scenario(
    name="loop",
    seed=6,
    seconds=60,
    fabric=FabricPlan(hosts=4, rails=4, hosts_per_leaf=2, spines=2),
    jobs=(JobPlan(tp=4, pp=2, dp=2, period_s=6.0, spread=0.005),),
)


def results_of(path: Path) -> list[ProbeResults]:
    with Recording(path) as recording:
        values = [
            decode(line.topic, line.key, line.raw, line.arrival_us)
            for line in recording.lines()
            if line.topic == "probe-results"
        ]
    return [value for value in values if isinstance(value, ProbeResults)]


def test_agents_wait_for_a_plan_and_follow_it(tmp_path: Path) -> None:
    simulate_recording(SCENARIO, tmp_path / "closed", Parameters())
    results = results_of(tmp_path / "closed")
    with Recording(tmp_path / "closed") as recording:
        start_us = recording.manifest.start_us
    assert min(message.t_us for message in results) > start_us + 2_000_000
    assert {message.plan_version for message in results} >= {2, 3}, "the first is replaced when the fabric is known"
    rails = {
        (message.src.rpartition("/")[2], result.dst.rpartition("/")[2])
        for message in results
        for result in message.results
    }
    assert all(a == b for a, b in rails)


def test_the_closed_loop_is_deterministic(tmp_path: Path) -> None:
    for name in ("a", "b"):
        simulate_recording(SCENARIO, tmp_path / name, Parameters())
    for made in sorted((tmp_path / "a").iterdir()):
        assert made.read_bytes() == (tmp_path / "b" / made.name).read_bytes(), made.name


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, check=False)


def test_the_command_simulates_a_file(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    fabric = "[fabric]\nhosts = 2\nrails = 2\nhosts_per_leaf = 1\n"
    file.write_text(f'name = "tiny"\nseconds = 30\n{fabric}[[jobs]]\ntp = 2\npp = 1\ndp = 2\n')
    done = run("simulate", str(file), "-o", str(tmp_path / "rec.tar.zst"), "--open-loop", "--json")
    assert done.returncode == 0, done.stderr
    printed = orjson.loads(done.stdout)
    assert printed["manifest"]["topics"]["probe-results"] > 50
    with Recording(tmp_path / "rec.tar.zst") as recording:
        assert sum(1 for _ in recording.lines()) == recording.count
        assert read_truth(recording.folder) is not None


@pytest.mark.parametrize(
    ("scenario", "sentence"),
    [
        ("issue-99-nothing-s-s01", "unknown subject 'issue-99-nothing'"),
        ("nonsense", "a file's name ends in .toml or .json"),
        ("/nowhere.toml", "/nowhere.toml: can't be read"),
    ],
)
def test_wrong_scenarios_are_one_sentence(tmp_path: Path, scenario: str, sentence: str) -> None:
    done = run("simulate", scenario, "-o", str(tmp_path / "x"))
    assert done.returncode == 1
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
