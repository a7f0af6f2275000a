"""What happens to the fabric while the monitor is disturbed? One small recording with incidents all over its length.

24 RNICs for 150 s: a corrupting fibre, a probing agent that dies and comes back, a port that goes down. The incidents
begin, change and end between seconds 52 and 140, so that whatever is killed is killed in the middle of something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from skeletonhunter.recordings.reader import Line, Recording
from skeletonhunter.recordings.writer import RecordingWriter
from skeletonhunter.replaying.simulating import simulate_recording
from skeletonhunter.testbed.scenario import FabricPlan, FaultPlan, JobPlan, Scenario
from streams.parameters import Parameters

SECONDS = 150
STORY = Scenario(
    name="chaos",
    seed=5,
    seconds=SECONDS,
    description="Two faults of the network and a probing agent that dies.",
    fabric=FabricPlan(hosts=8, rails=4, hosts_per_leaf=4, spines=2),
    jobs=(JobPlan(kind="dense", tp=4, pp=2, dp=3, period_s=12.0),),
    faults=(
        FaultPlan(what="crc_error", start_s=45.0, end_s=80.0, severity=0.8),
        FaultPlan(what="agent_missing", start_s=60.0, end_s=100.0),
        FaultPlan(what="switch_port_down", start_s=95.0, end_s=125.0, severity=0.9),
    ),
)

Lines = Iterable[Line]


def write_story(folder: Path) -> Path:
    """The undisturbed recording, with the probes of the closed loop."""
    simulate_recording(STORY, folder, Parameters())
    return folder


def retold(story: Path, folder: Path, change: Callable[[Lines], Lines]) -> Path:
    """The story as it arrives after ``change``: lines come, go, or arrive at other instants."""
    with Recording(story) as recording, RecordingWriter(folder, level=1) as writer:
        for line in sorted(change(recording.lines()), key=lambda line: line.arrival_us):
            writer.write_raw(line.topic, line.key, line.arrival_us, line.raw)
        writer.finish(recording.manifest)
    return folder
