"""What do the engines say of a recording, and what does the recording say of itself? One pass for both."""

from __future__ import annotations

from pathlib import Path

from localization.coverage import BeyondProbes
from schemas.envelope import Value
from schemas.telemetry import DeviceEvent, JobProgress
from skeletonhunter.evaluation.ablations import EvidenceName, blinded
from skeletonhunter.evaluation.reading import collector_of, truth_of
from skeletonhunter.evaluation.running import Diagnosis
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.replaying.local import LocalReplay, Observer
from streams.parameters import Parameters


def diagnose(
    path: Path, parameters: Parameters, observers: tuple[Observer, ...] = (), without: EvidenceName | None = None
) -> Diagnosis:
    """Replays the recording through all stages in this process, in event time; ``observers`` see every message.

    ``without``: evidence that the engines do not get to see. Truth and facts are of the whole recording.

    Raises:
        RecordingError: the recording is wrong or has no truth.
    """
    with Recording(path) as recording:
        truth = truth_of(recording)
        collector, beyond = collector_of(recording), BeyondProbes()

        def observe(_topic: str, _key: str, _arrival_us: int, value: Value) -> None:
            collector.observe(value)
            if isinstance(value, DeviceEvent | JobProgress):
                beyond.take(value)

        replay = LocalReplay(parameters, observers=(observe, *observers))
        outcome = blinded(replay, without).run(recording)
    remarked = tuple(remark.subject for remark in beyond.remarks(outcome.incidents()))
    return Diagnosis(tuple(outcome.updates), collector.facts(), truth, remarked)
