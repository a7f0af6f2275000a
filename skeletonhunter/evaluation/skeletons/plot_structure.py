"""Pictures of a skeleton: where its groups are and how alike their traffic is, and which pairs it consists of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Curve

from schemas.skeletons import SkeletonUpdate
from skeletonhunter.evaluation.drawing import BLUE, FAULT, INK, LOOK, ORANGE, QUIET, blank, save
from skeletonhunter.evaluation.skeletons.layout import Spot, groups_of
from skeletonhunter.evaluation.skeletons.traffic import FloatArray, JobTraffic

GREEN = "#3b8751"
KIND_COLOURS = {"dp": BLUE, "pp": FAULT, "ep": GREEN, "emb": ORANGE, "unknown": QUIET}
KIND_WORDS = {
    "dp": "data parallel",
    "pp": "pipeline",
    "ep": "experts",
    "emb": "first with last stage",
    "unknown": "not told apart",
}
MOST_HOSTS = 40


def plot_groups(update: SkeletonUpdate, traffic: JobTraffic, spots: Mapping[str, Spot], path: Path) -> Path:
    """Left: the stage of each host's RNICs; right: how alike the RNICs of a rail are, in order of the groups."""
    with rc_context(LOOK):
        figure = blank(11, 5.2)
        left, right = figure.subplots(1, 2, width_ratios=[1, 1.15])
        _draw_seats(left, update, traffic, spots)
        _draw_likeness(right, update, traffic, spots)
        figure.suptitle(f"{update.job}: {_in_words(update)}", x=0.01, ha="left", fontsize=11, fontweight="bold")
        return save(figure, path)


def _in_words(update: SkeletonUpdate) -> str:
    degrees = update.parallelism
    known = [
        f"{name} {value}"
        for name, value in (("tp", degrees.tp), ("pp", degrees.pp), ("dp", degrees.dp), ("ep", degrees.ep))
        if value
    ]
    return f"{len(update.groups)} groups, {len(update.edges)} pairs, {' '.join(known) or 'degrees unknown'}"


def _draw_seats(axes: Any, update: SkeletonUpdate, traffic: JobTraffic, spots: Mapping[str, Spot]) -> None:
    """Hosts by rails; colour = stage, number = group within the rail."""
    assert traffic.seats is not None
    hosts = sorted(set(traffic.seats.hosts.values()), key=lambda host: _first(host, traffic, spots))
    rails = sorted({spot.rail for spot in spots.values()})
    stages = max(spot.stage for spot in spots.values()) + 1
    colours = colormaps["viridis"](np.linspace(0.12, 0.95, max(stages, 2)))
    shown = hosts[:MOST_HOSTS]
    for name, spot in spots.items():
        host = traffic.seats.hosts[name]
        if host in shown:
            x, y = rails.index(spot.rail), shown.index(host)
            axes.add_patch(_box(x, y, colours[spot.stage] if update.groups else "#e6e6e6"))
            if len(shown) <= 20 and update.groups:
                axes.text(
                    x,
                    y,
                    str(spot.stage),
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="white" if spot.stage < stages * 0.6 else INK,
                )
    axes.set_xlim(-0.6, len(rails) - 0.4)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xticks(range(len(rails)), rails)
    step = -(-len(shown) // 20)
    axes.set_yticks(range(0, len(shown), step), shown[::step], fontsize=7)
    axes.set_xlabel("rail")
    more = "" if len(shown) == len(hosts) else f" ({len(shown)} of {len(hosts)} hosts)"
    axes.set_title(("Stage (or group) of each RNIC" if update.groups else "No groups") + more, fontweight="normal")
    axes.tick_params(length=0)


def _first(host: str, traffic: JobTraffic, spots: Mapping[str, Spot]) -> tuple[int, int, str]:
    assert traffic.seats is not None
    mine = [(spots[name].stage, spots[name].replica) for name, where in traffic.seats.hosts.items() if where == host]
    return (*min(mine), host)


def _box(x: int, y: int, colour: Any) -> PathPatch:
    corners = [
        (x - 0.44, y - 0.44),
        (x + 0.44, y - 0.44),
        (x + 0.44, y + 0.44),
        (x - 0.44, y + 0.44),
        (x - 0.44, y - 0.44),
    ]
    return PathPatch(Curve(corners), facecolor=colour, lw=0)


def _draw_likeness(axes: Any, update: SkeletonUpdate, traffic: JobTraffic, spots: Mapping[str, Spot]) -> None:
    """Correlation of the rates of the RNICs of a rail."""
    rail = min(spot.rail for spot in spots.values())
    names = [name for name, spot in spots.items() if spot.rail == rail]
    groups = groups_of(update)
    names.sort(key=lambda name: (groups.get(name, -1), spots[name].replica))
    likeness = _correlation(traffic.rates(names)[1])
    least = min(float(np.floor(10.0 * likeness.min()) / 10.0), 0.9)
    image = axes.imshow(likeness, cmap="viridis", vmin=least, vmax=1.0, interpolation="none")
    axes.figure.colorbar(image, ax=axes, label="correlation of bytes sent per second", shrink=0.85)
    labels = [groups.get(name, -1) for name in names]
    for place, (one, other) in enumerate(pairwise(labels)):
        if one != other:
            axes.axhline(place + 0.5, color="white", lw=1.2)
            axes.axvline(place + 0.5, color="white", lw=1.2)
    step = -(-len(names) // 16)
    axes.set_xticks([])
    axes.set_yticks(range(0, len(names), step), names[::step], fontsize=7)
    axes.set_title(f"Rail {rail}: how alike; lines between groups", fontweight="normal")
    axes.tick_params(length=0)


def _correlation(rates: FloatArray) -> FloatArray:
    """Of rows over the seconds that all of them have; rows that never change correlate with nothing."""
    seen = rates[:, np.isfinite(rates).all(axis=0)] if rates.size else rates
    if seen.shape[1] < 3:
        return np.zeros((len(rates), len(rates)))
    centred = seen - seen.mean(axis=1, keepdims=True)
    norm = np.sqrt((centred**2).sum(axis=1))
    scaled = centred / np.where(norm > 0.0, norm, 1.0)[:, None]
    likeness: FloatArray = scaled @ scaled.T
    return likeness


def plot_graph(update: SkeletonUpdate, spots: Mapping[str, Spot], path: Path) -> Path:
    """The picture of ``graph_of`` as a file."""
    return save(graph_of(update, spots), path)


def graph_of(update: SkeletonUpdate, spots: Mapping[str, Spot]) -> Figure:
    """Left: the pairs of a rail, stages from left to right, replicas below each other; right: all pairs as a matrix."""
    with rc_context(LOOK):
        figure = blank(11.5, 5.6)
        left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
        _draw_rail(left, update, spots)
        _draw_matrix(right, update, list(spots))
        kinds = sorted({kind for _, _, kind in update.edges}, key=list(KIND_COLOURS).index)
        counts = {kind: sum(1 for edge in update.edges if edge[2] == kind) for kind in kinds}
        handles = [
            Line2D([], [], color=KIND_COLOURS[kind], lw=2, label=f"{KIND_WORDS[kind]}: {counts[kind]}")
            for kind in kinds
        ]
        if handles:
            figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
        title = f"{update.job}: {len(update.edges)} pairs, {update.state}, confidence {update.confidence:.2f}"
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
        return figure


def _draw_rail(axes: Any, update: SkeletonUpdate, spots: Mapping[str, Spot]) -> None:
    """Straight lines between neighbouring stages, arcs within a stage and over stages in between."""
    linked = {name for a, b, _ in update.edges for name in (a, b)}
    rail = min((spots[name].rail for name in linked if name in spots), default=min(s.rail for s in spots.values()))
    here = {name: (spot.stage, spot.replica) for name, spot in spots.items() if spot.rail == rail}
    edges = [(here[a], here[b], kind) for a, b, kind in update.edges if a in here and b in here]
    for kind, colour in KIND_COLOURS.items():
        lines = [_curve(a, b) for a, b, other in edges if other == kind]
        alpha = float(np.clip(40.0 / max(len(lines), 1), 0.15, 0.9))
        axes.add_collection(LineCollection(lines, colors=colour, linewidths=1.0, alpha=alpha))
    if not edges:
        axes.text(0.5, 0.5, "no pairs", transform=axes.transAxes, ha="center", color=QUIET)
    axes.plot(*zip(*here.values(), strict=True), "o", color=INK, ms=5 if len(here) <= 64 else 3, zorder=3)
    replicas = max(y for _, y in here.values()) + 1
    stages = max(x for x, _ in here.values()) + 1
    axes.set_xlim(-0.6, stages - 0.4)
    axes.set_ylim(replicas - 0.5, -0.5)
    axes.set_xticks(range(stages), [f"stage {n}" for n in range(stages)] if stages <= 8 else range(stages))
    axes.set_yticks(range(0, replicas, -(-replicas // 16)))
    axes.set_ylabel("replica")
    axes.set_title(f"Rail {rail}: {len(here)} RNICs, {len(edges)} pairs", fontweight="normal")


def _curve(a: tuple[int, int], b: tuple[int, int]) -> FloatArray:
    """From a to b; within a column bowed to the left, over columns in between upwards, by their distance."""
    ends = np.array([a, b], dtype=float)
    far = abs(a[0] - b[0]) > 1
    if a[0] != b[0] and not far:
        return ends
    turn = np.linspace(0.0, np.pi, 24)
    along = ends.mean(axis=0) - 0.5 * np.cos(turn)[:, None] * (ends[1] - ends[0])
    distance = float(np.abs(ends[1] - ends[0]).max())
    bow = 0.42 * (1.0 - np.exp(-distance / 4.0)) * np.sin(turn)
    along[:, 1 if far else 0] -= bow
    curve: FloatArray = along
    return curve


def _draw_matrix(axes: Any, update: SkeletonUpdate, names: Sequence[str]) -> None:
    """A mark for each pair in both directions, endpoints in alphabetical order of containers."""
    order = {name: place for place, name in enumerate(sorted(names))}
    size = float(np.clip(160.0 / len(order), 0.7, 5.0))
    for kind, colour in KIND_COLOURS.items():
        pairs = [(order[a], order[b]) for a, b, edge in update.edges if edge == kind and a in order and b in order]
        if pairs:
            x, y = np.array(pairs).T
            axes.plot(
                np.concatenate([x, y]), np.concatenate([y, x]), "s", color=colour, ms=size, mec="none", rasterized=True
            )
    axes.set_xlim(-1, len(order))
    axes.set_ylim(len(order), -1)
    axes.set_aspect("equal")
    axes.set_xlabel("RNICs of the job, by container")
    axes.set_title(f"All pairs of {len(order)} RNICs", fontweight="normal")
