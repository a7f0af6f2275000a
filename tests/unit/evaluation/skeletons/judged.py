"""A recording of a simulated job with the truth about its skeleton, and one of a job that is none."""

from __future__ import annotations

import json
from pathlib import Path

from tests.simulated_jobs import Shape, name_of, write_recording

SHAPE = Shape(tp=2, pp=2, dp=3)
SECONDS = 80


def true_pairs() -> list[list[str]]:
    return sorted([*sorted((name_of(SHAPE, a), name_of(SHAPE, b))), "dp"] for a, b in SHAPE.edges())


def write_judged(path: Path, truth: dict[str, object] | None = None) -> Path:
    """The recording; by default its truth is right."""
    write_recording(path, SHAPE, SECONDS)
    right: dict[str, object] = {"expect": "skeleton", "edges": true_pairs(), "groups": {}, "jobs": {}}
    (path / "truth.json").write_text(json.dumps({**right, **(truth or {})}))
    return path
