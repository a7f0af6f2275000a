"""The outcome of a campaign: figures of everything, per subject and per size, beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from skeletonhunter.evaluation.results import ScenarioResult
from skeletonhunter.evaluation.scenarios import SIZES, SUBJECTS, parse_scenario
from skeletonhunter.scoring import Figures, Score, pool

PAPER: dict[str, float] = {
    "detection.precision.share": 0.982,
    "detection.recall.share": 0.993,
    "localization.component.share": 0.957,
    "delays.detection_to_localization.mean_s": 8.0,
}
"""What the paper reports of six months in production (section 8), by the figure of ours that it is compared with."""


class Failure(Struct, frozen=True):
    """A scenario that has no score, and why."""

    scenario: str
    error: str


class CampaignReport(Struct, frozen=True, kw_only=True):
    """All figures of a campaign. Nothing in it depends on when, where or how fast it was run."""

    campaign: str
    fingerprint: str
    scenarios: int
    failed: tuple[Failure, ...]
    paper: dict[str, float]
    overall: Figures
    subjects: dict[str, Figures]
    sizes: dict[str, Figures]


def report(campaign: str, fingerprint: str, results: Sequence[ScenarioResult]) -> CampaignReport:
    """Pools the results of a campaign."""
    scores = {result.scenario: result.score for result in results if result.score is not None}
    return CampaignReport(
        campaign=campaign,
        fingerprint=fingerprint,
        scenarios=len(results),
        failed=tuple(Failure(result.scenario, result.error) for result in results if result.error is not None),
        paper=PAPER,
        overall=pool(list(scores.values())),
        subjects=_grouped(scores, SUBJECTS, lambda name: parse_scenario(name).subject),
        sizes=_grouped(scores, SIZES, lambda name: parse_scenario(name).size),
    )


def _grouped(scores: dict[str, Score], keys: Iterable[str], key_of: Callable[[str], str]) -> dict[str, Figures]:
    groups: dict[str, list[Score]] = {key: [] for key in keys}
    for name, score in scores.items():
        groups[key_of(name)].append(score)
    return {key: pool(members) for key, members in groups.items() if members}
