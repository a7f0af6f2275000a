"""What an earlier version writes: its examples of every topic, and what its stages say of its bundled incident.

Examples of versions that were old already then are kept as they are. A version without stages gives its examples only.

To be run by that version, unpacked in a folder of its own (``git archive COMMIT | tar x -C FOLDER``); writes one line
{"topic", "key", "arrival_us", "value"} a message to standard output, the values as bytes of that version's codec:

    cd FOLDER && PYTHONPATH=. python .../tests/contract/earlier/write.py > .../tests/contract/earlier/COMMIT.ndjson
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from schemas.codec import decode, encode
from schemas.topics import topics
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.reference.examples import examples
from skeletonhunter.replaying.local import LocalReplay
from skeletonhunter.settings import Settings

INCIDENT = Path("examples/incidents/stale-flow-offload")
OF_EACH, LONGEST = 2, 4000


def lines() -> list[tuple[str, str, int, bytes]]:
    """All of them."""
    found: list[tuple[str, str, int, bytes]] = []
    for topic in sorted(topics()):
        for example in examples()[topic].values():
            if example.is_valid and example.key is not None:
                wire = json.loads(bytes(example.value))
                if wire["v"] != topics()[topic].newest:
                    found.append((topic, example.key, example.arrival_us, bytes(example.value)))
                value = decode(topic, example.key, bytes(example.value), example.arrival_us)
                found.append((topic, example.key, example.arrival_us, encode(topic, value)))
    return found + (said_by_stages() if Path("skeleton/engine.py").exists() else [])


def said_by_stages() -> list[tuple[str, str, int, bytes]]:
    """The first short messages of each topic in a replay of the bundled incident, read or said."""
    said: dict[str, list[tuple[str, str, int, bytes]]] = {}

    def observe(topic: str, key: str, arrival_us: int, value: Any) -> None:
        kept = said.setdefault(topic, [])
        if len(kept) < OF_EACH and len(raw := encode(topic, value)) < LONGEST:
            kept.append((topic, key, arrival_us, raw))

    with Recording(INCIDENT) as recording:
        LocalReplay(Settings().parameters, observers=(observe,)).run(recording)
    return [line for topic in sorted(said) for line in said[topic]]


if __name__ == "__main__":
    for topic, key, arrival_us, raw in lines():
        line = {"topic": topic, "key": key, "arrival_us": arrival_us, "value": json.loads(raw)}
        sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
