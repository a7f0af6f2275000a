"""The part of ``evaluate`` that judges skeletons: prints and writes the page, complains of what became worse."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skeletonhunter.evaluation.skeletons.campaign import SkeletonRequest
    from skeletonhunter.evaluation.skeletons.summary import SkeletonReport


def judge_skeletons(request: SkeletonRequest, table: Path | None, as_json: bool) -> SkeletonReport:
    """Judges and shows.

    Raises:
        RecordingError: a recording is wrong.
    """
    import msgspec
    import typer

    from skeletonhunter.cli.printing import print_json, progress_bar, write_page
    from skeletonhunter.evaluation.skeletons.campaign import evaluate_skeletons
    from skeletonhunter.evaluation.skeletons.page import skeleton_page
    from skeletonhunter.evaluation.skeletons.terminal import report_lines

    with progress_bar("skeletons", None) as progress:
        report = evaluate_skeletons(request, progress)
    if table:
        write_page(table, skeleton_page(report, _command(request)))
    print_json(msgspec.to_builtins(report)) if as_json else typer.echo("\n".join(report_lines(report)))
    return report


def complain_of_skeletons(report: SkeletonReport, path: Path | None, bless: bool) -> None:
    """Figures that became worse are what the program exits with 1 for.

    Raises:
        TolerancesError: the file can't be used.
    """
    from skeletonhunter.cli import InputError
    from skeletonhunter.evaluation.skeletons.tolerances import (
        BUNDLED,
        bless_skeletons,
        read_skeleton_tolerances,
        skeleton_regressions,
    )

    file = path or BUNDLED
    before = read_skeleton_tolerances(file)
    if bless:
        bless_skeletons(file, before, report)
        return
    worse = skeleton_regressions(report, before)
    if worse:
        raise InputError("\n".join(f"worse than allowed: {item}" for item in worse))


def _command(request: SkeletonRequest) -> str:
    parts = ["skeletonhunter evaluate", f"--traces {request.folder.name}"]
    parts += [f"--simulated {request.simulated}"] if request.simulated else []
    parts += [f"--beside {request.beside.name}"] if request.beside else []
    return " ".join(parts)
