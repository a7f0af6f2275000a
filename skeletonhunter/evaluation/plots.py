"""Pictures of a campaign: delays, confusion of issues, reliability of confidence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.ticker import FuncFormatter, NullLocator

from schemas.truth import ISSUES
from skeletonhunter.evaluation.drawing import BLUE, FAULT, INK, LOOK, ORANGE, QUIET, blank, save
from skeletonhunter.evaluation.reporting import PAPER
from skeletonhunter.scoring import Figures, Score
from skeletonhunter.scoring.calibration import BINS
from skeletonhunter.scoring.confusion import Confusion
from skeletonhunter.scoring.verdicts import FaultVerdict

SHORTEST_S = 0.1
"""Delays below are drawn here, because a logarithmic axis has no zero."""


def plot_campaign(scores: Sequence[Score], figures: Figures, folder: Path) -> list[Path]:
    """Writes all pictures of a campaign into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    faults = [fault for score in scores for fault in score.faults]
    return [
        plot_delays(faults, folder / "delays.png"),
        plot_confusion(figures.confusion, folder / "confusion.png"),
        plot_confidence(figures, folder / "confidence.png"),
    ]


def plot_delays(faults: Sequence[FaultVerdict], path: Path) -> Path:
    """Delays from onset: their distribution over all faults, and each fault in the row of its issue."""
    delays = (delay for fault in faults for delay in (fault.detection_s, fault.localization_s) if delay is not None)
    longest_s = max(delays, default=0.0) + 20.0
    with rc_context(LOOK):
        figure = blank(10, 5.6)
        left, right = figure.subplots(1, 2, width_ratios=[2, 3])
        _draw_cumulative(left, faults)
        _draw_strips(right, faults)
        for axes in (left, right):
            axes.set_xscale("log")
            axes.set_xlim(0.8 * SHORTEST_S, 1.25 * longest_s)
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.set_xlabel("seconds from the fault's onset")
        return save(figure, path)


def _draw_cumulative(axes: Any, faults: Sequence[FaultVerdict]) -> None:
    axes.set_title("How soon, of all faults within reach")
    seen = [fault for fault in faults if fault.in_reach]
    for label, colour, values in (
        ("detected", BLUE, [fault.detection_s for fault in seen]),
        ("right component named", ORANGE, [fault.localization_s for fault in seen]),
    ):
        done = np.sort([max(SHORTEST_S, value) for value in values if value is not None])
        shares = np.arange(1, len(done) + 1) / max(1, len(seen))
        axes.step(done, shares, where="post", color=colour, label=label, lw=1.8)
    axes.axvline(PAPER["delays.detection_to_localization.mean_s"], ymax=1 / 1.2, color=QUIET, lw=1, ls=":")
    axes.text(8.4, 0.02, "paper: 8 s mean,\ndetection to\nlocalization", color=QUIET, fontsize=8, va="bottom")
    axes.set_ylim(0, 1.2)  # room for the legend
    axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))
    axes.set_ylabel("share of faults")
    axes.legend(loc="upper left")


def _draw_strips(axes: Any, faults: Sequence[FaultVerdict]) -> None:
    axes.set_title("By issue: each fault, and the median")
    names = [issue for issue in ISSUES if any(fault.issue == issue for fault in faults)]
    for row, issue in enumerate(names):
        members = [fault for fault in faults if fault.issue == issue]
        for offset, colour, values in (
            (-0.17, BLUE, [fault.detection_s for fault in members]),
            (0.17, ORANGE, [fault.localization_s for fault in members]),
        ):
            done = [max(SHORTEST_S, value) for value in values if value is not None]
            axes.plot(done, [row + offset] * len(done), "o", color=colour, ms=3.5, alpha=0.45, mec="none")
            if done:
                axes.plot([np.median(done)], [row + offset], "|", color=colour, ms=9, mew=2)
        missed = sum(not fault.alarms for fault in members)
        if missed:
            text = f"{missed} of {len(members)} missed"
            axes.text(1.01, row, text, transform=axes.get_yaxis_transform(), va="center", fontsize=7.5, color=FAULT)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="x", color="#eeeeee")
    axes.set_axisbelow(True)


def plot_confusion(confusion: Confusion, path: Path) -> Path:
    """Which issue was taken for which: shares of each row as shades, counts as numbers."""
    counts = np.array(confusion.counts)
    with rc_context(LOOK):
        figure = blank(9.6, 8.2)
        axes = figure.subplots()
        totals = counts.sum(axis=1, keepdims=True)
        shades = np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)
        axes.imshow(shades, cmap="Blues", vmin=0, vmax=1.15, aspect="auto")
        for row, column in zip(*np.nonzero(counts), strict=True):
            wrong = confusion.rows[row] != confusion.columns[column]
            light = "white" if shades[row, column] > 0.6 else INK
            axes.text(column, row, str(counts[row, column]), ha="center", va="center", fontsize=8,
                      color=FAULT if wrong and shades[row, column] <= 0.6 else light)  # fmt: skip
        axes.set_xticks(
            range(len(confusion.columns)), confusion.columns, rotation=55, ha="right", rotation_mode="anchor"
        )
        axes.set_yticks(range(len(confusion.rows)), confusion.rows)
        axes.axvline(len(ISSUES) - 0.5, color=INK, lw=0.8)
        axes.axhline(len(ISSUES) - 0.5, color=INK, lw=0.8)
        axes.set_xlabel("what the first alarm with the right component (else the first alarm) says")
        axes.set_ylabel("what was wrong")
        axes.set_title("Issues: true against said (numbers: faults; last row: false alarms)")
        axes.tick_params(length=0)
        return save(figure, path)


def plot_confidence(figures: Figures, path: Path) -> Path:
    """Confidence against being right, with 95 % intervals, over the number of alarms in each bin."""
    bins = figures.calibration.bins
    with rc_context(LOOK):
        figure = blank(5.6, 5.8)
        upper, lower = figure.subplots(2, 1, height_ratios=[4, 1], sharex=True)
        upper.plot([0, 1], [0, 1], color=QUIET, lw=1, ls=":")
        upper.text(1.0, 0.0, "dotted: as right as it says", color=QUIET, fontsize=8, ha="right")
        at = [b.mean_confidence for b in bins]
        right = [b.share_right for b in bins]
        spread = [[b.share_right - b.right_low for b in bins], [b.right_high - b.share_right for b in bins]]
        upper.errorbar(at, right, yerr=spread, fmt="o", color=BLUE, capsize=3, lw=1.2)
        brier = figures.calibration.brier
        upper.set_title("No alarm names a component" if brier is None else f"Confidence (Brier score {brier:.3f})")
        upper.set_ylabel("share with the right component")
        upper.set_ylim(-0.02, 1.02)
        lower.bar([(b.low + b.high) / 2 for b in bins], [b.alarms for b in bins], width=0.9 / BINS, color=BLUE)
        lower.set_ylabel("alarms")
        lower.set_xlabel("confidence")
        lower.set_xlim(0, 1.02)
        return save(figure, path)
