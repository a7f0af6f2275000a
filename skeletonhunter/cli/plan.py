"""``skeletonhunter plan REC``: the probe plan alone, and how close it is to the shortest that can exist."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
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
    directions: Annotated[Directions | None, typer.Option(help="Probe pairs from both ends or from one.")] = None,
    history: Annotated[bool, typer.Option(help="Every version, not only the last one.")] = False,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON: one object, or a list if there are more.")
    ] = False,
) -> None:
    """Plan which endpoints probe each other when: slots in which no RNIC takes part twice."""
    from rich.console import Console

    from skeletonhunter.cli.inspection import chosen, look_at, print_values

    flags = {
        "parameters.planner.round_s": round_s,
        "parameters.planner.pps_per_rnic": pps,
        "parameters.planner.targets_per_rnic": targets,
        "parameters.planner.directions": directions.value if directions else None,
    }
    found = look_at(recording, ("skeleton", "planner"), config, flags)
    plans = chosen(found.plans, job, history, recording)
    if as_json:
        print_values(plans)
        return
    for version in plans:
        Console().print(render_plan(version))


def render_plan(version: ProbePlan) -> Table:
    """A plan as a table of two columns."""
    from collections import Counter

    from rich.table import Table

    table = Table(title=f"{version.job}: {version.mode} plan, version {version.version}", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    probes = Counter(end for slot in version.slots for src, dst, _ in slot for end in (src, dst))
    busiest = max(probes.values(), default=0)
    sizes = [len(slot) for slot in version.slots]
    left_out = Counter(exclusion.why for exclusion in version.excluded)
    budget = version.budget
    rows = (
        ("skeleton", "none" if version.skeleton_version is None else f"version {version.skeleton_version}"),
        ("slots", f"{len(sizes)}, at least {busiest} are needed: the busiest endpoint is in so many probes"),
        ("round", f"{version.expected.round_s:g} s, at least {version.expected.lower_bound_s:g} s"),
        (
            "probes",
            f"{version.expected.probes} per round, {min(sizes, default=0)} to {max(sizes, default=0)} in a slot",
        ),
        (
            "budget",
            f"round {_limit(budget.round_s, ' s')}, {_limit(budget.pps_per_rnic, ' packets/s')} per RNIC, "
            f"{_limit(budget.targets_per_rnic, ' targets')} per endpoint",
        ),
        ("excluded", "; ".join(f"{count}: {why}" for why, count in sorted(left_out.items())) or "none"),
    )
    for name, text in rows:
        table.add_row(name, text)
    return table


def _limit(value: float | None, unit: str) -> str:
    return "any" if value is None else f"{value:g}{unit}"
