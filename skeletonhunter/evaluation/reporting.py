"""The outcome of a campaign: figures of everything, per subject and per size, beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from skeletonhunter.evaluation.ablations import EVIDENCE, EvidenceName
from skeletonhunter.evaluation.results import ScenarioResult
from skeletonhunter.evaluation.scenarios import SIZES, SUBJECTS, parse_scenario
from skeletonhunter.scoring import Figures, Score, pool
from skeletonhunter.scoring.contrasts import Ablation, contrast

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
    """All figures of a campaign. Nothing in it depends on when, where or how fast it was run.

    ``selection``: the options that chose a part of it. ``unseen``: scenarios with a fault that no probe can see, by
    subject. ``ablations``: the same scenarios without some evidence, by what was taken away.
    """

    campaign: str
    selection: str = ""
    fingerprint: str
    scenarios: int
    failed: tuple[Failure, ...]
    paper: dict[str, float]
    overall: Figures
    subjects: dict[str, Figures]
    sizes: dict[str, Figures]
    unseen: dict[str, Figures] = {}
    ablations: dict[EvidenceName, Ablation] = {}


def report(campaign: str, fingerprint: str, results: Sequence[ScenarioResult], selection: str = "") -> CampaignReport:
    """Pools the results of a campaign, or of the part of it that the options ``selection`` chose."""
    scores = {result.scenario: result.score for result in results if result.score is not None}
    return CampaignReport(
        campaign=campaign,
        selection=selection,
        fingerprint=fingerprint,
        scenarios=len(results),
        failed=tuple(Failure(result.scenario, result.error) for result in results if result.error is not None),
        paper=PAPER,
        overall=pool(list(scores.values())),
        subjects=_grouped(scores, SUBJECTS, lambda name: parse_scenario(name).subject),
        sizes=_grouped(scores, SIZES, lambda name: parse_scenario(name).size),
        unseen=_grouped(_with_unseen(scores), SUBJECTS, lambda name: parse_scenario(name).subject),
        ablations=_ablations(results),
    )


def _with_unseen(scores: dict[str, Score]) -> dict[str, Score]:
    """The scenarios with a fault that no probe can see."""
    return {name: score for name, score in scores.items() if any(not fault.in_reach for fault in score.faults)}


def _ablations(results: Sequence[ScenarioResult]) -> dict[EvidenceName, Ablation]:
    """What each piece of evidence is worth, over the scenarios that were also diagnosed without it."""
    found: dict[EvidenceName, Ablation] = {}
    for name in EVIDENCE:
        pairs = [(r.score, r.ablated[name]) for r in results if r.score is not None and name in r.ablated]
        if pairs:
            found[name] = contrast(pairs)
    return found


def _grouped(scores: dict[str, Score], keys: Iterable[str], key_of: Callable[[str], str]) -> dict[str, Figures]:
    groups: dict[str, list[Score]] = {key: [] for key in keys}
    for name, score in scores.items():
        groups[key_of(name)].append(score)
    return {key: pool(members) for key, members in groups.items() if members}
