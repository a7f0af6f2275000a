"""How good are skeletons on a folder of traffic recordings? Every job of every recording, with and without bursts.

The rows hold no wall time: equal code, parameters and recordings give equal rows. Cost: 1 to 10 s per recording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import msgspec
from msgspec import Struct

from schemas.instants import SECOND_US
from schemas.skeletons import SkeletonUpdate
from skeletonhunter.evaluation.skeletons.scores import SkeletonScore, answer_of, score_skeleton
from skeletonhunter.evaluation.skeletons.truths import TrueSkeleton
from skeletonhunter.evaluation.skeletons.watching import View, views_of, watch
from skeletonhunter.recordings.manifest import RecordingError
from streams.parameters import Parameters


class Belief(Struct, frozen=True):
    """An update that named edges: how sure it was, how much of the truth it had, whether it narrowed the basic list."""

    state: str
    confidence: float
    recall: float
    narrowed: bool


class TraceRow(Struct, frozen=True, kw_only=True):
    """One job of one recording in one view: its last skeleton, and the way there.

    ``edges``: all, not only those on one rail. ``trusted``: updates with that state; ``trusted_at_us``: the first of
    them, ``trusted_after_s``: the same from the first traffic on;
    ``worst_trusted_recall``: the least recall that was ever trusted; ``beliefs``: for calibration.
    """

    recording: str
    view: View
    job: str
    endpoints: int
    score: SkeletonScore
    edges: int
    updates: int
    trusted: int
    trusted_at_us: int | None
    trusted_after_s: float | None
    worst_trusted_recall: float | None
    beliefs: tuple[Belief, ...] = ()

    @property
    def key(self) -> str:
        """Names the row within a table."""
        return f"{self.recording}.{self.job}.{self.view}"


class OtherMethod(Struct, frozen=True):
    """Figures of another method on the same recordings: ``scores[recording][job]`` of what it saw of the counters."""

    method: str
    scores: dict[str, dict[str, SkeletonScore]]


def judge_recording(path: Path, view: View, parameters: Parameters) -> list[TraceRow]:
    """The rows of a recording's jobs, in alphabetical order.

    Raises:
        RecordingError: the recording is wrong or has no truth.
    """
    watched, truth = watch(path, view, parameters)
    name = path.name.removesuffix(".tar.zst")
    rows = []
    for job, seats in sorted(watched.seats.items()):
        true = truth.of(job, seats.rails)
        scored = [(each, score_skeleton(answer_of(each), true, seats)) for each in watched.updates.get(job, [])]
        if scored:
            rows.append(_row((name, view, job), scored, true, len(seats.rails), watched.since_us.get(job)))
    return rows


def judge_recordings(
    paths: Sequence[Path], parameters: Parameters, workers: int, finished: Callable[[int], None]
) -> tuple[TraceRow, ...]:
    """The rows of all recordings in all their views, whatever order they finish in.

    Raises:
        RecordingError: a recording is wrong or has no truth.
    """
    tasks = [(path, view) for path in paths for view in views_of(path)]
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        futures = [pool.submit(judge_recording, path, view, parameters) for path, view in tasks]
        for future in futures:
            future.add_done_callback(lambda _: finished(sum(other.done() for other in futures)))
        return tuple(row for future in futures for row in future.result())


def read_other_method(path: Path) -> OtherMethod:
    """Figures as ``benchmarks/skeleton_baseline.py`` writes them.

    Raises:
        RecordingError: the file can't be read.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=OtherMethod)
    except OSError as error:
        raise RecordingError(f"{path}: can't be read: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise RecordingError(f"{path}: {error}, expected the figures of another method") from error


def _row(
    names: tuple[str, View, str],
    scored: Sequence[tuple[SkeletonUpdate, SkeletonScore]],
    true: TrueSkeleton,
    endpoints: int,
    since_us: int | None,
) -> TraceRow:
    trusted = [(update, score) for update, score in scored if update.state == "trusted"]
    recalls = [score.recall for _, score in trusted if score.recall is not None]
    after_s = (trusted[0][0].t_us - since_us) / SECOND_US if trusted and since_us is not None else None
    return TraceRow(
        recording=names[0],
        view=names[1],
        job=names[2],
        endpoints=endpoints,
        score=scored[-1][1],
        edges=len(scored[-1][0].edges),
        updates=len(scored),
        trusted=len(trusted),
        trusted_at_us=trusted[0][0].t_us if trusted else None,
        trusted_after_s=after_s,
        worst_trusted_recall=min(recalls, default=None),
        beliefs=tuple(_beliefs(scored, true)),
    )


def _beliefs(scored: Sequence[tuple[SkeletonUpdate, SkeletonScore]], true: TrueSkeleton) -> Iterator[Belief]:
    """Updates that said anything; with an expected abstention, saying something is never right."""
    for update, score in scored:
        if update.confidence <= 0.0 or not update.edges:
            continue
        narrowed = score.ratio is not None and score.ratio < 1.0
        if true.expect == "abstain":
            yield Belief(update.state, update.confidence, 0.0, narrowed)
        elif score.recall is not None:
            yield Belief(update.state, update.confidence, score.recall, narrowed)
