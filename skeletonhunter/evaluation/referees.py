"""What did others find in the same cases? Scores of other localizers in a file ``referees.json`` beside the recordings.

Per regime and method the file counts true and false positives and false negatives; the rest of it is not read.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from skeletonhunter.evaluation.cases import Counts
from skeletonhunter.recordings.manifest import RecordingError
from skeletonhunter.scoring import BlameCount

REFEREES = "referees.json"
ALL = "all"


class _Method(Struct):
    tp: int
    fp: int
    fn: int


class _Regime(Struct):
    traces: int
    methods: dict[str, _Method]


class _File(Struct):
    regimes: dict[str, _Regime]


def read_referees(folder: Path) -> dict[str, Counts]:
    """Counts by method and regime; empty if the folder has no such file.

    Raises:
        RecordingError: the file can't be understood.
    """
    path = folder / REFEREES
    if not path.is_file():
        return {}
    try:
        regimes = msgspec.json.decode(path.read_bytes(), type=_File).regimes
    except msgspec.MsgspecError as error:
        raise RecordingError(f"{path}: {error}") from error
    methods: dict[str, Counts] = {}
    for regime, found in regimes.items():
        if regime == ALL:
            continue
        for name, count in found.methods.items():
            methods.setdefault(name, {})[regime] = BlameCount(
                traces=found.traces, faults=count.tp + count.fn, found=count.tp, false_blames=count.fp
            )
    return methods
