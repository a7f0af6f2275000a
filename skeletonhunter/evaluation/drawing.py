"""The look that all pictures share: size, fonts, few colours that also differ in grey, direct words. Backend Agg."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

INK = "#222222"
QUIET = "#9a9a9a"
FAULT = "#c0392b"
BLUE = "#1f5f99"
ORANGE = "#d9822b"
WINDOW = "#fbe9e6"
LOOK: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "figure.dpi": 110,
}


def blank(width: float, height: float, **layout: Any) -> Figure:
    """An empty figure of that size in inches."""
    with rc_context(LOOK):
        return Figure(figsize=(width, height), layout="constrained", **layout)


def save(figure: Figure, path: Path) -> Path:
    """Writes a PNG without a time stamp, so that equal pictures are equal bytes."""
    FigureCanvasAgg(figure)
    with rc_context(LOOK):
        figure.savefig(path, metadata={"Software": None})
    return path
