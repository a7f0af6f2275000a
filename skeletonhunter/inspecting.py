"""What do single stages say of a recording? Runs them in this process and keeps what they emit, by job."""

from __future__ import annotations

from dataclasses import dataclass, field

from schemas.envelope import Value
from schemas.plan_changes import newer_plan
from schemas.probing import ProbePlan, ProbePlanDelta
from schemas.skeletons import SkeletonUpdate
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.replaying.local import LocalReplay, Observer
from skeletonhunter.replaying.outcome import Progress, ReplayOutcome
from streams.parameters import Parameters


class NothingToInspectError(ValueError):
    """The recording holds no job to look at; the text is one sentence."""


@dataclass(slots=True)
class Conclusions:
    """Skeletons and plans (whole, after each delta) of each job, in the order in which they were sent."""

    skeletons: dict[str, list[SkeletonUpdate]] = field(default_factory=dict)
    plans: dict[str, list[ProbePlan]] = field(default_factory=dict)
    outcome: ReplayOutcome = field(default_factory=ReplayOutcome)

    def observe(self, _topic: str, key: str, _arrival_us: int, value: Value) -> None:
        """Takes note of a message."""
        if isinstance(value, SkeletonUpdate):
            self.skeletons.setdefault(key, []).append(value)
        elif isinstance(value, ProbePlan | ProbePlanDelta):
            versions = self.plans.setdefault(key, [])
            before = versions[-1] if versions else None
            after = newer_plan(before, value)
            if after is not None and after is not before:
                versions.append(after)


def inspect(
    recording: Recording,
    parameters: Parameters,
    stages: tuple[str, ...],
    progress: Progress,
    observers: tuple[Observer, ...] = (),
) -> Conclusions:
    """What ``stages`` conclude from the whole recording; ``observers`` see every message as well.

    Raises:
        RecordingError: the recording is wrong.
        NothingToInspectError: it names no job.
    """
    conclusions = Conclusions()
    replay = LocalReplay(parameters, stages, observers=(conclusions.observe, *observers))
    conclusions.outcome = replay.run(recording, progress)
    if not conclusions.skeletons:
        raise NothingToInspectError(f"{recording.path}: no usable endpoint-map, so there is no job to look at")
    return conclusions
