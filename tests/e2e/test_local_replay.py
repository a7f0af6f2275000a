"""A recorded incident goes in, a localized fault comes out: whatever the order, the speed, and what comes twice."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from schemas.diagnosis import Incident
from skeletonhunter.recordings.reader import Recording, read_truth
from skeletonhunter.recordings.writer import RecordingWriter
from skeletonhunter.replaying.local import LocalReplay
from skeletonhunter.replaying.outcome import ReplayOutcome, incident_lines
from skeletonhunter.replaying.pace import Pace
from skeletonhunter.replaying.simulating import simulate_recording
from skeletonhunter.testbed.scenario import FabricPlan, FaultPlan, JobPlan, Scenario
from streams.parameters import Parameters

INCIDENTS = Path(__file__).parents[2] / "examples/incidents"
PROGRAM = "from skeletonhunter.cli import main; main()"
Row = dict[str, Any]


def replay(path: Path, pace: Pace | None = None) -> ReplayOutcome:
    with Recording(path) as recording:
        return LocalReplay(Parameters(), pace=pace or Pace(None)).run(recording)


def only_incident(path: Path) -> Incident:
    (incident,) = replay(path).incidents()
    return incident


def test_the_production_incident_is_localized() -> None:
    truth = read_truth(INCIDENTS / "stale-flow-offload")
    assert truth is not None
    (fault,) = truth.faults
    incident = only_incident(INCIDENTS / "stale-flow-offload")
    assert (incident.kind, incident.issue) == ("network_fault", "offloading_failure")
    assert incident.component == fault.component
    assert incident.component_class == "rnic"
    assert set(incident.endpoints) >= set(fault.endpoints)
    assert abs(incident.onset_us - fault.start_us) < 3_000_000
    assert incident.localized_us is not None and incident.localized_us - fault.start_us < 20_000_000
    assert incident.action.kind == "quarantine" and incident.action.target == fault.component
    verdicts = {step.pass_: step.verdict for step in incident.trace}
    assert (verdicts["overlay"], verdicts["underlay"], verdicts["boundary"]) == ("clean", "clean", "suspect")


def test_the_readme_shows_what_the_demo_prints() -> None:
    incident = only_incident(INCIDENTS / "stale-flow-offload")
    headline = f"{incident.kind} {incident.issue}  {incident.component}  confidence {incident.confidence:.2f}"
    assert f"● {headline}  {incident.state}\n" in (INCIDENTS.parents[1] / "README.md").read_text()


def test_the_healthy_job_raises_no_incident() -> None:
    outcome = replay(INCIDENTS / "healthy-job")
    assert outcome.updates == []
    assert not outcome.refused


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of 90 s with an incident in it."""
    scenario = Scenario(
        name="small",
        seed=4,
        seconds=90,
        fabric=FabricPlan(hosts=4, rails=4, hosts_per_leaf=2, spines=2),
        jobs=(JobPlan(tp=4, pp=2, dp=2, period_s=8.0),),
        faults=(FaultPlan("rnic_port_down", 45.0, 85.0, severity=0.5),),
    )
    path = tmp_path_factory.mktemp("small") / "small"
    simulate_recording(scenario, path, None)
    return path


@pytest.fixture(scope="module")
def expected(small: Path) -> bytes:
    outcome = replay(small)
    assert outcome.updates
    return incident_lines(outcome.updates)


def rows_of(path: Path) -> list[tuple[str, Row]]:
    with Recording(path) as recording:
        return [
            (line.topic, {"key": line.key, "arrival_us": line.arrival_us, "value": orjson.loads(line.raw)})
            for line in recording.lines()
        ]


def write(path: Path, rows: list[tuple[str, Row]], source: Path) -> Path:
    """Lines as given, in files of their topics, whatever their order of arrival."""
    with Recording(source) as recording, RecordingWriter(path, compress=False) as writer:
        manifest = recording.manifest
        for topic, row in rows:
            (writer.files.get(topic) or writer.open_topic(topic)).last_us = 0  # lines out of order are to be tested
            writer.write(topic, row["key"], row["arrival_us"], row["value"])
        writer.finish(manifest)
    return path


@pytest.mark.parametrize("seed", [1, 2])
def test_lines_shuffled_within_five_seconds_change_nothing(
    small: Path, expected: bytes, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    rows = rows_of(small)
    shuffled = sorted(rows, key=lambda item: item[1]["arrival_us"] + rng.uniform(0.0, 4_900_000.0))
    assert shuffled != rows
    assert incident_lines(replay(write(tmp_path / "r", shuffled, small)).updates) == expected


def test_arrivals_moved_within_five_seconds_change_nothing(small: Path, expected: bytes, tmp_path: Path) -> None:
    rng = random.Random(3)
    rows = [
        (topic, {**row, "arrival_us": row["arrival_us"] + rng.randrange(4_900_000)}) for topic, row in rows_of(small)
    ]
    rows.sort(key=lambda item: item[1]["arrival_us"])
    assert incident_lines(replay(write(tmp_path / "r", rows, small)).updates) == expected


def test_lines_that_come_twice_change_nothing(small: Path, expected: bytes, tmp_path: Path) -> None:
    rows = [item for row in rows_of(small) for item in (row, row)]
    outcome = replay(write(tmp_path / "r", rows, small))
    assert incident_lines(outcome.updates) == expected
    assert outcome.admissions["duplicate"] > 1_000


def test_a_slow_replay_waits_and_says_the_same(small: Path, expected: bytes) -> None:
    now, waited = 0.0, 0.0

    def wait(seconds: float) -> None:
        nonlocal now, waited
        now += seconds
        waited += seconds

    outcome = replay(small, Pace(20.0, now_s=lambda: now, wait=wait))
    assert incident_lines(outcome.updates) == expected
    assert waited == pytest.approx(90.0 / 20.0, abs=0.3)


def test_bad_values_are_dead_letters_with_their_place_and_disturb_nothing(
    small: Path, expected: bytes, tmp_path: Path
) -> None:
    rows = rows_of(small)
    at = next(n for n, (topic, _) in enumerate(rows) if topic == "probe-results")
    bad = [{"v": 99}, [], "text", {**rows[at][1]["value"], "src": None}]
    for number, value in enumerate(bad):
        rows.insert(at + 2 * number, ("probe-results", {**rows[at][1], "value": value}))
    outcome = replay(write(tmp_path / "r", rows, small))
    assert incident_lines(outcome.updates) == expected
    assert dict(outcome.refused) == {"unknown_version": 1, "not_an_object": 2, "invalid_value": 1}
    assert outcome.refusals[0].place == "r/probe-results.ndjson:1"


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *words]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, check=False)


def test_the_command_writes_incidents_and_prints_json(small: Path, expected: bytes, tmp_path: Path) -> None:
    lines = tmp_path / "incidents.ndjson"
    done = run("replay", str(small), "--json", "--all-updates", "-o", str(lines))
    assert done.returncode == 0, done.stderr
    assert lines.read_bytes() == expected
    printed = orjson.loads(done.stdout)
    last = {incident["incident"]: incident for incident in map(orjson.loads, expected.splitlines())}
    assert {incident["incident"]: incident for incident in printed["incidents"]} == last
    assert printed["dead_letters"]["count"] == 0


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["/nowhere"], 1, "/nowhere: there is no such file or directory"),
        (["{small}", "--stages", "detection,magic"], 1, "got 'magic' - at `$.worker.stages`"),
        (["{small}", "--speed", "fast"], 2, "'fast' is no speed"),
        (["{small}", "--clickhouse", "mysql://x"], 1, "unknown kind of DSN 'mysql'"),
        (["{small}", "-o", "/nowhere/x", "--stages", "skeleton"], 1, "/nowhere/x: can't be written"),
    ],
)
def test_wrong_input_is_one_sentence(small: Path, words: list[str], code: int, sentence: str) -> None:
    done = run("replay", *(word.format(small=small) for word in words), COLUMNS="200")
    assert done.returncode == code
    assert sentence in done.stderr
    assert code == 2 or done.stderr.count("\n") == 1


def test_the_bundled_incidents_are_what_the_script_makes(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(INCIDENTS / "make.py"), str(tmp_path)], check=True)
    for made in sorted(tmp_path.glob("*/*")):
        assert made.read_bytes() == (INCIDENTS / made.relative_to(tmp_path)).read_bytes(), made.name
