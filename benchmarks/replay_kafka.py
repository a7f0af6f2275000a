"""How fast is a replay over Kafka? Real time over replay time, from the command to its end.

    python benchmarks/replay_kafka.py [RECORDING] [--kafka HOST:PORT] [--rounds 2] [--no-sinks]

The command ``replay --engine kafka`` runs as a user runs it: broker (unless one is named), worker, ClickHouse sink and
publisher start, work and stop. Processor seconds are of all processes together: on two cores that have nothing else to
do the wall time can't be below half of them. Best of the rounds.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import msgspec

from skeletonhunter.recordings.reader import Recording
from skeletonhunter.replaying.kafka import replay_over_kafka, replay_with, usual_cast
from skeletonhunter.replaying.request import ReplayRequest
from skeletonhunter.settings import ClickHouseSettings, Settings, WorkerSettings

INCIDENT = Path(__file__).parents[1] / "examples/incidents/stale-flow-offload"


def processor_s() -> float:
    """Processor seconds of this process and of all its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def replay_once(options: argparse.Namespace, folder: Path) -> dict[str, float]:
    """One replay."""
    settings = Settings(
        worker=WorkerSettings(data_dir=str(folder / "tables")),
        clickhouse=ClickHouseSettings(dsn=f"chdb://{folder}/clickhouse"),
    )
    kafka = msgspec.structs.replace(settings.kafka, partitions=2)
    settings = msgspec.structs.replace(settings, kafka=kafka)
    with Recording(options.recording) as recording:
        request = ReplayRequest(recording, settings, broker=options.kafka)
        wall, processor = time.perf_counter(), processor_s()
        if options.no_sinks:
            replay_with(replace(usual_cast(settings), sinks=()), request)
        else:
            replay_over_kafka(request)
        wall_s = time.perf_counter() - wall
        span_s = (recording.manifest.end_us - recording.manifest.start_us) / 1e6
    return {
        "wall_s": round(wall_s, 1),
        "processor_s": round(processor_s() - processor, 1),
        "times_real_time": round(span_s / wall_s, 1),
        "messages_per_s": round(recording.count / wall_s),
    }


def main() -> None:
    """Measures and prints JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", nargs="?", type=Path, default=INCIDENT)
    parser.add_argument("--kafka")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--no-sinks", action="store_true")
    options = parser.parse_args()
    rounds = []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            rounds.append(replay_once(options, Path(folder)))
    print(json.dumps({"best": min(rounds, key=lambda each: each["wall_s"]), "rounds": rounds}, indent=2))


if __name__ == "__main__":
    main()
