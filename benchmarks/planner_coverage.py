"""Which links do the probes of a round cross, and which single failures could they tell apart? Beside simpler plans.

    python benchmarks/planner_coverage.py

Of the links that the skeleton's traffic can take: the share crossed by a probe path, by two (or by as many pairs as can
cross the link), and the share of the classes that any choice of ports could tell apart. ``planned``: chosen ports in
one round; ``turns``: over up to eight turns; ``random ports``: the same pairs, each with a random port, mean of five
draws; ``full mesh``: as many probes between random RNICs of the job, random ports, mean of five draws.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import numpy as np
from planner_jobs import Job, endpoint_map, fabric, planned, skeleton

from probe_planner.parameters import PlannerParameters
from probe_planner.routes import Directed, Routes
from schemas.maps import Endpoint, JobFabric

ONE_END: dict[str, Any] = {"directions": "alternate"}
CASES: dict[str, tuple[Job, dict[str, Any], dict[str, Any]]] = {
    "2,048 RNICs, pp 16 dp 16, 8 hosts a leaf, 4 spines": (Job(pp=16, dp=16), {}, {}),
    "the same, one end a round": (Job(pp=16, dp=16), {}, ONE_END),
    "2,048 RNICs, pp 32 dp 8, 16 spines": (Job(pp=32, dp=8), {"spines": 16}, ONE_END),
    "512 RNICs, pp 8 dp 8, 2 hosts a leaf, 16 spines": (Job(pp=8, dp=8), {"hosts_per_leaf": 2, "spines": 16}, {}),
    "512 RNICs, pp 8 dp 8, pods and cores": (
        Job(pp=8, dp=8),
        {"hosts_per_leaf": 4, "segments_per_pod": 4, "cores_per_plane": 4, "spines": 4},
        ONE_END,
    ),
    "128 RNICs, pp 16, a host a leaf, 8 spines": (Job(pp=16), {"hosts_per_leaf": 1, "spines": 8}, {}),
    "64 RNICs, pp 4 dp 2, 2 hosts a leaf, 4 spines": (Job(pp=4, dp=2), {"hosts_per_leaf": 2}, {}),
}


def main() -> None:
    """Prints one JSON object per case."""
    for name, (job, cabling, bounds) in CASES.items():
        print(json.dumps({"case": name, **compare(job, fabric(job, **cabling), bounds)}))


def compare(job: Job, view: JobFabric, bounds: dict[str, Any]) -> dict[str, Any]:
    """Shares of each way of choosing."""
    places = {endpoint.endpoint: endpoint for endpoint in endpoint_map(job).endpoints}
    values = endpoint_map(job), skeleton(job), view
    one = planned(PlannerParameters(most_turns=1, **bounds), *values)
    many = planned(PlannerParameters(**bounds), *values)
    probes = [(src, dst) for slot in one.slots for src, dst, _ in slot]
    counter = Counter(view, places, probes)
    ports = {(src, dst): port for slot in many.slots for src, dst, port in slot}
    paths = [(probe, port) for probe, port in ports.items()]
    paths += [((src, dst), port) for src, dst, later in (many.turns.changing if many.turns else ()) for port in later]
    return {
        "probes": len(probes),
        "links": len(counter.able),
        "planned": counter.shares([((src, dst), port) for slot in one.slots for src, dst, port in slot]),
        "turns": {"turns": many.turns.turns if many.turns else 1, **counter.shares(sorted(set(paths)))},
        "random ports": mean([counter.shares(random_ports(probes, seed)) for seed in range(5)]),
        "full mesh": mean([counter.shares(random_ports(random_pairs(job, len(probes), s), s)) for s in range(5)]),
    }


class Counter:
    """Counts crossings of the links that the skeleton's pairs can take, by another way than the planner does."""

    def __init__(self, view: JobFabric, places: dict[str, Endpoint], probes: list[Directed]) -> None:
        self.routes, self.places = Routes(PlannerParameters(), view), places
        known, flows = self.routes._flows(_ends(probes), places)
        assert flows is not None and len(known) == len(probes)
        ways = flows.possible()
        self.able: dict[int, set[tuple[int, int]]] = defaultdict(set)
        self.pairs: dict[int, set[int]] = defaultdict(set)
        for pair, number in np.ndindex(*ways.shape[:2]):
            for link in ways[pair, number].tolist():
                if link >= 0:
                    self.able[link].add((pair, tuple(ways[pair, number].tolist()).__hash__()))
                    self.pairs[link].add(pair)
        self.classes = len({frozenset(each) for each in self.able.values()})

    def shares(self, paths: list[tuple[Directed, int]]) -> dict[str, float]:
        """What probe paths, as ((source, destination), port), achieve."""
        crossing: dict[int, set[int]] = defaultdict(set)
        _, flows = self.routes._flows(_ends([probe for probe, _ in paths]), self.places)
        assert flows is not None
        ports = np.array([port for _, port in paths]) - PlannerParameters().first_port
        for number, row in enumerate(flows.hashed(np.arange(len(paths)), ports).tolist()):
            for link in row:
                if link in self.able:
                    crossing[link].add(number)
        twice = sum(len(crossing[link]) >= min(2, len(self.pairs[link])) for link in self.able)
        told = len({frozenset(each) for each in crossing.values() if each})
        return {
            "crossed": round(sum(bool(each) for each in crossing.values()) / len(self.able), 4),
            "twice": round(twice / len(self.able), 4),
            "told_apart": round(told / self.classes, 4),
        }


def _ends(probes: list[Directed]) -> Any:
    from probe_planner.routes import _Ends

    return _Ends(probes)


def random_ports(probes: list[Directed], seed: int) -> list[tuple[Directed, int]]:
    """A port for each probe."""
    draw = np.random.default_rng(seed)
    return [
        (probe, 49_152 + int(port)) for probe, port in zip(probes, draw.integers(0, 16_384, len(probes)), strict=True)
    ]


def random_pairs(job: Job, count: int, seed: int) -> list[Directed]:
    """Pairs of RNICs of different hosts."""
    draw = np.random.default_rng(100 + seed)
    found: list[Directed] = []
    while len(found) < count:
        a, b = draw.integers(0, job.ranks, 2).tolist()
        if a // job.tp != b // job.tp:
            found.append((job.name(a), job.name(b)))
    return found


def mean(rows: list[dict[str, float]]) -> dict[str, float]:
    """Column by column."""
    return {name: round(sum(row[name] for row in rows) / len(rows), 4) for name in rows[0]}


if __name__ == "__main__":
    main()
