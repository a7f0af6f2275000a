"""Reads what scoring needs: a recording's truth and facts, and an incident list as ``replay -o`` writes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from schemas.codec import BadRecord, decode
from schemas.diagnosis import Incident
from schemas.truth import Truth
from skeletonhunter.recordings.manifest import TRUTH, RecordingError
from skeletonhunter.recordings.reader import Recording, read_truth
from skeletonhunter.scoring import FactsCollector, RecordingFacts
from skeletonhunter.scoring.facts import FACT_TOPICS

PROGRESS_EVERY = 500


class IncidentsError(ValueError):
    """An incident list that can't be read: one sentence with file and line."""


def truth_of(recording: Recording) -> Truth:
    """The recording's truth.

    Raises:
        RecordingError: it has none, or it can't be used.
    """
    truth = read_truth(recording.folder)
    if truth is None:
        raise RecordingError(f"{recording.path}: has no {TRUTH}, and without it there is nothing to score against")
    return truth


def collector_of(recording: Recording) -> FactsCollector:
    """A collector of the recording's facts that has seen nothing yet."""
    manifest = recording.manifest
    return FactsCollector(manifest.name, manifest.start_us, manifest.end_us)


def facts_of(recording: Recording, progress: Callable[[int], None] = lambda _: None) -> RecordingFacts:
    """What the recording says of itself; values that can't be read say nothing.

    Raises:
        RecordingError: the recording is wrong.
    """
    collector = collector_of(recording)
    for number, line in enumerate(recording.lines(), start=1):
        if line.topic in FACT_TOPICS:
            try:
                collector.observe(decode(line.topic, line.key, line.raw, line.arrival_us))
            except BadRecord:
                continue  # a dead letter of the pipeline as well; replay reports it
        if number % PROGRESS_EVERY == 0:
            progress(number)
    return collector.facts()


def read_incidents(path: Path) -> list[Incident]:
    """The incidents of a file, one JSON object per line, in order; several lines of one id are its states.

    Raises:
        IncidentsError: the file or a line can't be read.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise IncidentsError(f"{path}: can't be read: {error.strerror}") from error
    return [_incident(line, f"{path}:{number}") for number, line in enumerate(lines, start=1) if line.strip()]


def _incident(line: bytes, place: str) -> Incident:
    try:
        return msgspec.json.decode(line, type=Incident)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise IncidentsError(f"{place}: {error}, expected an incident as replay -o writes it") from error
