"""The schedule of a plan as a picture: a row per RNIC, a column per slot.

Source, destination and idle are three shades that also differ in grey; extra probes for suspected components are red.
Below stand the probes in each slot. RNICs are in the order of their names, at most ``MOST_ROWS`` are drawn: of a
larger job the first ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import Patch

from schemas.probing import ProbePlan
from skeletonhunter.evaluation.drawing import BLUE, FAULT, INK, LOOK, blank, save

MOST_ROWS = 256
IDLE, SOURCE, TARGET, EXTRA = 0, 1, 2, 3
SHADES = ("#f2f2f2", BLUE, "#a9c8e4", FAULT)
MEANING = ("idle", "sends", "answers", "extra, for a suspected component")
NAMED = 40
"""With more rows, names would be too small to read."""


def plot_schedule(plan: ProbePlan, path: Path) -> Path:
    """Writes the picture."""
    names = sorted({name for slot in plan.slots for src, dst, _ in slot for name in (src, dst)})
    shown = names[:MOST_ROWS]
    cells = schedule_cells(plan, shown)
    with rc_context(LOOK):
        figure = blank(11, min(9.0, 2.8 + 0.16 * max(len(shown), 6)))
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[5, 1])
        _draw_cells(upper, cells, shown)
        upper.set_title(_heading(plan, len(names), len(shown)))
        lower.bar(np.arange(len(plan.slots)), [len(slot) for slot in plan.slots], width=0.9, color=BLUE)
        lower.set_ylim(0, 1.1 * max([1, *map(len, plan.slots)]))
        lower.set_ylabel("probes")
        lower.set_xlabel("slot of the round")
        lower.yaxis.get_major_locator().set_params(integer=True)
        used = sorted(set(np.unique(cells).tolist()))
        figure.legend(
            handles=[Patch(facecolor=SHADES[each], edgecolor=INK, lw=0.4, label=MEANING[each]) for each in used],
            loc="outside lower center",
            ncols=max(1, len(used)),
        )
        return save(figure, path)


def schedule_cells(plan: ProbePlan, names: list[str]) -> np.ndarray:
    """What each endpoint does in each slot, shape (names, slots)."""
    row = {name: number for number, name in enumerate(names)}
    cells = np.full((len(names), max(1, len(plan.slots))), IDLE)
    first_extra = len(plan.slots) - _extra_slots(plan)
    for number, slot in enumerate(plan.slots):
        for src, dst, _ in slot:
            for name, what in ((src, SOURCE), (dst, TARGET)):
                if name in row:
                    cells[row[name], number] = EXTRA if number >= first_extra else what
    return cells


def _extra_slots(plan: ProbePlan) -> int:
    """The last slots, as many as hold the extra probes."""
    waiting, count = len(plan.extra), 0
    for slot in reversed(plan.slots):
        if waiting <= 0:
            return count
        waiting -= len(slot)
        count += 1
    return count


def _draw_cells(axes: Any, cells: np.ndarray, names: list[str]) -> None:
    if not names:
        axes.text(0.5, 0.5, "nobody is probed", ha="center", transform=axes.transAxes)
        axes.set_yticks([])
        return
    norm = BoundaryNorm(np.arange(-0.5, len(SHADES)), len(SHADES))
    axes.imshow(cells, aspect="auto", interpolation="nearest", cmap=ListedColormap(list(SHADES)), norm=norm)
    axes.tick_params(length=0)
    if len(names) <= NAMED:
        axes.set_yticks(range(len(names)), names, fontsize=7)
        axes.set_yticks(np.arange(-0.5, len(names)), minor=True)
        axes.grid(which="minor", axis="y", color="white", lw=0.8)
        axes.tick_params(which="minor", length=0)
    else:
        axes.set_ylabel("endpoint, by name")


def _heading(plan: ProbePlan, endpoints: int, shown: int) -> str:
    least = round(plan.expected.lower_bound_s / plan.expected.round_s * len(plan.slots)) if plan.slots else 0
    text = f"{plan.job}: {plan.mode} plan {plan.version}, {len(plan.slots)} slots (at least {least})"
    text += f", round {plan.expected.round_s:g} s"
    if plan.coverage is not None and plan.coverage.links:
        text += f", {plan.coverage.crossed} of {plan.coverage.links} links"
    return text if shown == endpoints else f"{text}; the first {shown} of {endpoints} endpoints"
