"""Do probes that the planner adds for suspected components, and ports that change, shorten diagnosis?

    python benchmarks/planner_closed_loop.py [--size s] [--seeds 1] [--pps 4000] [--subjects ...]

Each scenario is simulated with the engines in the loop and diagnosed, once per variant: ``fixed`` (each pair keeps its
port, no extra probes), ``turns`` (ports change where paths are unsure), ``adaptive`` (extra probes as well), ``more``
(up to as many as others). Delays are in seconds from the fault's onset; null = did not happen. A handful of scenarios
shows a tendency, not a law.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from statistics import fmean
from typing import Any

from msgspec.structs import replace

from skeletonhunter.evaluation.scenarios import Scenario
from skeletonhunter.evaluation.workbench import PipelineBench
from skeletonhunter.scoring import score
from streams.parameters import Parameters

SUBJECTS = (
    "issue-01-crc_error",
    "issue-02-switch_port_down",
    "issue-07-rnic_port_down",
    "issue-03-switch_port_flapping",
    "issue-08-rnic_port_flapping",
    "issue-14-not_using_rdma",
    "control-healthy",
)
VARIANTS: dict[str, dict[str, Any]] = {
    "fixed": {"extra_share": 0.0, "most_turns": 1},
    "turns": {"extra_share": 0.0},
    "adaptive": {},
    "more": {"extra_share": 1.0},
}


def main() -> None:
    """Prints one JSON object per scenario and variant, then the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="s")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--pps", type=float, default=4000.0)
    parser.add_argument("--subjects", nargs="+", default=list(SUBJECTS))
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS))
    given = parser.parse_args()
    rows = []
    for seed in given.seeds:
        for subject in given.subjects:
            for variant in given.variants:
                rows.append(run(Scenario(subject, given.size, seed), variant, given.pps))
                print(json.dumps(rows[-1]), flush=True)
    print(
        json.dumps({variant: means([row for row in rows if row["variant"] == variant]) for variant in given.variants})
    )


def run(scenario: Scenario, variant: str, pps: float) -> dict[str, Any]:
    """One scenario with one variant of the planner."""
    base = Parameters()
    planner = replace(base.planner, pps_per_rnic=pps, **VARIANTS[variant])
    bench = PipelineBench(replace(base, planner=planner))
    folder = Path(tempfile.mkdtemp())
    try:
        found = bench.diagnose(bench.simulate(scenario, folder))
        verdict = score(found.truth, found.incidents, found.facts)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "scenario": scenario.id,
        "variant": variant,
        "pps": pps,
        "detection_s": [fault.detection_s for fault in verdict.faults],
        "alarm_s": [fault.alarm_s for fault in verdict.faults],
        "localization_s": [fault.localization_s for fault in verdict.faults],
        "alarms": len(verdict.alarms),
    }


def means(rows: list[dict[str, Any]]) -> dict[str, float | None]:
    """Means over what happened, and how often it did."""
    found: dict[str, float | None] = {"alarms": float(sum(row["alarms"] for row in rows))}
    for name in ("detection_s", "localization_s"):
        values = [value for row in rows for value in row[name] if value is not None]
        found[name] = round(fmean(values), 2) if values else None
        found[f"{name}_count"] = float(len(values))
    return found


if __name__ == "__main__":
    main()
