"""How long is a round, beside the paper's, at every size that it gives?

    python benchmarks/planner_rounds.py [--json]

The paper's cost model: every source walks its list of targets, one target a second. Full mesh: all RNICs of other
hosts;
basic: its rail's; skeleton: its peers'. Ours in the same model: each pair from one end a round, from the other in the
next, an RNIC sending one probe and answering one at a time. Then in real time: both ends every round, one probe of an
RNIC at a time, trains of 20 ms and the default packet budget (50 ms). The paper does not say how its jobs
were divided; these divisions fit its skeleton times.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import Any

from planner_jobs import Job, endpoint_map, planned, skeleton

from probe_planner.parameters import PlannerParameters

PAPER = {
    32: (42.4, 5.2, 1.6),
    64: (81.1, 10.4, 2.4),
    128: (150.4, 23.2, 3.6),
    256: (298.1, 35.2, 4.1),
    512: (560.25, 64.85, 8.23),
    1024: (1123.43, 122.54, 16.91),
    2048: (2034.12, 240.54, 25.09),
}
JOBS = {
    32: Job(pp=2, dp=2),
    64: Job(pp=4, dp=2),
    128: Job(pp=4, dp=4),
    256: Job(pp=8, dp=4),
    512: Job(pp=8, dp=8),
    1024: Job(pp=8, dp=16),
    2048: Job(pp=16, dp=16),
}
SECOND = {"slot_s": 1.0, "train_packets": 1, "pps_per_rnic": 1000.0}


def main() -> None:
    """Prints a Markdown table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    rows = [row(size) for size in PAPER]
    if parser.parse_args().json:
        print(json.dumps(rows, indent=1))
        return
    print(
        "| RNICs | job | paper: full mesh / basic / skeleton | model: full mesh / basic / skeleton | ours, model "
        "| Δ, slots a pass | real time, 20 ms | default budget |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for each in rows:
        print(
            f"| {each['rnics']} | pp {each['pp']}, dp {each['dp']} | {' / '.join(f'{s:g}' for s in each['paper_s'])} s "
            f"| {' / '.join(f'{s:g}' for s in each['model_s'])} s | **{each['ours_s']:g} s** "
            f"| {each['delta']}, {each['slots']} | {each['real_s']:g} s | {each['default_s']:g} s |"
        )


def row(size: int) -> dict[str, Any]:
    """One size."""
    job = JOBS[size]
    peers = Counter(end for pair in job.edges() for end in pair)
    values = endpoint_map(job), skeleton(job)
    model = planned(PlannerParameters(**SECOND, probes_per_slot=2, directions="alternate"), *values)
    for slot in model.slots:
        assert max(Counter(src for src, _, _ in slot).values()) == 1, "one target per second per source"
    assert sum(map(len, model.slots)) == len(job.edges()), "every pair"
    real = planned(PlannerParameters(slot_s=0.02, train_packets=10, pps_per_rnic=1000.0), *values)
    default = planned(PlannerParameters(), *values)
    delta = max(peers.values())
    return {
        "rnics": size,
        "pp": job.pp,
        "dp": job.dp,
        "paper_s": PAPER[size],
        "model_s": (size - job.tp, size // job.tp - 1, delta),
        "ours_s": model.expected.round_s,
        "delta": delta,
        "slots": len(real.slots) // 2,
        "real_s": real.expected.round_s,
        "default_s": default.expected.round_s,
    }


if __name__ == "__main__":
    main()
