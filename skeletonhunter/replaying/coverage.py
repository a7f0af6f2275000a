"""What does a recording tell of paths that no probe crosses, and no incident speaks of? For whoever shows a replay."""

from __future__ import annotations

from collections.abc import Sequence

from localization.coverage import TOPICS, BeyondProbes, Remark
from schemas.codec import BadRecord, decode
from schemas.diagnosis import Incident
from schemas.envelope import Message
from skeletonhunter.recordings.reader import Recording


def out_of_coverage(recording: Recording, incidents: Sequence[Incident]) -> tuple[Remark, ...]:
    """Remarks on a recording whose incidents (last states) are known; values that can't be read say nothing.

    Raises:
        RecordingError: the recording is wrong.
    """
    beyond = BeyondProbes()
    for line in recording.lines():
        if line.topic in TOPICS:
            try:
                value = decode(line.topic, line.key, line.raw, line.arrival_us)
            except BadRecord:
                continue  # the replay has told of it
            if isinstance(value, Message):
                beyond.take(value)
    return beyond.remarks(incidents)
