"""The embedded broker, which keeps everything in memory, is killed in the middle of a replay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.chaos.conftest import Theatre

pytestmark = pytest.mark.chaos

PATIENCE_S = 120.0


@pytest.mark.usefixtures("long_form")
def test_a_replay_whose_embedded_broker_is_killed_fails_and_says_so(theatre: Theatre, tmp_path: Path) -> None:
    """Nothing of what was lost can be had again, so nothing is said instead of half of it."""
    said = tmp_path / "incidents.ndjson"
    options = ["--engine", "kafka", "--speed", "10", "--clickhouse", f"chdb://{tmp_path}/clickhouse", "-o", str(said)]
    command = [sys.executable, "-m", "skeletonhunter", "replay", str(theatre.story), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as replay:
        time.sleep(15.0)  # at this speed it lasts at least as long
        os.kill(broker_of(replay.pid), signal.SIGKILL)
        begun_s = time.monotonic()
        _, complaint = replay.communicate(timeout=PATIENCE_S)
    theatre.say(failed_after_s=round(time.monotonic() - begun_s, 1), complaint=complaint.strip().splitlines()[-1])
    assert replay.returncode == 1
    assert "Traceback" not in complaint
    assert not said.exists()


def broker_of(replay: int) -> int:
    """The broker among the processes that a replay has started."""
    children = Path(f"/proc/{replay}/task/{replay}/children").read_text().split()
    (broker,) = [int(child) for child in children if b"--storage-engine" in Path(f"/proc/{child}/cmdline").read_bytes()]
    return broker
