"""The four pictures of each job of a recording, as ``infer --plots`` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from schemas.skeletons import SkeletonUpdate
from skeletonhunter.evaluation.skeletons.layout import spots_of
from skeletonhunter.evaluation.skeletons.plot_structure import plot_graph, plot_groups
from skeletonhunter.evaluation.skeletons.plot_traffic import plot_bursts, plot_rhythm
from skeletonhunter.evaluation.skeletons.traffic import TrafficCollector


def plot_skeletons(updates: Iterable[SkeletonUpdate], collector: TrafficCollector, folder: Path) -> list[Path]:
    """``<job>-bursts.png``, ``-rhythm.png``, ``-groups.png`` and ``-graph.png`` of each update's job."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for update in updates:
        traffic = collector.jobs[update.job]
        if traffic.seats is None or not traffic.seats.rails:
            continue  # a job whose endpoints are all gone has nothing to draw
        spots = spots_of(update, traffic.seats.rails)
        name = re.sub(r"[^\w.-]", "_", update.job)
        written += [
            plot_bursts(update, traffic, spots, folder / f"{name}-bursts.png"),
            plot_rhythm(update, traffic, list(spots), folder / f"{name}-rhythm.png"),
            plot_groups(update, traffic, spots, folder / f"{name}-groups.png"),
            plot_graph(update, spots, folder / f"{name}-graph.png"),
        ]
    return written
