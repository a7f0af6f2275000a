"""The production case of the paper (Fig. 18), second by second, as read off its vector figure. See ``data/README.md``.

The curves are drawn as polylines: a point that lies on the straight line between its neighbours is not in the files.
Second ``k`` is the point nearest to it. Loss is drawn 0.0002 above its value and in steps of 0.001, the share of a
train of 1,000 probes; it is interpolated where points were left out. A second without latency or queue depth was not
drawn.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SECONDS = 360
TRAIN = 1_000
DRAWN_TO_ZERO_S = (229, 260)
"""The queue's curve lies on the axis here and has no points of its own."""


@dataclass(frozen=True)
class Fig18:
    """Per second: median RTT in us, probes lost of ``TRAIN``, depth of the egress queue in bytes; None = not drawn."""

    rtt_us: tuple[float | None, ...]
    lost: tuple[int, ...]
    depth_bytes: tuple[int | None, ...]


def read_fig18(folder: Path) -> Fig18:
    """The three series from ``fig18_{lat,loss,q}.csv``."""
    latency = {second: value for second, value in _points(folder / "fig18_lat.csv") if value > 0.0}
    loss = _points(folder / "fig18_loss.csv")
    depth = dict(_points(folder / "fig18_q.csv"))
    shares = np.interp(np.arange(SECONDS), [second for second, _ in loss], [share for _, share in loss])
    zero = range(*DRAWN_TO_ZERO_S)
    return Fig18(
        rtt_us=tuple(latency.get(second) for second in range(SECONDS)),
        lost=tuple(round(TRAIN * share) for share in shares.tolist()),
        depth_bytes=tuple(
            0 if second in zero else round(depth[second]) if second in depth else None for second in range(SECONDS)
        ),
    )


def _points(path: Path) -> list[tuple[int, float]]:
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    return [(round(float(at)), float(value)) for at, value in rows]
