"""How does localization do on recordings of silently lossy links, counted as the referees of those cases count?

Each recording is replayed through the whole pipeline, detection included. Recordings whose names differ only in a
number at the end are one regime.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import msgspec

from skeletonhunter.evaluation.diagnosing import diagnose
from skeletonhunter.recordings.archive import is_archive
from skeletonhunter.recordings.manifest import MANIFEST, RecordingError
from skeletonhunter.scoring import BlameCount, add_counts, count_blames
from streams.parameters import Parameters


def recordings_below(folder: Path) -> list[Path]:
    """The recordings directly in a folder, in alphabetical order.

    Raises:
        RecordingError: there is none.
    """
    found = sorted(path for path in folder.glob("*") if is_archive(path) or (path / MANIFEST).is_file())
    if not found:
        raise RecordingError(f"{folder}: holds no recordings, expected directories with {MANIFEST} or .tar.zst files")
    return found


def count_case(path: Path, parameters: Parameters) -> BlameCount:
    """Found faults and false blames of one recording.

    Raises:
        RecordingError: the recording is wrong or has no truth.
    """
    diagnosis = diagnose(path, parameters)
    return count_blames(diagnosis.truth, diagnosis.incidents, diagnosis.facts)


def count_cases(
    paths: Sequence[Path], parameters: Parameters, workers: int, finished: Callable[[int], None]
) -> dict[str, BlameCount]:
    """The counts of each regime, in order of first appearance."""
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        futures = [pool.submit(count_case, path, parameters) for path in paths]
        for future in futures:
            future.add_done_callback(lambda _: finished(sum(other.done() for other in futures)))
        counts = [future.result() for future in futures]
    regimes: dict[str, list[BlameCount]] = {}
    for path, count in zip(paths, counts, strict=True):
        regimes.setdefault(regime_of(path), []).append(count)
    return {regime: add_counts(members) for regime, members in regimes.items()}


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


def cases_as_json(counts: Mapping[str, BlameCount]) -> dict[str, object]:
    """Counts per regime, and of all together."""
    return {
        "regimes": {regime: count_as_json(count) for regime, count in counts.items()},
        "all": count_as_json(add_counts(list(counts.values()))),
    }
