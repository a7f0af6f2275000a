"""What does the skeleton gain when all hosts sample at the same instants, and from finer bursts? Edges and rails told.

    python benchmarks/sampling_phases.py [--bursts-ms 50 20 10]

The transfers of the bundled ``healthy-job`` are made into counters of its cards, which are sampled anew in several
ways; each gives a recording in which the job's skeleton is inferred:

- ``counters``: "own" = at the recording's own poll times, "together" = within 0.2 ms of each whole second;
- ``bursts``: none, or found by the agent's detector on samples every so many milliseconds, "own" = each endpoint at a
  phase of its own, "together" = at the same multiples.

The right number of edges is that of the recording's own bursts, which are exact. About half a minute for each way.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import zstandard

from collectors.rnic.bursts import BurstDetector, Found, Sensing

RECORDING = Path(__file__).parents[1] / "examples/incidents/healthy-job"
PROGRAM = "from skeletonhunter.cli import main; main()"
BACKGROUND_BYTES_S = 400_000.0
LATE_US = 150.0
"""Mean lateness of a wake-up."""

Rows = dict[tuple[str, str], list[tuple[int, int, int]]]
"""Endpoint and direction to transfers: start, end (us), bytes."""
Curve = tuple[np.ndarray, np.ndarray]


def lines_of(topic: str) -> Iterator[dict]:
    """Lines of the bundled recording."""
    with (RECORDING / f"{topic}.ndjson.zst").open("rb") as file:
        reader = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file))
        yield from (json.loads(line) for line in reader)


def write(folder: Path, topic: str, lines: list[dict] | None) -> None:
    """Puts other lines in place of a topic; None takes it away."""
    path = folder / f"{topic}.ndjson.zst"
    if lines is None:
        path.unlink()
        about = json.loads((folder / "recording.json").read_text())
        del about["topics"][topic]
        (folder / "recording.json").write_text(json.dumps(about))
        return
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    path.write_bytes(zstandard.ZstdCompressor().compress(text.encode()))


def curves_of(rows: Rows) -> dict[tuple[str, str], Curve]:
    """Cumulative bytes of each endpoint and direction, linear between the instants given."""
    found = {}
    for key, transfers in rows.items():
        changes = [(start, size / max(end - start, 1)) for start, end, size in transfers]
        changes += [(max(end, start + 1), -size / max(end - start, 1)) for start, end, size in transfers]
        at, change = np.array(sorted(changes)).T
        total = np.concatenate([[0.0], np.cumsum(np.cumsum(change)[:-1] * np.diff(at))])
        found[key] = (at, total)
    return found


class Job:
    """The transfers of the bundled job, and counters made from them."""

    def __init__(self) -> None:
        self.messages = list(lines_of("rnic-bursts"))
        rows: Rows = defaultdict(list)
        for line in self.messages:
            for burst in line["value"]["bursts"]:
                key = (line["value"]["endpoint"], burst["direction"])
                rows[key].append((burst["start_us"], burst["end_us"], burst["bytes"]))
        self.curves = curves_of(rows)
        self.endpoints = sorted({name for name, _ in rows})
        self.start_us = min(row[0] for each in rows.values() for row in each) - 1_000_000
        self.end_us = max(row[1] for each in rows.values() for row in each) + 1_000_000

    def counter(self, endpoint: str, way: str, at_us: np.ndarray) -> list[int]:
        """What the counter shows at each instant."""
        moved = np.interp(at_us, *self.curves[endpoint, way]) + BACKGROUND_BYTES_S * (at_us - self.start_us) / 1e6
        shown: list[int] = (moved + 1e9).astype(np.int64).tolist()
        return shown

    def found(self, sample_ms: int, together: bool, rng: np.random.Generator) -> dict[str, list[Found]]:
        """Bursts that the agents find."""
        step_us = sample_ms * 1000
        first_us = -(-self.start_us // step_us) * step_us
        found = {}
        for endpoint in self.endpoints:
            phase_us = 0 if together else int(rng.integers(step_us))
            at_us = np.arange(first_us + phase_us, self.end_us, step_us)
            at_us = at_us + rng.exponential(LATE_US, len(at_us)).astype(np.int64)
            detector = BurstDetector(Sensing(line_bytes_s=50e9))
            columns = (self.counter(endpoint, way, at_us) for way in ("tx", "rx"))
            for instant, sent, received in zip(at_us.tolist(), *columns, strict=True):
                detector.sample(instant, instant - self.start_us, sent, received)
            found[endpoint] = detector.take()
        return found

    def burst_lines(self, found: dict[str, list[Found]]) -> list[dict]:
        """The messages with the bursts that were found in place of the exact ones."""
        lines = []
        for line in self.messages:
            value = line["value"]
            end_us = value["t_us"]
            mine = [one._asdict() for one in found[value["endpoint"]] if end_us - 10_000_000 < one.end_us <= end_us]
            lines.append({**line, "value": {**value, "bursts": mine}})
        return lines

    def counter_lines(self, together: bool, rng: np.random.Generator) -> list[dict]:
        """The messages with counters made anew, without the recording's holes and resets."""
        lines = list(lines_of("rnic-counters"))
        for line in lines:
            value = line["value"]
            polled = np.array(value["rnics"][0]["t_us"])
            if together:
                polled = np.round(polled / 1e6).astype(np.int64) * 1_000_000
                polled = polled + rng.exponential(LATE_US, len(polled)).astype(np.int64)
            for rnic in value["rnics"]:
                rnic["t_us"] = polled.tolist()
                for way in ("tx", "rx"):
                    rnic[f"{way}_bytes"] = self.counter(f"{value['container']}/{rnic['rnic']}", way, polled)
        return lines


def infer(recording: Path) -> dict:
    """The last skeleton of a recording."""
    command = [sys.executable, "-c", PROGRAM, "infer", str(recording), "--json"]
    found: dict = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


def main() -> None:
    """Prints one JSON object per way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bursts-ms", type=int, nargs="*", default=[50, 20, 10])
    options = parser.parse_args()
    job, exact = Job(), len(infer(RECORDING)["edges"])
    ways: list[tuple[bool, int | None, bool]] = [(False, None, False), (True, None, False)]
    ways += [(False, sample_ms, together) for sample_ms in options.bursts_ms for together in (False, True)]
    for counters_together, sample_ms, bursts_together in ways:
        rng = np.random.default_rng(3)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "recording"
            shutil.copytree(RECORDING, folder)
            write(folder, "rnic-counters", job.counter_lines(counters_together, rng))
            found = None if sample_ms is None else job.found(sample_ms, bursts_together, rng)
            write(folder, "rnic-bursts", None if found is None else job.burst_lines(found))
            skeleton = infer(folder)
        words = {True: "together", False: "own"}
        print(
            json.dumps(
                {
                    "counters": words[counters_together],
                    "bursts": None if sample_ms is None else f"{sample_ms} ms, {words[bursts_together]}",
                    "edges": len(skeleton["edges"]),
                    "right": exact,
                    "reason": skeleton["reason"],
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
