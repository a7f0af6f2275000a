"""What came out of a scenario, kept on disk so that a campaign that was stopped goes on where it was.

One JSON file per scenario, ``<folder>/<scenario id>.json``, valid for one fingerprint (code and parameters). Times of
the run stand in ``run`` and nowhere else, so two runs of the same code differ in nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from skeletonhunter.evaluation.ablations import EvidenceName
from skeletonhunter.scoring import Score


class RunStamp(Struct, frozen=True, kw_only=True):
    """When the scenario was run, and how long its parts took, seconds; ``cpu_s`` of both together. Not a result."""

    finished: str
    simulate_s: float
    diagnose_s: float
    cpu_s: float


class ScenarioResult(Struct, frozen=True, kw_only=True):
    """The score of a scenario, or the error that kept it from having one. ``ablated``: scores without some evidence."""

    scenario: str
    fingerprint: str
    score: Score | None = None
    ablated: dict[EvidenceName, Score] = {}
    error: str | None = None
    run: RunStamp | None = None


class ResultStore:
    """The results of one campaign folder."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder = folder
        self.fingerprint = fingerprint
        folder.mkdir(parents=True, exist_ok=True)

    def load(self, scenario: str, without: Sequence[EvidenceName] = ()) -> ScenarioResult | None:
        """The stored result; null if there is none, or one of other code or parameters, or one that failed, or one that
        lacks a score ``without`` some evidence."""
        try:
            result = msgspec.json.decode((self.folder / f"{scenario}.json").read_bytes(), type=ScenarioResult)
        except (FileNotFoundError, msgspec.MsgspecError):
            return None  # a half-written or outdated file is as good as none: the scenario is run again
        known = result.fingerprint == self.fingerprint and result.error is None
        return result if known and result.ablated.keys() >= set(without) else None

    def save(self, result: ScenarioResult) -> None:
        """Stores a result; whoever reads at the same time sees the old one or the new one."""
        path = self.folder / f"{result.scenario}.json"
        part = path.with_suffix(".part")
        part.write_bytes(msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
        part.replace(path)
