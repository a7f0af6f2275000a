"""``skeletonhunter infer REC``: the traffic skeleton alone, without probes or incidents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.table import Table

    from schemas.skeletons import SkeletonUpdate


def infer(
    recording: Annotated[Path, typer.Argument(help="A recording: a directory or a .tar.zst file.")],
    *,
    job: Annotated[str | None, typer.Option(help="Only this job (default: all).")] = None,
    history: Annotated[bool, typer.Option(help="Every version, not only the last one.")] = False,
    plots: Annotated[Path | None, typer.Option(help="Draw pictures into this folder (needs the extra plots).")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (TOML).")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON: one object, or a list if there are more.")
    ] = False,
) -> None:
    """Infer which endpoints of a job exchange traffic: groups, edges, and how sure that is."""
    from rich.console import Console

    from skeletonhunter.cli.inspection import chosen, look_at, print_values
    from skeletonhunter.cli.printing import need_folder, need_matplotlib
    from skeletonhunter.evaluation.skeletons.traffic import TrafficCollector

    if plots:
        need_matplotlib()
        need_folder(plots)
    traffic = TrafficCollector()
    found = look_at(recording, ("skeleton",), config, observers=(traffic.observe,) if plots else ())
    updates = chosen(found.skeletons, job, history, recording)
    if plots:
        from skeletonhunter.evaluation.skeletons.plots import plot_skeletons

        plot_skeletons(chosen(found.skeletons, job, False, recording), traffic, plots)
    if as_json:
        print_values(updates)
        return
    for update in updates:
        Console().print(render_skeleton(update))


def render_skeleton(update: SkeletonUpdate) -> Table:
    """A skeleton as a table of two columns."""
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"{escape(update.job)}: {update.state}, version {update.version}", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    degrees = update.parallelism
    pairs = (("tp", degrees.tp), ("pp", degrees.pp), ("dp", degrees.dp), ("ep", degrees.ep))
    rows = (
        ("period", "unknown" if update.period_s is None else f"{update.period_s:g} s"),
        ("parallelism", " ".join(f"{name} {value}" for name, value in pairs if value is not None) or "unknown"),
        ("confidence", f"{update.confidence:.3f}"),
        ("coverage", f"{update.coverage:.1%} of the bytes"),
        ("groups", _count(group.kind for group in update.groups)),
        ("edges", _count(kind for _, _, kind in update.edges)),
        ("why", update.reason),
        *((name, str(value)) for name, value in update.evidence.items()),
    )
    for name, text in rows:
        table.add_row(Text(name), Text(text))
    return table


def _count(kinds: Iterable[str]) -> str:
    from collections import Counter

    counts = Counter(kinds)
    return ", ".join(f"{counts[kind]} {kind}" for kind in sorted(counts)) or "none"
