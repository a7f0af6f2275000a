"""What do the rows add up to? Calibration, iterations until trust, and unusual jobs that were trusted.

*Calibration*: among all skeletons that were ever sent with confidence c or more, the share that holds 99 % of the true
same-rail pairs should be c or more. Several skeletons of one job count each; jobs without pairs on a rail do not count.
*Iterations*: training steps from a job's first burst to its first trusted skeleton; regular jobs are those whose steps
vary by ``REGULAR_SPREAD`` at most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from skeletonhunter.evaluation.skeletons.drawing_jobs import PAPER_JOBS, PAPER_PAIRS, REGULAR_SPREAD
from skeletonhunter.evaluation.skeletons.scores import GOOD_RECALL
from skeletonhunter.evaluation.skeletons.simulated import Trial
from skeletonhunter.evaluation.skeletons.traces import Belief, OtherMethod, TraceRow
from skeletonhunter.evaluation.skeletons.watching import View
from skeletonhunter.scoring.summaries import Share, share_of

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
ENOUGH_ITERATIONS = 5.0


class Level(Struct, frozen=True):
    """Skeletons of at least this confidence: how many are right, among the recordings and among simulated jobs.

    ``narrowed``: of those together that leave out part of the basic list, which is always right.
    """

    confidence: float
    traces: Share
    simulated: Share
    together: Share
    narrowed: Share


class Paper(Struct, frozen=True):
    """One of the paper's two jobs in one view: directed pairs as in the figure, and found."""

    name: str
    view: View
    wanted: int
    found: int
    exact: bool


class Training(Struct, frozen=True, kw_only=True):
    """Simulated training jobs in one view. Ratios are means of ratio / true ratio over jobs: 1 = nothing too much."""

    view: View
    jobs: int
    trusted: Share
    right: Share
    exact: Share
    worst_recall: float | None
    excess: float | None
    excess_of_basic: float | None
    soon: Share
    median_iterations: float | None


class SkeletonReport(Struct, frozen=True, kw_only=True):
    """All figures. ``by_period``: regular jobs trusted within five iterations, by length of step."""

    fingerprint: str
    rows: tuple[TraceRow, ...]
    other: OtherMethod | None
    simulated: int
    calibration: tuple[Level, ...]
    paper: tuple[Paper, ...]
    training: tuple[Training, ...]
    by_period: dict[str, Share]
    unusual_trusted: Share


def summarize(
    fingerprint: str, rows: Sequence[TraceRow], trials: Sequence[Trial], other: OtherMethod | None
) -> SkeletonReport:
    """The report."""
    training = [trial for trial in trials if trial.name.startswith("training-")]
    unusual = [trial for trial in trials if trial.name.startswith("unusual-")]
    return SkeletonReport(
        fingerprint=fingerprint,
        rows=tuple(rows),
        other=other,
        simulated=len({trial.name for trial in training}),
        calibration=tuple(_level(confidence, rows, training) for confidence in LEVELS),
        paper=tuple(_paper(trial) for trial in trials if trial.name in PAPER_JOBS),
        training=tuple(_training(view, training) for view in ("bursts", "counters")) if training else (),
        by_period=_soon_by_period(training),
        unusual_trusted=share_of(trial.row.trusted > 0 for trial in unusual),
    )


def _level(confidence: float, rows: Sequence[TraceRow], training: Sequence[Trial]) -> Level:
    traces = _beliefs(rows, confidence)
    simulated = _beliefs([trial.row for trial in training], confidence)
    together = traces + simulated
    narrowed = [belief for belief in together if belief.narrowed]
    return Level(confidence, *(_right(part) for part in (traces, simulated, together, narrowed)))


def _beliefs(rows: Sequence[TraceRow], confidence: float) -> list[Belief]:
    counted = [row for row in rows if row.score.true_ratio is not None]
    return [belief for row in counted for belief in row.beliefs if belief.confidence >= confidence]


def _right(beliefs: Sequence[Belief]) -> Share:
    return share_of(belief.recall >= GOOD_RECALL for belief in beliefs)


def _paper(trial: Trial) -> Paper:
    return Paper(trial.name, trial.row.view, PAPER_PAIRS[trial.name], trial.directed_pairs, trial.exact)


def _training(view: View, trials: Sequence[Trial]) -> Training:
    mine = [trial for trial in trials if trial.row.view == view and trial.row.score.true_ratio is not None]
    recalls = [trial.row.worst_trusted_recall for trial in mine if trial.row.worst_trusted_recall is not None]
    scored = [(score.ratio, score.true_ratio) for score in (trial.row.score for trial in mine)]
    regular = [trial.iterations for trial in mine if trial.plan.spread <= REGULAR_SPREAD]
    reached = sorted(value for value in regular if value is not None)
    return Training(
        view=view,
        jobs=len(mine),
        trusted=share_of(trial.row.score.state == "trusted" for trial in mine),
        right=share_of((trial.row.score.recall or 0.0) >= GOOD_RECALL for trial in mine),
        exact=share_of(trial.exact for trial in mine),
        worst_recall=min(recalls, default=None),
        excess=_mean(ratio / true for ratio, true in scored if ratio is not None and true is not None),
        excess_of_basic=_mean(1.0 / true for _, true in scored if true is not None),
        soon=share_of(_is_soon(value) for value in regular),
        median_iterations=reached[len(reached) // 2] if reached else None,
    )


def _soon_by_period(trials: Sequence[Trial]) -> dict[str, Share]:
    groups: dict[str, list[bool]] = {name: [] for name in ("up to 10 s", "10 to 25 s", "more than 25 s")}
    for trial in trials:
        if trial.plan.spread <= REGULAR_SPREAD and trial.row.score.true_ratio is not None:
            period_s = trial.plan.period_s
            name = "up to 10 s" if period_s <= 10.0 else "10 to 25 s" if period_s <= 25.0 else "more than 25 s"
            groups[name].append(_is_soon(trial.iterations))
    return {name: share_of(hits) for name, hits in groups.items() if hits}


def _is_soon(iterations: float | None) -> bool:
    return iterations is not None and iterations <= ENOUGH_ITERATIONS


def _mean(values: Iterable[float]) -> float | None:
    counted = list(values)
    return sum(counted) / len(counted) if counted else None
