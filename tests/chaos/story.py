"""What happens to the fabric while the monitor is disturbed? One small recording with incidents all over its length."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import structs

from skeletonhunter.recordings.reader import Line, Recording
from skeletonhunter.recordings.writer import RecordingWriter
from skeletonhunter.replaying.simulating import simulate_recording
from skeletonhunter.testbed.scenario import read_scenario
from streams.parameters import Parameters

SCENARIO = Path(__file__).with_name("story.toml")
SECONDS = 150

Lines = Iterable[Line]


def write_story(folder: Path, seconds: int = SECONDS) -> Path:
    """The undisturbed recording, with the probes of the closed loop; after ``SECONDS`` nothing new happens."""
    simulate_recording(structs.replace(read_scenario(SCENARIO), seconds=seconds), folder, Parameters())
    return folder


def retold(story: Path, folder: Path, change: Callable[[Lines], Lines]) -> Path:
    """The story as it arrives after ``change``: lines come, go, or arrive at other instants."""
    with Recording(story) as recording, RecordingWriter(folder, level=1) as writer:
        for line in sorted(change(recording.lines()), key=lambda line: line.arrival_us):
            writer.write_raw(line.topic, line.key, line.arrival_us, line.raw)
        writer.finish(recording.manifest)
    return folder
