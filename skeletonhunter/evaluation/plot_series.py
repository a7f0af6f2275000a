"""A picture of one recording: RTT, loss, throughput and queues over time, with fault windows and alarms."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.ticker import FuncFormatter, NullFormatter

from schemas.diagnosis import Incident
from schemas.instants import seconds
from schemas.truth import Fault, MonitorFault, Truth
from skeletonhunter.evaluation.drawing import BLUE, FAULT, INK, LOOK, ORANGE, QUIET, WINDOW, blank, save
from skeletonhunter.evaluation.series import SeriesCollector, Span, band, losses, medians

WORST_PAIRS = 3
SHADES = (FAULT, ORANGE, "#7d5ba6")


def plot_series(title: str, series: SeriesCollector, truth: Truth, incidents: Sequence[Incident], path: Path) -> Path:
    """Four stacked panels on one time axis. In colour: the pairs that changed most inside the windows."""
    faults: tuple[Fault | MonitorFault, ...] = (*truth.faults, *truth.monitor_faults)
    spans = [_span(fault, series.start_us) for fault in faults]
    named = frozenset(endpoint for fault in faults for endpoint in fault.endpoints)
    worst = series.most_changed(spans, named, WORST_PAIRS) if spans else []
    with rc_context(LOOK):
        figure = blank(10, 7.6)
        panels = figure.subplots(4, 1, sharex=True, height_ratios=[3, 2, 2, 1.4])
        _draw_rtt(panels[0], series, worst)
        _draw_loss(panels[1], series, worst)
        _draw_throughput(panels[2], series, named)
        _draw_queues(panels[3], series)
        last_s = max((second for pair in series.pairs.values() for second in pair.sent), default=0) + 1
        for axes in panels:
            _draw_windows(axes, spans, "time of what was wrong" if axes is panels[0] else None)
            axes.grid(axis="y", color="#eeeeee")
            axes.set_axisbelow(True)
        _draw_alarms(panels[0], incidents, series.start_us)
        for axes in [axes for axes in panels if axes.get_legend_handles_labels()[1]]:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=7.5)
        panels[0].set_title(_heading(title, faults))
        panels[-1].set_xlabel("seconds from the start of the recording")
        panels[-1].set_xlim(0, last_s)
        return save(figure, path)


def _span(fault: Fault | MonitorFault, start_us: int) -> Span:
    return seconds(fault.start_us - start_us), seconds(fault.end_us - start_us)


def _heading(title: str, faults: Sequence[Fault | MonitorFault]) -> str:
    what = [f"{getattr(fault, 'issue', None) or fault.kind} at {fault.component or 'a whole job'}" for fault in faults]
    return f"{title}: {'; '.join(what) or 'nothing is wrong'}"


def _draw_rtt(axes: Any, series: SeriesCollector, worst: Sequence[tuple[str, str]]) -> None:
    rest = band(medians(pair) for name, pair in series.pairs.items() if name not in worst)
    axes.fill_between(
        rest[:, 0], rest[:, 1], rest[:, 3], color=QUIET, alpha=0.35, lw=0, label="other pairs, middle 80 %"
    )
    axes.plot(rest[:, 0], rest[:, 2], color=INK, lw=0.9, label="other pairs, median")
    for colour, name in zip(SHADES, worst, strict=False):
        points = sorted(medians(series.pairs[name]).items())
        axes.plot(*zip(*points, strict=True), ".", ms=3, color=colour, label=" → ".join(name)) if points else None
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 5.0), max(high, 100.0))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("RTT, us")


def _draw_loss(axes: Any, series: SeriesCollector, worst: Sequence[tuple[str, str]]) -> None:
    rest = band(losses(pair) for name, pair in series.pairs.items() if name not in worst)
    axes.plot(rest[:, 0], rest[:, 3], color=INK, lw=0.9, label="other pairs, 90 % quantile")
    for colour, name in zip(SHADES, worst, strict=False):
        points = sorted(losses(series.pairs[name]).items())
        axes.plot(*zip(*points, strict=True), ".", ms=3, color=colour) if points else None
    axes.set_yscale("symlog", linthresh=1e-3)
    axes.set_ylim(-1e-4, 1.3)
    axes.set_yticks([0, 1e-3, 1e-2, 1e-1, 1], ["0", "0.1 %", "1 %", "10 %", "all"])
    axes.set_ylabel("probes lost")


def _draw_throughput(axes: Any, series: SeriesCollector, named: frozenset[str]) -> None:
    for colour, label, members in (
        (INK, "other RNICs, middle 80 % and median", [v for name, v in series.gbps.items() if name not in named]),
        (FAULT, "RNICs that the fault can hurt", [v for name, v in series.gbps.items() if name in named]),
    ):
        rows = band(members)
        axes.fill_between(rows[:, 0], rows[:, 1], rows[:, 3], color=colour, alpha=0.2, lw=0)
        axes.plot(rows[:, 0], rows[:, 2], color=colour, lw=0.9, label=label if len(rows) else None)
    axes.set_ylabel("sent, Gb/s")
    axes.set_ylim(bottom=0)
    if not series.gbps:
        _say_not_recorded(axes)


def _draw_queues(axes: Any, series: SeriesCollector) -> None:
    points = sorted(series.queue_bytes.items())
    if points:
        at, depth = zip(*points, strict=True)
        axes.plot(at, [value / 1024 for value in depth], color=BLUE, lw=0.9)
    else:
        _say_not_recorded(axes)
    axes.set_ylabel("deepest\nqueue, KiB")
    axes.set_ylim(bottom=0)


def _say_not_recorded(axes: Any) -> None:
    axes.set_yticks([])
    axes.text(0.5, 0.4, "not recorded", transform=axes.transAxes, ha="center", color=QUIET)


def _draw_windows(axes: Any, spans: Sequence[Span], label: str | None) -> None:
    for begin, end in spans:
        axes.axvspan(begin, end, color=WINDOW, lw=0, zorder=0, label=label)
        label = None  # one entry in the legend is enough


def _draw_alarms(axes: Any, incidents: Sequence[Incident], start_us: int) -> None:
    """A mark at each incident's first detection, and one where its component is first named."""
    first: dict[str, Incident] = {}
    for incident in incidents:
        first.setdefault(incident.incident, incident)
    top = axes.get_xaxis_transform()
    for incident in first.values():
        axes.plot(seconds(incident.detected_us - start_us), 0.97, "v", color=BLUE, ms=6, transform=top, clip_on=False)
        if incident.localized_us is not None:
            at_s = seconds(incident.localized_us - start_us)
            axes.plot(at_s, 0.90, "v", color=ORANGE, ms=6, transform=top, clip_on=False)
    if first:
        axes.plot([], [], "v", color=BLUE, ms=6, label="incident detected")
        axes.plot([], [], "v", color=ORANGE, ms=6, label="... component named")
