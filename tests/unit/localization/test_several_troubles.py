"""Three troubles at once in one small fabric: each is told, and nobody else is blamed, not even for a moment."""

from __future__ import annotations

import json
from pathlib import Path

from skeletonhunter.recordings.reader import Recording
from skeletonhunter.replaying.local import replay_in_process
from skeletonhunter.replaying.request import ReplayRequest
from skeletonhunter.settings import Settings
from tests.chaos.story import write_story


def test_an_agent_dies_beside_a_corrupting_fibre_and_a_port_goes_down(tmp_path: Path) -> None:
    """Trains can't tell the fibre from the next one: only its counters can. The dead agent's pairs come over both."""
    story = write_story(tmp_path / "story")
    truth = json.loads((story / "truth.json").read_bytes())
    with Recording(story) as opened:
        updates = replay_in_process(ReplayRequest(opened, Settings())).updates
    faults = {(fault["kind"], fault["component"]) for fault in [*truth["faults"], *truth.get("monitor_faults", [])]}
    assert len(faults) == 3
    assert {(update.kind, update.component) for update in updates} == faults
