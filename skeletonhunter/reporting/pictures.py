"""The pictures of a report, as SVG text: what happened when, the measurements, the way through the fabric.

Each function returns an SVG document whose text is drawn as outlines, so that it looks the same everywhere, in print
too. Equal input gives equal bytes. Cost: some tenths of a second each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from schemas.diagnosis import Incident
from schemas.instants import seconds
from skeletonhunter.evaluation.drawing import BLUE, FAULT, INK, LOOK, ORANGE, QUIET, WINDOW, blank
from skeletonhunter.evaluation.series import Pair, Span, band, losses, medians
from skeletonhunter.reporting.backdrop import Backdrop
from skeletonhunter.reporting.places import ports_of

LEAD_S = 60.0
TAIL_S = 45.0
SHOWN_PAIRS = 3
STRETCHED_S = 10.0
SHADES = (FAULT, ORANGE, "#7d5ba6")
STATE_COLOURS = {"open": FAULT, "updated": ORANGE, "resolved": BLUE}


def as_svg(figure: Figure) -> str:
    """The figure as text, without time stamps or random ids."""
    FigureCanvasSVG(figure)
    text = StringIO()
    with rc_context({**LOOK, "svg.hashsalt": "skeletonhunter"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def window_of(incident: Incident, backdrop: Backdrop) -> Span:
    """What is drawn: the fault with a minute before it and some seconds after, seconds of the backdrop."""
    last_s = max((second for pair in backdrop.series.pairs.values() for second in pair.sent), default=0) + 1.0
    begin = seconds(incident.onset_us - backdrop.start_us)
    end = last_s if incident.resolved_us is None else seconds(incident.resolved_us - backdrop.start_us) + TAIL_S
    return max(0.0, begin - LEAD_S), min(max(end, begin + TAIL_S), max(last_s, begin + 1.0))


def draw_timeline(history: Sequence[Incident]) -> str:
    """Onset, detection, localization and end on one line, and each message; the first seconds are stretched."""
    now = history[-1]
    marks = [
        ("begins", now.onset_us, FAULT),
        ("detected", now.detected_us, ORANGE),
        ("localized", now.localized_us, BLUE),
        ("over", now.resolved_us, INK),
    ]
    known = [(name, seconds(t_us - now.onset_us), colour) for name, t_us, colour in marks if t_us is not None]
    with rc_context(LOOK):
        figure = blank(9, 1.9)
        axes = figure.subplots()
        axes.plot([0, max(at for _, at, _ in known)], [1, 1], color=FAULT, lw=4, alpha=0.35, solid_capstyle="butt")
        for number, (name, at, colour) in enumerate(known):
            axes.plot(at, 1, "o", ms=8, color=colour)
            above = number % 2 == 0
            axes.annotate(
                f"{name}\n{at:.1f} s",
                (at, 1),
                xytext=(0, 11 if above else -11),
                textcoords="offset points",
                ha="center",
                va="bottom" if above else "top",
            )
        for state in history:
            at = seconds(state.t_us - now.onset_us)
            axes.plot(at, -0.35, "|", ms=13, mew=2, color=STATE_COLOURS[state.state])
        axes.text(
            0, 0.02, f"messages: {', '.join(_counted([each.state for each in history]))}", fontsize=7.5, color=INK
        )
        _stretch(axes, max(at for _, at, _ in known))
        axes.set_ylim(-0.7, 2.0)
        axes.set_yticks([])
        axes.margins(x=0.08)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(f"seconds from the onset (the first {STRETCHED_S:g} are stretched)")
        return as_svg(figure)


def _stretch(axes: Any, last_s: float) -> None:
    """Gives the first seconds, in which most happens, more room than the rest."""
    axes.set_xscale("symlog", linthresh=STRETCHED_S, linscale=1.5)
    ticks = [tick for tick in (0, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600) if tick <= 1.3 * last_s]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())


def _counted(words: Sequence[str]) -> list[str]:
    return [f"{words.count(word)} {word}" for word in dict.fromkeys(words)]


def draw_series(incident: Incident, backdrop: Backdrop) -> str:
    """RTT, loss and queues around the fault: in colour the pairs that changed most, in grey all others."""
    span = window_of(incident, backdrop)
    fault = (seconds(incident.onset_us - backdrop.start_us), _end(incident, backdrop, span))
    pairs = backdrop.series.most_changed([fault], frozenset(incident.endpoints), SHOWN_PAIRS)
    with rc_context(LOOK):
        figure = blank(9, 6.4)
        panels = figure.subplots(3, 1, sharex=True, height_ratios=[3, 2, 1.7])
        _draw_rtt(panels[0], backdrop, pairs, span)
        _draw_loss(panels[1], backdrop, pairs, span)
        _draw_queues(panels[2], backdrop, ports_of(incident, backdrop), span)
        for axes in panels:
            axes.axvspan(*fault, color=WINDOW, lw=0, zorder=0)
            axes.axvline(seconds(incident.detected_us - backdrop.start_us), color=ORANGE, lw=1.0)
            if incident.localized_us is not None:
                axes.axvline(seconds(incident.localized_us - backdrop.start_us), color=BLUE, lw=1.0)
            axes.grid(axis="y", color="#eeeeee")
            axes.set_axisbelow(True)
        panels[0].plot([], [], color=ORANGE, lw=1.0, label="detected")
        panels[0].plot([], [], color=BLUE, lw=1.0, label="localized")
        keys = [
            entry for axes in (panels[0], panels[2]) for entry in zip(*axes.get_legend_handles_labels(), strict=True)
        ]
        figure.legend(*zip(*keys, strict=True), loc="outside lower center", ncols=2, fontsize=7.5)
        panels[-1].set_xlabel("seconds from the start of the data; shaded: the fault")
        panels[-1].set_xlim(*span)
        return as_svg(figure)


def _end(incident: Incident, backdrop: Backdrop, span: Span) -> float:
    return span[1] if incident.resolved_us is None else seconds(incident.resolved_us - backdrop.start_us)


def _draw_rtt(axes: Any, backdrop: Backdrop, pairs: Sequence[Pair], span: Span) -> None:
    rest = band(medians(series) for name, series in backdrop.series.pairs.items() if name not in pairs)
    axes.fill_between(
        rest[:, 0], rest[:, 1], rest[:, 3], color=QUIET, alpha=0.35, lw=0, label="other pairs, middle 80 %"
    )
    axes.plot(rest[:, 0], rest[:, 2], color=INK, lw=0.9, label="other pairs, median")
    for colour, name in zip(SHADES, pairs, strict=False):
        _points(axes, medians(backdrop.series.pairs[name]), span, colour, " → ".join(name))
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, 5.0), max(high, 100.0))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylabel("RTT, us")


def _draw_loss(axes: Any, backdrop: Backdrop, pairs: Sequence[Pair], span: Span) -> None:
    rest = band(losses(series) for name, series in backdrop.series.pairs.items() if name not in pairs)
    axes.plot(rest[:, 0], rest[:, 3], color=INK, lw=0.9)
    for colour, name in zip(SHADES, pairs, strict=False):
        _points(axes, losses(backdrop.series.pairs[name]), span, colour, None)
    axes.set_yscale("symlog", linthresh=1e-3)
    axes.set_ylim(-1e-4, 1.3)
    axes.set_yticks([0, 1e-3, 1e-2, 1e-1, 1], ["0", "0.1 %", "1 %", "10 %", "all"])
    axes.set_ylabel("probes lost")


def _points(axes: Any, series: Mapping[int, float], span: Span, colour: str, label: str | None) -> None:
    inside = sorted((second, value) for second, value in series.items() if span[0] <= second <= span[1])
    if inside:
        axes.plot(*zip(*inside, strict=True), ".", ms=3, color=colour, label=label)


def _draw_queues(axes: Any, backdrop: Backdrop, ports: frozenset[str], span: Span) -> None:
    near, rest = (
        [series for port, series in backdrop.depths.items() if (port in ports) == wanted] for wanted in (True, False)
    )
    for colour, label, members in (
        (INK, "deepest queue elsewhere", rest),
        (FAULT, "deepest queue on the ill pairs' paths", near),
    ):
        deepest: dict[int, int] = {}
        for series in members:
            for second, depth in series.items():
                if span[0] <= second <= span[1]:
                    deepest[second] = max(depth, deepest.get(second, 0))
        if deepest:
            axes.plot(
                *zip(*sorted((s, d / 1024) for s, d in deepest.items()), strict=True), color=colour, lw=0.9, label=label
            )
    if not backdrop.depths:
        axes.set_yticks([])
        axes.text(0.5, 0.4, "not observed", transform=axes.transAxes, ha="center", color=INK)
    axes.set_ylabel("queue, KiB")
    axes.set_ylim(bottom=0)
