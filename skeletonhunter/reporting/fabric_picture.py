"""The way through the fabric, as SVG: the ill pairs' paths in layers of RNICs and switches, what is blamed in red.

Of a large fabric only what matters is drawn: the RNICs at the ends of ill paths (``MOST_ENDS`` of them, those of the
component first), the leaves on those paths, and spines and cores with those on the paths first, up to ``MOST_WIDE``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib import rc_context

from schemas.diagnosis import Incident
from schemas.maps import FabricMap
from skeletonhunter.evaluation.drawing import FAULT, INK, LOOK, ORANGE, QUIET, blank
from skeletonhunter.reporting.backdrop import Backdrop
from skeletonhunter.reporting.pictures import as_svg
from skeletonhunter.reporting.places import blamed_links, blamed_nodes, ill_pairs, node_of

LAYERS = {"rnic": 0, "leaf": 1, "spine": 2, "core": 3}
MOST_ENDS = 12
MOST_WIDE = 16


class _Drawn(NamedTuple):
    """Spots of the nodes that are drawn, how many ill paths cross each link, and what is blamed."""

    spots: dict[str, tuple[float, float]]
    crossed: Counter[str]
    nodes: frozenset[str]
    links: frozenset[str]


def draw_fabric(incident: Incident, backdrop: Backdrop) -> str | None:
    """The picture; None when the fabric, or every path of the ill pairs, is unknown."""
    fabric = backdrop.fabrics.get(incident.fabric)
    paths = [path for pair in ill_pairs(incident, backdrop) for path in backdrop.paths[pair]]
    if fabric is None or not paths:
        return None
    drawn = _choose(incident, backdrop, fabric, paths)
    with rc_context(LOOK):
        figure = blank(9, 1.2 + 1.25 * len({y for _, y in drawn.spots.values()}))
        axes = figure.subplots()
        _draw_links(axes, fabric, drawn)
        _draw_nodes(axes, drawn)
        axes.axis("off")
        axes.margins(0.06, 0.14)
        _legend(axes)
        return as_svg(figure)


def _choose(incident: Incident, backdrop: Backdrop, fabric: FabricMap, paths: Sequence[tuple[str, ...]]) -> _Drawn:
    blamed, links = blamed_nodes(incident, backdrop), blamed_links(incident, fabric)
    crossed = Counter(link for path in paths for link in path)
    ends = {link.id: (node_of(link.a), node_of(link.b)) for link in fabric.links}
    on_paths = Counter(node for link, count in crossed.items() for node in ends.get(link, ()) for _ in range(count))
    for link in links:
        on_paths.update(dict.fromkeys(ends[link.id], 1))
    layers: dict[str, list[str]] = {kind: [] for kind in LAYERS}
    for node in fabric.nodes:
        layers[node.kind].append(node.id)
    spots: dict[str, tuple[float, float]] = {}
    for kind, layer in LAYERS.items():
        most = MOST_ENDS if kind == "rnic" else MOST_WIDE
        wanted = [name for name in layers[kind] if layer > 1 or name in on_paths or name in blamed]
        ranked = sorted(wanted, key=lambda name: (name not in blamed, -on_paths[name], name))
        chosen = sorted(ranked[:most])
        for place, name in enumerate(chosen):
            spots[name] = ((place + 0.5) / len(chosen), float(layer))
    return _Drawn(spots, crossed, blamed, frozenset(link.id for link in links))


def _draw_links(axes: Any, fabric: FabricMap, drawn: _Drawn) -> None:
    most = max(drawn.crossed.values())
    for link in fabric.links:
        a, b = node_of(link.a), node_of(link.b)
        if a not in drawn.spots or b not in drawn.spots:
            continue
        count = drawn.crossed[link.id]
        colour = FAULT if link.id in drawn.links else ORANGE if count else "#d0d0d0"
        width = 3.2 if link.id in drawn.links else 0.8 + 1.8 * count / most
        (x0, y0), (x1, y1) = drawn.spots[a], drawn.spots[b]
        axes.plot([x0, x1], [y0, y1], color=colour, lw=width if count or link.id in drawn.links else 0.5, zorder=1)


def _draw_nodes(axes: Any, drawn: _Drawn) -> None:
    wide = Counter(y for _, y in drawn.spots.values())
    for name, (x, y) in drawn.spots.items():
        guilty = name in drawn.nodes
        axes.plot(x, y, "s" if y else "o", ms=12 if guilty else 9, color=FAULT if guilty else INK, zorder=2)
        crowded = wide[y] > 6
        axes.annotate(
            name,
            (x, y),
            xytext=(0, -11 if y == 0 else 9),
            textcoords="offset points",
            ha="right" if crowded and y == 0 else "left" if crowded else "center",
            va="top" if y == 0 else "bottom",
            rotation=30 if crowded else 0,
            rotation_mode="anchor",
            fontsize=7,
            fontweight="bold" if guilty else "normal",
            color=FAULT if guilty else INK,
        )


def _legend(axes: Any) -> None:
    axes.plot([], [], "s", color=FAULT, label="blamed")
    axes.plot([], [], color=ORANGE, lw=2.4, label="on paths of ill pairs (wider: of more)")
    axes.plot([], [], color=QUIET, lw=0.8, label="other links")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=3, fontsize=7.5)
