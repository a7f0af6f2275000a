"""What does planning cost, beside a naive schedule in plain Python in the same run?

    python benchmarks/planner_speed.py [--repeat 7]

Processor time, the median of ``--repeat`` runs. 2,048 RNICs in pp 16, dp 16 are 34,560 directed pairs on a fabric of
3,072
links: the schedule alone, the whole plan with paths, ports and coverage, one container leaving and coming back. The
naive schedule gives each edge the first free of Δ slots, flips one Kempe chain if there is none, and leaves the edge
over if that does not help. 40,000 RNICs in 2,000 jobs of 16, 20 and 24: all plans, each with its part of the fabric.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from msgspec import structs
from planner_jobs import T_US, Job, Pair, endpoint_map, fabric, planned, skeleton, told

from probe_planner.graphs import max_degree
from probe_planner.layout import lay_out
from probe_planner.parameters import PlannerParameters
from probe_planner.surroundings import used_by
from probe_planner.wiring import read_wiring
from schemas.folding import Observation, TimeReached
from schemas.skeletons import SkeletonUpdate

LARGE = Job(pp=16, dp=16)
PARAMETERS = PlannerParameters()


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=7)
    repeat = parser.parse_args().repeat
    gc.freeze()
    found = {
        "schedule": schedules(repeat),
        "whole_plan_s": whole_plan(repeat),
        "edges_known": comings(repeat, False),
        "edges_decoded": comings(repeat, True),
        **fleet(),
    }
    print(json.dumps(found, indent=1))


def measured(work: Callable[[], Any], repeat: int) -> float:
    """Median processor time, seconds."""
    times = []
    for _ in range(repeat):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return round(statistics.median(times), 4)


def schedules(repeat: int) -> dict[str, Any]:
    """Ours and the naive one, edges by name and in random order."""
    found = {}
    for name, seed in (("by name", None), ("shuffled", 1)):
        edges = LARGE.edges()
        if seed is not None:
            random.Random(seed).shuffle(edges)
        pairs = [(LARGE.name(a), LARGE.name(b)) for a, b in edges]
        rnic_of = {LARGE.name(rank): f"r{rank}" for rank in range(LARGE.ranks)}
        layout = lay_out(pairs, rnic_of, 2, 1)
        delta = max_degree(LARGE.ranks, edges)
        naive, left = naive_schedule(edges, LARGE.ranks, delta)
        assert len(naive) == len(edges)
        found[name] = {
            "directed_pairs": 2 * len(edges),
            "delta": delta,
            "slots_a_pass": layout.slots // 2,
            "ours_s": measured(lambda p=pairs, r=rnic_of: lay_out(p, r, 2, 1), repeat),  # type: ignore[misc]
            "naive_s": measured(lambda e=edges, d=delta: naive_schedule(e, LARGE.ranks, d), repeat),  # type: ignore[misc]
            "naive_left_over": left,
        }
    return found


def naive_schedule(edges: list[Pair], vertices: int, colours: int) -> tuple[list[int], int]:
    """Greedy with one Kempe chain; the colour of each edge, -1 = left over, and how many are."""
    at: list[dict[int, int]] = [{} for _ in range(vertices)]
    colour = [-1] * len(edges)
    left = 0
    for number, (u, v) in enumerate(edges):
        free_u = [c for c in range(colours) if c not in at[u]]
        free_v = [c for c in range(colours) if c not in at[v]]
        common = next((c for c in free_u if c not in at[v]), None)
        if common is None and free_u and free_v and _flip(edges, at, colour, v, (free_u[0], free_v[0]), u):
            common = free_u[0]
        if common is None:
            left += 1
            continue
        colour[number] = common
        at[u][common] = at[v][common] = number
    return colour, left


def _flip(
    edges: list[Pair], at: list[dict[int, int]], colour: list[int], start: int, colours: tuple[int, int], other: int
) -> bool:
    """Swaps two colours along the chain from ``start``, unless it ends at ``other``."""
    chain, vertex, wanted = [], start, colours[0]
    while wanted in at[vertex]:
        edge = at[vertex][wanted]
        chain.append(edge)
        vertex = sum(edges[edge]) - vertex
        wanted = sum(colours) - wanted
    if vertex == other:
        return False
    for edge in chain:
        for end in edges[edge]:
            at[end].pop(colour[edge], None)
    for edge in chain:
        colour[edge] = sum(colours) - colour[edge]
        for end in edges[edge]:
            at[end][colour[edge]] = edge
    return True


def whole_plan(repeat: int) -> float:
    """The engine's step from maps and skeleton to the message."""
    values = endpoint_map(LARGE), skeleton(LARGE), fabric(LARGE)
    times = []
    for _ in range(repeat):
        engine, state = told(PARAMETERS, *values)
        begin = time.process_time()
        _, sent = engine.step(state, TimeReached(T_US))
        times.append(time.process_time() - begin)
        assert sent[0].value.coverage.crossed == sent[0].value.coverage.links
    return round(statistics.median(times), 4)


def comings(repeat: int, decoded: bool) -> dict[str, Any]:
    """One container leaves, and comes back; ``decoded``: the skeleton comes from bytes, so its edges are compared."""
    first = skeleton(LARGE)
    engine, state = told(PARAMETERS, endpoint_map(LARGE), first, fabric(LARGE))
    state, _ = engine.step(state, TimeReached(T_US))
    times: dict[str, list[float]] = {"leaves": [], "comes": []}
    foreign = 0
    for version in range(2, 2 + 2 * repeat):
        who = version // 2 * 7 % LARGE.containers
        leaves = version % 2 == 0
        gone = frozenset({who}) if leaves else frozenset()
        for value, topic in (
            (endpoint_map(LARGE, version, gone), "endpoint-map"),
            (following(first, version, decoded), "skeleton-updates"),
        ):
            state, _ = engine.step(state, Observation(topic, value))
        state.whole_due_us = None
        gc.collect()
        begin = time.process_time()
        state, sent = engine.step(state, TimeReached(T_US + version * 1_000_000))
        times["leaves" if leaves else "comes"].append(time.process_time() - begin)
        own = {LARGE.name(who * LARGE.tp + rank) for rank in range(LARGE.tp)}
        changed = (*sent[0].value.removed, *sent[0].value.added)
        foreign += sum(src not in own and dst not in own for _, src, dst, _ in changed)
    return {
        **{f"container_{name}_ms": round(statistics.median(each) * 1e3, 2) for name, each in times.items()},
        "probes_in_a_delta": len(changed),
        "probes_of_others_in_deltas": foreign,
    }


def following(first: SkeletonUpdate, version: int, decoded: bool) -> SkeletonUpdate:
    """The same edges for the next endpoint map."""
    if decoded:
        return skeleton(LARGE, version)
    return structs.replace(first, version=version, endpoint_map_version=version)


def fleet() -> dict[str, Any]:
    """2,000 jobs on neighbouring hosts, 8 hosts a leaf, and as a bad case each host on a leaf of its own."""
    kinds = [Job(tp=8, dp=2), Job(tp=4, dp=5), Job(tp=8, pp=3)]
    packed = [inputs(kind, first) for kind in kinds for first in range(8)]
    scattered = [(endpoint_map(kind), skeleton(kind), fabric(kind, hosts_per_leaf=1)) for kind in kinds]
    found: dict[str, Any] = {"jobs": 2_000, "rnics": 40_000}
    for name, jobs, count in (("all_plans_s", packed, 2_000), ("all_plans_scattered_s", scattered, 300)):
        begin = time.process_time()
        for number in range(count):
            plan = planned(PARAMETERS, *jobs[number % len(jobs)])
            assert plan.coverage.crossed == plan.coverage.links
        found[name] = round((time.process_time() - begin) * 2_000 / count, 2)
    return found


def inputs(kind: Job, first: int) -> tuple[Any, ...]:
    """What the planner of a job is told, whose hosts begin within a leaf."""
    job = replace(kind, first=first)
    whole = fabric(Job(tp=kind.tp, dp=16))
    rnics = [f"{each.host}/{each.rnic}" for each in endpoint_map(job).endpoints]
    wiring = read_wiring(whole.nodes, whole.links, rnics)
    switches, links = used_by(wiring)
    nodes = tuple(node for node in whole.nodes if node.id in switches or node.id in wiring.rnic)
    part = structs.replace(whole, nodes=nodes, links=tuple(link for link in whole.links if link.id in links))
    return endpoint_map(job), skeleton(job), part


if __name__ == "__main__":
    main()
