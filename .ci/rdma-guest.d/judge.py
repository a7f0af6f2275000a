"""Makes one recording of what both hosts of the pair wrote, replays it, and checks who is blamed.

Usage: judge.py SHARE, with the project's Python. The recording is left in SHARE/recording.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SHARE = Path(sys.argv[1])
DROPPING = "vswitch:h1"


def main() -> int:
    """0: the virtual switch with the rule is blamed, and its table shows the drop."""
    records = [json.loads(line) for n in (1, 2) for line in (SHARE / f"host{n}.ndjson").read_text().splitlines()]
    records.sort(key=lambda record: record["arrival_us"])
    recording = SHARE / "recording"
    write_recording(recording, records)
    drops = [
        flow
        for record in records
        if record["topic"] == "flow-tables" and record["value"]["host"] == "h1"
        for flow in record["value"]["flows"]
        if flow["next"] is None and flow["src"] == "c1/rnic0"
    ]
    say(f"{len(drops)} rows of h1 in flow-tables drop packets of c1/rnic0: {drops[:1]}")
    incidents = SHARE / "incidents.ndjson"
    program = Path(sys.executable).with_name("skeletonhunter")
    subprocess.run([program, "replay", recording, "-o", incidents], check=True)
    told = [json.loads(line) for line in incidents.read_text().splitlines()]
    for incident in told:
        say(f"{incident['kind']} {incident['component']} {incident['confidence']} {incident['symptom']}")
    blamed = {incident["component"] for incident in told if incident["kind"] == "network_fault"}
    return 0 if drops and blamed == {DROPPING} else 1


def say(text: str) -> None:
    """A line of the output."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def write_recording(folder: Path, records: list[dict]) -> None:
    """As the page on recordings says: a manifest, and one file for each topic."""
    folder.mkdir(exist_ok=True)
    topics: dict[str, list[dict]] = {}
    for record in records:
        topics.setdefault(record["topic"], []).append(record)
    for topic, lines in topics.items():
        text = "".join(json.dumps({key: line[key] for key in ("key", "arrival_us", "value")}) + "\n" for line in lines)
        (folder / f"{topic}.ndjson").write_text(text)
    manifest = {
        "format": "skeletonhunter-recording",
        "version": 1,
        "name": "ovs-pair",
        "description": "Two guests joined by Open vSwitch; a rule of the first drops its RDMA packets.",
        "start_us": records[0]["arrival_us"],
        "end_us": records[-1]["arrival_us"],
        "topics": {topic: len(lines) for topic, lines in topics.items()},
        "origin": "RDMA guest of the checks",
        "licence": "Apache-2.0",
    }
    (folder / "recording.json").write_text(json.dumps(manifest))


sys.exit(main())
