"""What does the skeleton stage say of a recording, all of it or with a topic hidden? One pass in this process.

A *view* is what the stage may see: ``bursts`` is everything, ``counters`` hides the bursts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from schemas.envelope import Value
from schemas.maps import EndpointMap
from schemas.skeletons import SkeletonUpdate
from schemas.telemetry import RnicBursts, RnicCounters
from skeletonhunter.evaluation.skeletons.truths import Seats, SkeletonTruth, read_skeleton_truth, seats_of
from skeletonhunter.recordings.reader import Line, Recording
from skeletonhunter.replaying.local import LocalReplay
from streams.parameters import Parameters

View = Literal["bursts", "counters"]
BURSTS = "rnic-bursts"


class PartOfRecording(Recording):
    """A recording in which some topics were not observed."""

    def __init__(self, path: Path, hidden: frozenset[str]) -> None:
        self.hidden = hidden
        super().__init__(path)

    def __enter__(self) -> PartOfRecording:
        return self

    def lines(self) -> Iterator[Line]:
        """All lines but those of the hidden topics."""
        return (line for line in super().lines() if line.topic not in self.hidden)


class Watched(Struct):
    """What was seen and said of each job, in order. ``since_us``: event time of the first traffic that was seen."""

    updates: dict[str, list[SkeletonUpdate]] = field(default_factory=dict)
    seats: dict[str, Seats] = field(default_factory=dict)
    since_us: dict[str, int] = field(default_factory=dict)

    def observe(self, _topic: str, key: str, _arrival_us: int, value: Value) -> None:
        """Takes note of a message."""
        if isinstance(value, SkeletonUpdate):
            self.updates.setdefault(key, []).append(value)
        elif isinstance(value, EndpointMap):
            self.seats[key] = seats_of(value)
        elif isinstance(value, RnicCounters | RnicBursts):
            first = _first_us(value)
            if first is not None:
                self.since_us[key] = min(self.since_us.get(key, first), first)


def views_of(path: Path) -> tuple[View, ...]:
    """The views that a recording offers."""
    with Recording(path) as recording:
        return ("bursts", "counters") if BURSTS in recording.files else ("counters",)


def watch(path: Path, view: View, parameters: Parameters) -> tuple[Watched, SkeletonTruth]:
    """Runs the skeleton stage over a recording with truth.

    Raises:
        RecordingError: the recording is wrong or has no truth.
    """
    watched = Watched()
    with PartOfRecording(path, frozenset({BURSTS} if view == "counters" else ())) as recording:
        truth = read_skeleton_truth(recording)
        LocalReplay(parameters, ("skeleton",), observers=(watched.observe,)).run(recording)
    return watched, truth


def _first_us(value: RnicCounters | RnicBursts) -> int | None:
    if isinstance(value, RnicBursts):
        return min((burst.start_us for burst in value.bursts), default=None)
    return min((column.t_us[0] for column in value.rnics if column.t_us), default=None)
