"""How long does the testbed take for a job of 2,048 RNICs and ten minutes, and how much memory?

    python benchmarks/simulate_large.py [--seconds 600]

Agents probe the job's true pairs (no planner in the loop). Times are of the processor and of the wall, memory is the
largest resident set of the process.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

from msgspec.structs import replace

from skeletonhunter.replaying.simulating import simulate_recording
from skeletonhunter.testbed.scenario import read_scenario

SCENARIO = Path(__file__).parents[1] / "examples/scenarios/large-job.toml"


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=None)
    given = parser.parse_args()
    scenario = read_scenario(SCENARIO)
    if given.seconds is not None:
        scenario = replace(scenario, seconds=given.seconds)
    wall, processor = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large"
        written = simulate_recording(scenario, path, None)
        size = sum(file.stat().st_size for file in path.iterdir())
    result = {
        "seconds": scenario.seconds,
        "messages": sum(written.manifest.topics.values()),
        "wall_s": round(time.perf_counter() - wall, 1),
        "processor_s": round(time.process_time() - processor, 1),
        "memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "recording_mib": size // 2**20,
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
