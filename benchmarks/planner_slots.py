"""How often does the schedule reach the lower bound? Real and random skeletons.

    python benchmarks/planner_slots.py [--random 400]

Slots a pass beside Δ, the most pairs of one RNIC: never more than Δ + 1 (Vizing), and how often Δ. ``overfull``
graphs, in which Δ slots can't hold the edges (an odd clique), are counted apart: there Δ + 1 is the optimum.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from typing import Any

from planner_jobs import Job, Pair

from probe_planner.colouring import coloured
from probe_planner.graphs import is_overfull, max_degree

REAL = {
    "figure 9a": Job(pp=8, dp=8),
    "figure 9b": Job(pp=4, dp=4, ep=4),
    "pp 16, dp 16": Job(pp=16, dp=16),
    "pp 8, dp 32": Job(pp=8, dp=32),
    "pp 8, dp 5": Job(pp=8, dp=5),
    "dp 7": Job(dp=7),
    "pp 12": Job(pp=12),
}


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", type=int, default=400)
    count = parser.parse_args().random
    found: dict[str, Any] = {}
    for name, job in REAL.items():
        found[name] = tally([relabelled(job.edges(), job.ranks, seed) for seed in range(40)])
    draws = [random_graph(seed) for seed in range(count)]
    found["random graphs"] = tally(draws)
    found["random jobs"] = tally([random_job(seed) for seed in range(count)])
    print(json.dumps(found, indent=1))


def tally(graphs: list[tuple[int, list[Pair]]]) -> dict[str, Any]:
    """How many graphs get Δ slots, Δ + 1, more."""
    counts: Counter[str] = Counter()
    for vertices, edges in graphs:
        delta = max_degree(vertices, edges)
        work = coloured(vertices, edges)
        slots = max(work.colour, default=-1) + 1
        at = Counter((end, colour) for pair, colour in zip(edges, work.colour, strict=True) for end in pair)
        assert max(at.values(), default=1) == 1 and min(work.colour, default=0) >= 0, "a proper colouring of every edge"
        if slots == delta:
            counts["delta"] += 1
        elif slots == delta + 1:
            counts["overfull" if is_overfull(vertices, edges, delta) else "delta_plus_1"] += 1
        else:
            counts["more"] += 1
    can = len(graphs) - counts["overfull"]
    return {
        "graphs": len(graphs),
        **counts,
        "share_of_those_that_can": round(counts["delta"] / can, 4) if can else None,
    }


def relabelled(edges: list[Pair], vertices: int, seed: int) -> tuple[int, list[Pair]]:
    """The same graph under other names, edges in another order."""
    draw = random.Random(seed)
    names = list(range(vertices))
    draw.shuffle(names)
    mixed = [(names[a], names[b]) for a, b in edges]
    draw.shuffle(mixed)
    return vertices, mixed


def random_graph(seed: int) -> tuple[int, list[Pair]]:
    """Any simple graph."""
    draw = random.Random(seed)
    vertices = draw.randint(4, 120)
    share = draw.choice([0.02, 0.1, 0.3, 0.7])
    return vertices, [(a, b) for a in range(vertices) for b in range(a + 1, vertices) if draw.random() < share]


def random_job(seed: int) -> tuple[int, list[Pair]]:
    """A job of any degrees, some of its pairs missing as while it starts."""
    draw = random.Random(seed)
    job = Job(tp=draw.randint(1, 8), pp=draw.randint(1, 12), dp=draw.randint(1, 12), ep=draw.choice([1, 1, 2, 4]))
    _, edges = relabelled(job.edges(), job.ranks, seed)
    return job.ranks, edges[: int(len(edges) * draw.choice([1.0, 1.0, 0.9, 0.5]))]


if __name__ == "__main__":
    main()
