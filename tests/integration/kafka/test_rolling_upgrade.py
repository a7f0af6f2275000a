"""Workers of two versions in one group: an upgrade, one worker after another, and back again, must not show.

The earlier version is a commit of this repository, unpacked beside it; where the history is not there, as in a shallow
clone or an archive, this is skipped.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from orjson import Fragment

from skeletonhunter.recordings.reader import Recording
from skeletonhunter.recordings.writer import RecordingWriter
from skeletonhunter.replaying.kafka import Cast, replay_with
from skeletonhunter.replaying.kafka_services import Program, Services, skeletonhunter
from skeletonhunter.replaying.request import ReplayRequest
from skeletonhunter.settings import Settings, WorkerSettings
from tests.kafka_bench import assert_same, kafka_settings, toy_settings, toy_worker, toys_locally, toys_over_kafka
from tests.toy_pipeline import TOYS
from tests.toy_recordings import write_toy_recording
from tests.toys import at

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

CHECKOUT = Path(__file__).parents[3]
EARLIER = "226dc05"
SECONDS = 60
INCIDENT = CHECKOUT / "examples" / "incidents" / "stale-flow-offload"
UNTIL_S = 110


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """A worker of the earlier version."""
    archive = subprocess.run(["git", "-C", str(CHECKOUT), "archive", EARLIER], capture_output=True, check=False)
    if archive.returncode:
        pytest.skip(f"the history of the repository is not here: {archive.stderr.decode().strip()[:200]}")
    folder = tmp_path_factory.mktemp("earlier")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
        tar.extractall(folder, filter="data")
    script = str(CHECKOUT / "tests" / "earlier_worker.py")
    run = ("env", f"PYTHONPATH={folder}", sys.executable, "-P", script, "--config", "{settings}")
    return Program("earlier", run)


def test_workers_of_two_versions_share_a_group_and_an_upgrade_does_not_show(
    broker: str, tmp_path: Path, earlier: Program
) -> None:
    """The earlier one begins, ours joins, the earlier one goes, comes back, and goes for good."""
    recording = write_toy_recording(tmp_path / "recording", SECONDS, shuffled_by=5)
    ours, done = toy_worker("ours"), []
    with_toys = Program("earlier", (*earlier.command, "toys"))

    def at_second(second: float, name: str, handled_us: int) -> bool:
        due = handled_us >= at(second) and name not in done
        if due:
            done.append(name)
        return due

    def upgrade(running: Services, handled_us: int) -> None:
        if at_second(8, "joined", handled_us):
            code = earlier.command[1].removeprefix("PYTHONPATH=")
            assert f"stages of {code}/streams/" in (running.folder / "earlier.log").read_text()
            running.start(ours)
        if at_second(22, "left", handled_us):
            running.stop(["earlier"])
        if at_second(34, "back", handled_us):
            running.start(with_toys)
        if at_second(46, "gone", handled_us):
            running.children.pop("earlier").kill()
            running.start(toy_worker("another"))

    cast = Cast((with_toys,), stages=TOYS, meanwhile=upgrade)
    found = toys_over_kafka(recording, toy_settings(broker, tmp_path), cast, speed=5.0)
    assert done == ["joined", "left", "back", "gone"]
    assert_same(found, toys_locally(recording))


def test_an_upgrade_of_the_real_stages_finds_what_there_is(broker: str, tmp_path: Path, earlier: Program) -> None:
    """Between the versions engines and topics have changed, so the incident is the same, not its bytes."""
    with Recording(INCIDENT) as recording, RecordingWriter(tmp_path / "beginning", level=1) as writer:
        begin_us = recording.manifest.start_us
        for line in recording.lines():
            if line.arrival_us <= begin_us + UNTIL_S * 1_000_000:
                writer.write(line.topic, line.key or "", line.arrival_us, Fragment(line.raw))
        writer.finish(recording.manifest)
    done: list[str] = []

    def upgrade(running: Services, handled_us: int) -> None:
        second = (handled_us - begin_us) / 1_000_000
        if second >= 30 and not done:
            running.start(skeletonhunter("work"))
            done.append("joined")
        if second >= 70 and done == ["joined"]:
            running.stop(["earlier"])
            done.append("left")

    settings = Settings(
        kafka=kafka_settings(broker, partitions=2), worker=WorkerSettings(data_dir=str(tmp_path / "data"))
    )
    with Recording(tmp_path / "beginning") as recording:
        request = ReplayRequest(recording, settings, speed=6.0, broker=broker)
        found = replay_with(Cast((earlier,), meanwhile=upgrade), request)
    assert done == ["joined", "left"]
    assert [incident.issue for incident in found.incidents()] == ["offloading_failure"]
    assert found.refused == {}
