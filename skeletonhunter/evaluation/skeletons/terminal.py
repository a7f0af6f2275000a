"""The figures as lines of text: narrow enough for a terminal and a log, where the page is not."""

from __future__ import annotations

from collections.abc import Iterator

from skeletonhunter.evaluation.skeletons.scores import SkeletonScore
from skeletonhunter.evaluation.skeletons.summary import SkeletonReport
from skeletonhunter.evaluation.skeletons.traces import TraceRow
from skeletonhunter.evaluation.wording import NOTHING, share_text


def report_lines(report: SkeletonReport) -> Iterator[str]:
    """One line per job and view, then one per figure of the simulated jobs."""
    yield f"{'recording':28}{'seen':10}{'state':10}conf.  recall precision ratio (true)  period error | beside"
    for row in report.rows:
        others = report.other.scores if report.other else {}
        yield _row(row, others.get(row.recording, {}).get(row.job))
    if report.simulated:
        yield ""
        yield from _simulated(report)


def _row(row: TraceRow, other: SkeletonScore | None) -> str:
    score = row.score
    name = row.recording if score.true_ratio is not None else f"{row.recording} {row.job}"
    beside = "" if other is None else f" | {_quality(other)}"
    figures = f"{_quality(score)} ({_two(score.true_ratio)})  {_two(score.period_error):>6}"
    return f"{name[:27]:28}{row.view:10}{score.state:10}{score.confidence:.2f}   {figures}{beside}"


def _quality(score: SkeletonScore) -> str:
    return f"{_two(score.recall):>5} {_two(score.precision):>5} {_two(score.ratio):>5}"


def _simulated(report: SkeletonReport) -> Iterator[str]:
    for level in report.calibration:
        narrowed = f"of those narrower than the basic list {share_text(level.narrowed)}"
        yield f"confidence {level.confidence:4g} or more: {share_text(level.together)} right, {narrowed}"
    for paper in report.paper:
        yield f"{paper.name} with {paper.view}: {paper.found:,} directed pairs of {paper.wanted:,}"
    for training in report.training:
        yield (
            f"training with {training.view}: right {share_text(training.right)}, exact {share_text(training.exact)}, "
            f"excess {_two(training.excess)} of {_two(training.excess_of_basic)}"
        )
        yield f"... regular ones trusted within five iterations: {share_text(training.soon)}"
    yield f"unusual jobs ever trusted: {share_text(report.unusual_trusted)}"


def _two(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"
