"""How fast is a replay in one process? Real time over replay time, and the share of each part.

    python benchmarks/replay_local.py [RECORDING] [--rounds 3]

*Reading* takes the lines apart, *decoding* makes values of them, *all* runs every stage as well. Times are of the
processor (the machine may be shared) and of the wall, best of the rounds; a fresh process adds its imports, which
``--cold`` measures by running the command itself.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from schemas.codec import decode
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.replaying.local import LocalReplay
from streams.parameters import Parameters

INCIDENT = Path(__file__).parents[1] / "examples/incidents/stale-flow-offload"
PROGRAM = "from skeletonhunter.cli import main; main()"


def read(recording: Recording) -> None:
    """Lines only."""
    for _ in recording.lines():
        pass


def read_and_decode(recording: Recording) -> None:
    """Lines and values."""
    for line in recording.lines():
        decode(line.topic, line.key, line.raw, line.arrival_us)


def run_all(recording: Recording) -> None:
    """The whole pipeline."""
    LocalReplay(Parameters()).run(recording)


def best(work: Callable[[Recording], None], path: Path, rounds: int) -> tuple[float, float]:
    """Least processor and wall seconds."""
    times = []
    for _ in range(rounds):
        gc.collect()
        with Recording(path) as recording:
            wall, processor = time.perf_counter(), time.process_time()
            work(recording)
            times.append((time.process_time() - processor, time.perf_counter() - wall))
    return min(each[0] for each in times), min(each[1] for each in times)


def cold(path: Path) -> float:
    """Wall seconds of the command in a process of its own."""
    began = time.perf_counter()
    command = [sys.executable, "-c", PROGRAM, "replay", str(path), "--json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    """Prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recording", nargs="?", type=Path, default=INCIDENT)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cold", action="store_true")
    given = parser.parse_args()
    with Recording(given.recording) as recording:
        span_s = (recording.manifest.end_us - recording.manifest.start_us) / 1e6
        lines = recording.count
    result: dict[str, object] = {"recording": given.recording.name, "messages": lines, "seconds": round(span_s, 1)}
    for name, work in (("reading", read), ("decoding", read_and_decode), ("all", run_all)):
        processor_s, wall_s = best(work, given.recording, given.rounds)
        result[name] = {
            "processor_s": round(processor_s, 2),
            "wall_s": round(wall_s, 2),
            "times_real_time": round(span_s / wall_s, 1),
            "us_per_message": round(1e6 * processor_s / lines, 1),
        }
    if given.cold:
        seconds = min(cold(given.recording) for _ in range(given.rounds))
        result["command"] = {"wall_s": round(seconds, 2), "times_real_time": round(span_s / seconds, 1)}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
