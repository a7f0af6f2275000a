"""``skeletonhunter plan REC``: the probe plan alone, and how close it is to the shortest that can exist."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from schemas.probing import ProbePlan


class Directions(StrEnum):
    """From which end pairs are probed."""

    both = "both"
    alternate = "alternate"


def plan(
    recording: Annotated[Path, typer.Argument(help="A recording: a directory or a .tar.zst file.")],
    *,
    job: Annotated[str | None, typer.Option(help="Only this job (default: all).")] = None,
    round_s: Annotated[float | None, typer.Option(help="Longest round that is wanted, seconds.")] = None,
    pps: Annotated[float | None, typer.Option(help="Packets per second that an RNIC may send and answer.")] = None,
    targets: Annotated[int | None, typer.Option(help="Most peers of an endpoint.")] = None,
    per_slot: Annotated[int | None, typer.Option(help="Probes that an RNIC takes part in at a time.")] = None,
    alpha: Annotated[int | None, typer.Option(help="Probe paths that should cross each link.")] = None,
    directions: Annotated[Directions | None, typer.Option(help="Probe pairs from both ends or from one.")] = None,
    history: Annotated[bool, typer.Option(help="Every version, not only the last one.")] = False,
    plots: Annotated[
        Path | None, typer.Option(help="Draw each schedule, RNIC x slot, into this folder (needs the extra plots).")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON: one object, or a list if there are more.")
    ] = False,
) -> None:
    """Plan which endpoints probe each other when: slots in which no RNIC takes part twice."""
    from rich.console import Console

    from skeletonhunter.cli.inspection import chosen, look_at, print_values
    from skeletonhunter.cli.printing import need_folder, need_matplotlib

    if plots:
        need_matplotlib()
        need_folder(plots)
    flags = {
        "parameters.planner.round_s": round_s,
        "parameters.planner.pps_per_rnic": pps,
        "parameters.planner.targets_per_rnic": targets,
        "parameters.planner.probes_per_slot": per_slot,
        "parameters.planner.alpha": alpha,
        "parameters.planner.directions": directions.value if directions else None,
    }
    found = look_at(recording, ("skeleton", "detection", "fabric", "planner"), config, flags)
    plans = chosen(found.plans, job, history, recording)
    if plots:
        _draw(plans, plots)
    if as_json:
        print_values(plans)
        return
    for version in plans:
        Console().print(render_plan(version))


def _draw(plans: Sequence[ProbePlan], folder: Path) -> None:
    from skeletonhunter.planning.picture import plot_schedule

    folder.mkdir(parents=True, exist_ok=True)
    for version in plans:
        plot_schedule(version, folder / f"{version.job}-{version.version:03d}.png")


def render_plan(version: ProbePlan) -> Table:
    """A plan as a table of two columns."""
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"{escape(version.job)}: {version.mode} plan, version {version.version}", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, text in (*_schedule_rows(version), *_coverage_rows(version), *_rest_rows(version)):
        table.add_row(Text(name), Text(text))
    return table


def _schedule_rows(version: ProbePlan) -> list[tuple[str, str]]:
    expected = version.expected
    least = round(expected.lower_bound_s / expected.round_s * len(version.slots)) if expected.round_s else 0
    sizes = [len(slot) for slot in version.slots]
    budget = version.budget
    return [
        ("skeleton", "none" if version.skeleton_version is None else f"version {version.skeleton_version}"),
        ("slots", f"{len(sizes)}; the busiest endpoint's pairs need at least {least}"),
        ("round", f"{expected.round_s:g} s, at least {expected.lower_bound_s:g} s"),
        (
            "probes",
            f"{expected.probes} per round, {min(sizes, default=0)} to {max(sizes, default=0)} in a slot",
        ),
        (
            "budget",
            f"round {_limit(budget.round_s, ' s')}, {_limit(budget.pps_per_rnic, ' packets/s')} per RNIC, "
            f"{_limit(budget.targets_per_rnic, ' targets')} per endpoint",
        ),
    ]


def _coverage_rows(version: ProbePlan) -> list[tuple[str, str]]:
    found = version.coverage
    if found is None:
        return [("links", "unknown: the recording has no fabric map")]
    sure = "" if found.method == "hash" else f", each with {found.confidence:.0%} confidence"
    text = f"{found.crossed} of {found.links} crossed, {found.crossed_alpha} by {found.alpha} or all there are{sure}"
    rows = [("links", text)]
    if found.told_apart is not None:
        rows.append(("single failures", f"{found.told_apart} told apart, {found.classes} at best"))
    if version.turns is not None:
        turns = version.turns
        rows.append(
            ("turns", f"{turns.turns} of {turns.turn_rounds} rounds, in which {len(turns.changing)} ports change")
        )
    return rows


def _rest_rows(version: ProbePlan) -> list[tuple[str, str]]:
    from collections import Counter

    excluded = Counter(exclusion.why for exclusion in version.excluded)
    reasons = ", ".join(f"{why}" for why in sorted({each.why for each in version.left_out}))
    return [
        ("left out", f"{version.left_out_count} pairs: {reasons}" if version.left_out_count else "no pair"),
        ("extra", f"{len(version.extra)} probes for {', '.join(version.suspects)}" if version.extra else "none"),
        ("excluded", "; ".join(f"{count}: {why}" for why, count in sorted(excluded.items())) or "none"),
    ]


def _limit(value: float | None, unit: str) -> str:
    return "any" if value is None else f"{value:g}{unit}"
