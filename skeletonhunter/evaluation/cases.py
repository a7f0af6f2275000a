"""How does localization do on recordings of silently lossy links, counted as the referees of those cases count?

Each recording is replayed through the whole pipeline, detection included. Recordings whose names differ only in a
number at the end are one regime. The reference localizers get the trains of the same recordings; 007's threshold is the
one with the best pooled F1 on these very recordings, which flatters it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.envelope import Value
from schemas.probing import ProbeResults
from schemas.truth import Truth
from skeletonhunter.evaluation.diagnosing import diagnose
from skeletonhunter.evaluation.reference_localizers import THRESHOLDS_007, LossyTrain, vote, votes_of_007
from skeletonhunter.evaluation.running import Diagnosis
from skeletonhunter.recordings.archive import is_archive
from skeletonhunter.recordings.manifest import MANIFEST, RecordingError
from skeletonhunter.scoring import BlameCount, add_counts, count_blames
from skeletonhunter.scoring.places import Places
from skeletonhunter.scoring.referee import count_components
from streams.parameters import Parameters

OURS, VOTE, TUNED_007 = "ours", "vote", "007"
HEALTHY_US = 10_000_000
"""Of a recording without faults the reference localizers see what comes after its first seconds."""

Counts = dict[str, BlameCount]
"""By regime, in order of first appearance."""


class CaseCount(Struct, frozen=True):
    """What became of one recording: ours, the vote, and 007 at each threshold."""

    ours: BlameCount
    vote: BlameCount
    by_threshold: tuple[BlameCount, ...]


class CasesCount(Struct, frozen=True):
    """All recordings. ``threshold``: the one of 007 that was chosen."""

    methods: dict[str, Counts]
    threshold: float

    @property
    def ours(self) -> Counts:
        """What our engines found."""
        return self.methods[OURS]


def recordings_below(folder: Path) -> list[Path]:
    """The recordings directly in a folder, in alphabetical order.

    Raises:
        RecordingError: there is none.
    """
    found = sorted(path for path in folder.glob("*") if is_archive(path) or (path / MANIFEST).is_file())
    if not found:
        raise RecordingError(f"{folder}: holds no recordings, expected directories with {MANIFEST} or .tar.zst files")
    return found


def count_case(path: Path, parameters: Parameters) -> CaseCount:
    """Found faults and false blames of one recording, by every method.

    Raises:
        RecordingError: the recording is wrong or has no truth.
    """
    lossy: list[tuple[int, LossyTrain]] = []

    def observe(_topic: str, _key: str, _arrival_us: int, value: Value) -> None:
        if isinstance(value, ProbeResults):
            lossy.extend(
                (each.t_us, LossyTrain(value.src, each.dst, each.path or (), each.lost))
                for each in value.results
                if each.lost
            )

    diagnosis = diagnose(path, parameters, (observe,))
    since_us = _begin(diagnosis)
    trains = [train for t_us, train in lossy if t_us >= since_us]
    places = Places(diagnosis.facts)
    faults = [fault.component for fault in diagnosis.truth.faults if fault.kind == "network_fault"]
    return CaseCount(
        count_blames(diagnosis.truth, diagnosis.incidents, diagnosis.facts),
        count_components(faults, vote(trains), places),
        tuple(count_components(faults, votes_of_007(trains, share), places) for share in THRESHOLDS_007),
    )


def _begin(diagnosis: Diagnosis) -> int:
    truth: Truth = diagnosis.truth
    return min((fault.start_us for fault in truth.faults), default=diagnosis.facts.start_us + HEALTHY_US)


def count_cases(
    paths: Sequence[Path], parameters: Parameters, workers: int, finished: Callable[[int], None]
) -> CasesCount:
    """The counts of each method and regime."""
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        futures = [pool.submit(count_case, path, parameters) for path in paths]
        for future in futures:
            future.add_done_callback(lambda _: finished(sum(other.done() for other in futures)))
        found = [future.result() for future in futures]
    return gather_cases([regime_of(path) for path in paths], found)


def gather_cases(regimes: Sequence[str], found: Sequence[CaseCount]) -> CasesCount:
    """The counts of recordings by regime; 007's threshold is chosen here, the lower one of equals."""
    pooled = [add_counts([case.by_threshold[at] for case in found]) for at in range(len(THRESHOLDS_007))]
    best = max(range(len(pooled)), key=lambda at: (pooled[at].f1 or 0.0, -at))
    methods = {
        OURS: [case.ours for case in found],
        VOTE: [case.vote for case in found],
        TUNED_007: [case.by_threshold[best] for case in found],
    }
    return CasesCount({name: _by_regime(regimes, counts) for name, counts in methods.items()}, THRESHOLDS_007[best])


def _by_regime(regimes: Sequence[str], counts: Sequence[BlameCount]) -> Counts:
    members: dict[str, list[BlameCount]] = {}
    for regime, count in zip(regimes, counts, strict=True):
        members.setdefault(regime, []).append(count)
    return {regime: add_counts(each) for regime, each in members.items()}


def regime_of(path: Path) -> str:
    """The recording's name without the number at its end."""
    return re.sub(r"-\d+$", "", path.name.removesuffix(".tar.zst"))


def count_as_json(count: BlameCount) -> dict[str, object]:
    """The count with its precision, recall and F1."""
    return {
        **msgspec.to_builtins(count),
        "precision": count.precision,
        "recall": count.recall,
        "f1": count.f1,
    }


def cases_as_json(found: CasesCount, referees: Mapping[str, Counts]) -> dict[str, object]:
    """Counts per regime, and of all together; ``methods``: those of the reference localizers and of the referees."""
    others = {name: counts for name, counts in found.methods.items() if name != OURS}
    return {
        **_method_as_json(found.ours),
        "threshold_007": found.threshold,
        "methods": {name: _method_as_json(counts) for name, counts in others.items()},
        "referees": {name: _method_as_json(counts) for name, counts in referees.items()},
    }


def _method_as_json(counts: Counts) -> dict[str, object]:
    return {
        "regimes": {regime: count_as_json(count) for regime, count in counts.items()},
        "all": count_as_json(add_counts(list(counts.values()))),
    }
