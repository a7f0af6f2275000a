"""Recordings keep what was recorded: messages of old versions in them are read as the newest one."""

from __future__ import annotations

import json
from pathlib import Path

from schemas.codec import decode
from schemas.telemetry import AgentHealth
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.recordings.writer import RecordingWriter, about
from skeletonhunter.reference.examples import examples


def test_a_recording_may_hold_both_versions_of_a_topic(tmp_path: Path) -> None:
    named = examples()["agent-health"]
    old, new = named["version-1.valid"], named["typical.valid"]
    with RecordingWriter(tmp_path / "rec") as writer:
        for example in (old, new):
            writer.write("agent-health", str(example.key), example.arrival_us, json.loads(bytes(example.value)))
        writer.finish(about("rec", "two versions", (old.arrival_us, new.arrival_us), "test", "Apache-2.0"))
    with Recording(tmp_path / "rec") as recording:
        lines = list(recording.lines())
    values = [decode(line.topic, line.key, line.raw, line.arrival_us) for line in lines]
    assert [json.loads(line.raw)["v"] for line in lines] == [1, 2]
    assert [(v.v, v.plan_version) for v in values if isinstance(v, AgentHealth)] == [(2, None), (2, 4)]
