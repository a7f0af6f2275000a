"""Recordings for the toy stages: several jobs on two fabrics, with devices that warn; in any order within the bound."""

from __future__ import annotations

import random
from pathlib import Path

from orjson import Fragment

from schemas.codec import encode, key_of
from schemas.envelope import Message
from skeletonhunter.recordings.writer import RecordingWriter, about, write_lines
from tests.toy_pipeline import fabric_map, job_progress
from tests.toys import at, device_event

JOBS = {"job-a": "f1", "job-b": "f1", "job-c": "f2", "job-d": "f1", "job-e": "f2"}


def toy_messages(seconds: int) -> list[tuple[str, Message]]:
    """A step per second and job, a warning every third second and fabric, a map every seventh."""
    messages: list[tuple[str, Message]] = []
    for second in range(seconds):
        for number, (job, fabric) in enumerate(JOBS.items()):
            offset_s = second + number / 7
            messages.append(("job-progress", job_progress(offset_s, second, job, fabric, step=second)))
        if second % 7 == 0:
            messages += [("fabric-map", fabric_map(second + 0.4, second, fabric)) for fabric in ("f1", "f2")]
        if second % 3 == 0:
            messages += [
                ("device-events", device_event(second + 0.5, second, agent=f"{fabric}-host", fabric=fabric))
                for fabric in ("f1", "f2")
            ]
    return messages


def write_toy_recording(path: Path, seconds: int = 40, shuffled_by: int | None = None) -> Path:
    """A recording of ``toy_messages``; with a seed they arrive in another order, each up to 4.9 s late."""
    delays = random.Random(shuffled_by)
    lines = []
    for topic, message in toy_messages(seconds):
        delay_s = 0.01 if shuffled_by is None else delays.uniform(0.0, 4.9)
        arrival_us = message.t_us + round(delay_s * 1e6)
        lines.append((topic, key_of(topic, message), arrival_us, Fragment(encode(topic, message))))
    with RecordingWriter(path, compress=False) as writer:
        write_lines(writer, lines)
        writer.finish(about("toy", "For tests.", (at(0), at(seconds)), "tests/toy_recordings.py", "Apache-2.0"))
    return path
