"""One evaluation of skeletons from request to report: recordings, simulated jobs, another method beside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from skeletonhunter.evaluation.cases import recordings_below
from skeletonhunter.evaluation.fingerprint import fingerprint
from skeletonhunter.evaluation.selection import wanted
from skeletonhunter.evaluation.skeletons.drawing_jobs import PAPER_JOBS
from skeletonhunter.evaluation.skeletons.simulated import try_jobs
from skeletonhunter.evaluation.skeletons.summary import SkeletonReport, summarize
from skeletonhunter.evaluation.skeletons.traces import judge_recordings, read_other_method
from streams.parameters import Parameters


@dataclass(frozen=True)
class SkeletonRequest:
    """What to judge. ``simulated`` training jobs, half as many unusual ones, and the paper's two; 0 = none at all."""

    folder: Path
    parameters: Parameters
    workers: int
    simulated: int = 0
    beside: Path | None = None
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()

    def names(self) -> list[str]:
        """The simulated jobs."""
        if not self.simulated:
            return []
        training = [f"training-{seed}" for seed in range(self.simulated)]
        return [*PAPER_JOBS, *training, *(f"unusual-{seed}" for seed in range((self.simulated + 1) // 2))]


def evaluate_skeletons(request: SkeletonRequest, finished: Callable[[int], None]) -> SkeletonReport:
    """Judges everything; ``finished`` is told how much is done of the recordings' views and simulated jobs.

    Raises:
        RecordingError: a recording is wrong or has no truth, or there is none.
    """
    paths = [path for path in recordings_below(request.folder) if wanted(path.name, request.only, request.skip)]
    other = read_other_method(request.beside) if request.beside else None
    rows = judge_recordings(paths, request.parameters, request.workers, finished)
    done = len({(row.recording, row.view) for row in rows})
    trials = try_jobs(request.names(), request.parameters, request.workers, lambda count: finished(done + count))
    return summarize(fingerprint(request.parameters), rows, trials, other)
