"""How good are the skeletons of simulated jobs, one by one? To find out why one is not.

    python benchmarks/skeleton_jobs.py training-9 paper-9a unusual-1 [--workers 2]
    python benchmarks/skeleton_jobs.py training-9 --write FOLDER     # recordings with truth, for `infer` and a debugger

Names are those of ``skeletonhunter.evaluation.skeletons.drawing_jobs``; ``training-0..9`` is a range. Prints one line
per job and view.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from skeletonhunter.evaluation.skeletons.drawing_jobs import drawn_scenario
from skeletonhunter.evaluation.skeletons.simulated import Trial, simulate_traffic, try_jobs, write_traffic
from streams.parameters import Parameters


def expanded(names: list[str]) -> Iterator[str]:
    """Names with ranges written out."""
    for name in names:
        span = re.fullmatch(r"(.+-)(\d+)\.\.(\d+)", name)
        yield from [name] if span is None else (f"{span[1]}{n}" for n in range(int(span[2]), int(span[3]) + 1))


def line_of(trial: Trial) -> str:
    """A trial in one line."""
    plan, row, score = trial.plan, trial.row, trial.row.score
    job = f"{plan.kind} tp{plan.tp} pp{plan.pp} dp{plan.dp} ep{plan.ep} {plan.period_s:.1f} s +-{plan.spread:g}"
    wrong = [f"{b.state} {b.confidence:.2f} with recall {b.recall:.2f}" for b in row.beliefs if b.recall < 0.99]
    figures = {
        "confidence": score.confidence,
        "period_error": score.period_error,
        "true_ratio": score.true_ratio,
        "recall": score.recall,
        "precision": score.precision,
        "ratio": score.ratio,
        "iterations": trial.iterations,
    }
    shown = " ".join(f"{name} {'-' if value is None else f'{value:.2f}'}" for name, value in figures.items())
    return f"{trial.name:13} {row.view:8} {score.state:8} {job:40} {shown} pairs {trial.directed_pairs} {wrong or ''}"


def main() -> None:
    """Prints the trials, or writes the recordings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    names = list(expanded(given.names))
    if given.write:
        for name in names:
            write_traffic(simulate_traffic(drawn_scenario(name)), given.write / name)
        return
    for trial in try_jobs(names, Parameters(), given.workers, lambda _: None):
        print(line_of(trial), flush=True)


if __name__ == "__main__":
    main()
