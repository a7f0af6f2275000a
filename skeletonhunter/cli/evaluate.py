"""``evaluate``: how good are the engines, over all issues, monitor faults and healthy jobs?"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from skeletonhunter.evaluation.ablations import EvidenceName
    from skeletonhunter.evaluation.selection import Selection
    from skeletonhunter.evaluation.session import Evaluation, EvaluationRequest
    from streams.parameters import Parameters


class Evidence(Enum):
    """What ``--without`` may take away; the same words as ``skeletonhunter.evaluation.ablations.EvidenceName``."""

    value: EvidenceName
    FLOW_TABLES = "flow-tables"
    QUEUES = "queues"
    DEVICE_EVENTS = "device-events"
    HEALTHY_PAIRS = "healthy-pairs"


def evaluate(
    *,
    quick: Annotated[bool, typer.Option("--quick", help="One seed of each subject on the small fabric.")] = False,
    output: Annotated[Path, typer.Option("-o", "--output", help="Where results are kept.")] = Path("evaluation"),
    workers: Annotated[int | None, typer.Option(min=1, help="Processes (default: one per core).")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Only ids that hold this text; may be repeated.")] = None,
    skip: Annotated[list[str] | None, typer.Option(help="No ids that hold this text; may be repeated.")] = None,
    subjects: Annotated[
        str | None, typer.Option(help="Only these, with commas: ids, names (gid_change) or families (monitor).")
    ] = None,
    sizes: Annotated[str | None, typer.Option(help="Only fabrics of these sizes, with commas: s, m, l.")] = None,
    seeds: Annotated[str | None, typer.Option(help="Only these seeds, such as 1-3,7.")] = None,
    part: Annotated[
        str | None, typer.Option(help="Only one of several equal parts, such as 1/4; results add up in one folder.")
    ] = None,
    without: Annotated[
        list[Evidence] | None,
        typer.Option(help="Also diagnose the same recordings without this evidence; may be repeated."),
    ] = None,
    cases: Annotated[
        Path | None, typer.Option(help="Instead: count found faults and false blames on the recordings in this folder.")
    ] = None,
    traces: Annotated[
        Path | None, typer.Option(help="Instead: judge the skeletons inferred from the recordings in this folder.")
    ] = None,
    simulated: Annotated[int, typer.Option(min=0, help="With --traces: also so many simulated training jobs.")] = 0,
    beside: Annotated[
        Path | None, typer.Option(help="With --traces: figures of another method to show beside ours (JSON).")
    ] = None,
    plots: Annotated[Path | None, typer.Option(help="Draw pictures into this folder (needs the extra plots).")] = None,
    table: Annotated[Path | None, typer.Option(help="Also write the Markdown table to this file.")] = None,
    tolerances: Annotated[Path | None, typer.Option(help="Compare with this file (default: the bundled one).")] = None,
    bless: Annotated[bool, typer.Option("--bless", help="Take these figures as those to compare with.")] = False,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Simulate, diagnose and score a campaign; a figure that became worse is an error. Goes on where it was stopped."""
    import os

    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.printing import need_file, need_folder, need_matplotlib
    from skeletonhunter.cli.skeleton_figures import complain_of_skeletons, judge_skeletons
    from skeletonhunter.evaluation.selection import Selection, SelectionError, select
    from skeletonhunter.evaluation.session import EvaluationRequest
    from skeletonhunter.evaluation.skeletons.campaign import SkeletonRequest
    from skeletonhunter.evaluation.tolerances import BUNDLED, TolerancesError
    from skeletonhunter.recordings.manifest import RecordingError
    from skeletonhunter.settings import SettingsError, load_settings

    if plots:
        need_matplotlib()
        need_folder(plots)
    if table:
        need_file(table)
    filters = Selection(tuple(only or ()), tuple(skip or ()))
    processes = workers or os.cpu_count() or 1
    try:
        parameters = load_settings(config, os.environ).parameters
        if cases:
            _refuse_tolerances(tolerances, bless, "--cases")
            _count_cases(cases, parameters, processes, filters, (table, as_json))
            return
        if traces:
            judged = SkeletonRequest(traces, parameters, processes, simulated, beside, filters.only, filters.skip)
            complain_of_skeletons(judge_skeletons(judged, table, as_json), tolerances, bless)
            return
        chosen = select(filters, subjects, sizes, seeds, part)
        request = EvaluationRequest("quick" if quick else "full", output, processes, parameters, chosen)
        _check_tolerances(request, tolerances, bless)
        outcome = _run(request, tuple(each.value for each in without or ()))
        _show(outcome, as_json, table)
        if plots:
            _draw(request, outcome, plots)
        _complain(request, outcome, tolerances or BUNDLED, bless)
    except (RecordingError, SelectionError, SettingsError, TolerancesError) as error:
        raise InputError(str(error)) from error


def _check_tolerances(request: EvaluationRequest, tolerances: Path | None, bless: bool) -> None:
    """Tells what can't be compared with before the work."""
    from skeletonhunter.evaluation.tolerances import BUNDLED, read_tolerances

    if request.whole:
        read_tolerances(tolerances or BUNDLED)
    else:
        _refuse_tolerances(tolerances, bless, "a part of a campaign")


def _refuse_tolerances(tolerances: Path | None, bless: bool, what: str) -> None:
    from skeletonhunter.cli import InputError

    if tolerances or bless:
        option = "--tolerances" if tolerances else "--bless"
        raise InputError(f"{option}: {what} is held to no tolerances, only a whole campaign and --traces are")


def _count_cases(
    folder: Path, parameters: Parameters, workers: int, filters: Selection, to: tuple[Path | None, bool]
) -> None:
    """Counts, and writes a page and prints a table or (``to``) JSON."""
    from skeletonhunter.cli.printing import print_json, progress_bar, write_page
    from skeletonhunter.evaluation.case_tables import best_referees, case_page, case_rows
    from skeletonhunter.evaluation.cases import cases_as_json, count_cases, recordings_below
    from skeletonhunter.evaluation.referees import read_referees
    from skeletonhunter.evaluation.selection import wanted
    from skeletonhunter.evaluation.terminal import print_rows

    paths = [path for path in recordings_below(folder) if wanted(path.name, filters.only, filters.skip)]
    referees = read_referees(folder)
    with progress_bar("cases", len(paths)) as progress:
        counts = count_cases(paths, parameters, workers, progress)
    if to[0]:
        write_page(to[0], case_page(counts, referees, f"skeletonhunter evaluate --cases {folder.name}{filters.text}"))
    rows = case_rows(counts, referees, best_referees(counts, referees))
    print_json(cases_as_json(counts, referees)) if to[1] else print_rows(rows)


def _run(request: EvaluationRequest, without: tuple[EvidenceName, ...]) -> Evaluation:
    from skeletonhunter.cli import InputError
    from skeletonhunter.cli.printing import need_folder, progress_bar
    from skeletonhunter.evaluation.results import ScenarioResult
    from skeletonhunter.evaluation.session import evaluate
    from skeletonhunter.evaluation.workbench import PipelineBench

    need_folder(request.output)
    total = len(request.scenarios())
    if not total:
        raise InputError(f"no scenario of the {request.campaign} campaign is left by{request.selection.text}")
    done = 0
    with progress_bar(f"{request.campaign} campaign", total) as progress:

        def finished(_: ScenarioResult) -> None:
            nonlocal done
            done += 1
            progress(done)

        return evaluate(request, PipelineBench(request.parameters, without), finished)


def _show(outcome: Evaluation, as_json: bool, table: Path | None) -> None:
    import msgspec
    from rich.console import Console
    from rich.markdown import Markdown

    from skeletonhunter.cli.printing import print_json, write_page

    if table:
        write_page(table, outcome.page)
    if as_json:
        print_json(msgspec.to_builtins(outcome.report))
    else:
        Console().print(Markdown(outcome.page))


def _draw(request: EvaluationRequest, outcome: Evaluation, folder: Path) -> None:
    from skeletonhunter.evaluation.plots import plot_campaign
    from skeletonhunter.evaluation.showing import show
    from skeletonhunter.evaluation.workbench import PipelineBench

    scores = [result.score for result in outcome.results if result.score is not None]
    plot_campaign(scores, outcome.report.overall, folder)
    show(request.scenarios(), PipelineBench(request.parameters), request.parameters, folder)


def _complain(request: EvaluationRequest, outcome: Evaluation, tolerances: Path, bless: bool) -> None:
    """Scenarios that failed and figures that became worse are what the program exits with 1 for."""
    from skeletonhunter.cli import InputError
    from skeletonhunter.evaluation.session import compare

    failed = [f"{failure.scenario} failed: {failure.error}" for failure in outcome.report.failed]
    worse = [] if failed else compare(request, outcome.report, tolerances, bless)
    if failed or worse:
        raise InputError("\n".join([*failed, *(f"worse than allowed: {item}" for item in worse)]))
