"""One evaluation from request to files: the scenarios asked for, their results, the report, and what became worse.

Files in the output folder: ``scenarios/<id>.json`` (kept results), ``results.json`` and ``results.md`` (the report,
equal for equal code and parameters, whenever and however fast it was run).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from skeletonhunter.evaluation.fingerprint import fingerprint
from skeletonhunter.evaluation.reporting import CampaignReport, report
from skeletonhunter.evaluation.results import ResultStore, ScenarioResult
from skeletonhunter.evaluation.running import Finished, Workbench, run_campaign
from skeletonhunter.evaluation.scenarios import CampaignName, Scenario, campaign
from skeletonhunter.evaluation.selection import Selection
from skeletonhunter.evaluation.tables import markdown
from skeletonhunter.evaluation.tolerances import Regression, bless, read_tolerances, regressions
from streams.parameters import Parameters


@dataclass(frozen=True)
class EvaluationRequest:
    """What to run; a part of a campaign is not held to tolerances."""

    campaign: CampaignName
    output: Path
    workers: int
    parameters: Parameters
    selection: Selection = field(default_factory=Selection)

    @property
    def whole(self) -> bool:
        """Whether the campaign is run as a whole."""
        return self.selection.whole

    def scenarios(self) -> tuple[Scenario, ...]:
        """The scenarios asked for, in the campaign's order."""
        return self.selection.of(campaign(self.campaign))


@dataclass(frozen=True)
class Evaluation:
    """What came of it."""

    report: CampaignReport
    results: tuple[ScenarioResult, ...]
    page: str


def evaluate(request: EvaluationRequest, workbench: Workbench, finished: Finished) -> Evaluation:
    """Runs what is not yet known, and writes the report."""
    mark = fingerprint(request.parameters)
    store = ResultStore(request.output / "scenarios", mark)
    results = run_campaign(request.scenarios(), workbench, store, request.workers, finished)
    summary = report(request.campaign, mark, results, request.selection.text)
    time = request.parameters.time
    page = markdown(summary, time.lateness_s + time.slack_s)
    (request.output / "results.json").write_bytes(msgspec.json.format(msgspec.json.encode(summary), indent=1) + b"\n")
    (request.output / "results.md").write_text(page)
    return Evaluation(summary, results, page)


def compare(request: EvaluationRequest, summary: CampaignReport, path: Path, accept: bool) -> list[Regression]:
    """What became worse than the tolerances allow; with ``accept`` the figures become the new ones to compare with.

    Raises:
        TolerancesError: the file can't be used.
    """
    if not request.whole:
        return []
    tolerances = read_tolerances(path)
    if accept:
        bless(path, tolerances, summary)
        return []
    before = tolerances.quick if request.campaign == "quick" else tolerances.full
    return regressions(summary, before, tolerances.slack)
