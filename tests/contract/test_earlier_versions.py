"""Old and new parts side by side: today's code reads what earlier versions wrote, an earlier one what is written today.

``earlier/COMMIT.ndjson`` is what the version of that commit wrote (``earlier/write.py``), ``schemas-COMMIT.zip`` beside
it is its package ``schemas``, which reads here in a process of its own. What a later version will write nobody knows:
the rules for it are tried with fields and versions that nobody has thought of.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from orjson import Fragment

from schemas.codec import decode, encode
from schemas.topics import topic, topics
from skeletonhunter.recordings.reader import Recording
from skeletonhunter.recordings.writer import RecordingWriter, about
from skeletonhunter.reference.examples import examples
from skeletonhunter.replaying.local import LocalReplay
from skeletonhunter.replaying.outcome import ReplayOutcome
from skeletonhunter.settings import Settings

EARLIER = Path(__file__).parent / "earlier"
ARCHIVES = sorted(EARLIER.glob("*.ndjson"))
OLD_READERS = sorted(EARLIER.glob("schemas-*.zip"))
INCIDENT = Path(__file__).parents[2] / "examples" / "incidents" / "stale-flow-offload"
BEGINNING_US = 40_000_000
Line = dict[str, Any]


def lines(path: Path) -> list[Line]:
    return [json.loads(text) for text in path.read_text().splitlines()]


def todays() -> list[Line]:
    """The valid examples of every topic."""
    return [
        {"topic": name, "key": each.key, "arrival_us": each.arrival_us, "value": json.loads(bytes(each.value))}
        for name in topics()
        for each in examples()[name].values()
        if each.is_valid
    ]


@cache
def answers(archive: Path, text: str) -> tuple[dict[str, Any], ...]:
    """What the earlier version makes of lines."""
    command = [sys.executable, "-P", str(EARLIER / "read.py")]
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(archive)}, cwd="/"
    )
    return tuple(json.loads(line) for line in done.stdout.splitlines())


def as_text(found: list[Line]) -> str:
    return "".join(json.dumps(line) + "\n" for line in found)


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: path.stem)
def test_what_an_earlier_version_wrote_is_read_and_loses_nothing(path: Path) -> None:
    for line in lines(path):
        value = decode(line["topic"], line["key"], json.dumps(line["value"]).encode(), line["arrival_us"])
        again = json.loads(encode(line["topic"], value))
        lost = {name: given for name, given in line["value"].items() if name != "v" and not _within(given, again[name])}
        assert lost == {}, line["topic"]
        assert again["v"] == topic(line["topic"]).newest


def _within(old: Any, new: Any) -> bool:
    """Whether all of an old value is in the new one, which may have more fields."""
    if isinstance(old, dict) and isinstance(new, dict):
        return all(name in new and _within(item, new[name]) for name, item in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_within, old, new))
    return bool(old == new)


def test_the_archives_hold_every_topic_that_there_was_and_an_old_version() -> None:
    by_version = {path.stem: {line["topic"] for line in lines(path)} for path in ARCHIVES}
    assert {name: len(found) for name, found in by_version.items()} == {"226dc05": 24, "4e3a6ec": 18}
    assert all(found <= set(topics()) for found in by_version.values()), "no topic was taken away"
    assert {line["value"]["v"] for path in ARCHIVES for line in lines(path)} == {1, 2}


@pytest.mark.parametrize("archive", OLD_READERS, ids=lambda path: path.stem)
def test_an_earlier_version_reads_what_is_written_today(archive: Path) -> None:
    found = todays()
    reasons: dict[str, set[str]] = {}
    for line, answer in zip(found, answers(archive, as_text(found)), strict=True):
        if answer["reason"]:
            reasons.setdefault(line["topic"], set()).add(answer["reason"])
        else:
            assert answer["value"].get("t_us") == line["value"].get("t_us")
    new = set(topics()) - {line["topic"] for line in lines(ARCHIVES[0])}
    assert ARCHIVES[0].stem in archive.stem
    assert reasons == {name: {"unknown_topic"} for name in new}


NAMES_ARE_DATA = {"labels", "values", "evidence", "gids", "groups", "offsets", "regular"}
"""Fields whose value has names that are data, not fields: an unknown one is kept."""


def grown(value: Any) -> Any:
    """A message of a later version: everything has a field more."""
    if isinstance(value, list):
        return [grown(item) for item in value]
    if not isinstance(value, dict):
        return value
    own = {name: item if name in NAMES_ARE_DATA else grown(item) for name, item in value.items()}
    return {**own, "of_tomorrow": {"a": [1, None]}}


@pytest.mark.parametrize("name", sorted(topics()))
def test_fields_of_tomorrow_are_ignored(name: str) -> None:
    example = examples()[name]["typical.valid"]
    today = json.loads(bytes(example.value))
    assert grown(today) != today
    read = [decode(name, example.key, json.dumps(w).encode(), example.arrival_us) for w in (today, grown(today))]
    assert read[0] == read[1]


@pytest.mark.parametrize("archive", OLD_READERS, ids=lambda path: path.stem)
def test_to_an_earlier_version_a_later_one_is_one_clear_dead_letter_each(archive: Path) -> None:
    known = {line["topic"] for line in lines(ARCHIVES[0])}
    found = [line for line in todays() if line["topic"] in known]
    later = [{**line, "value": {**line["value"], "v": 99}} for line in found]
    got = answers(archive, as_text(later))
    assert {answer["reason"] for answer in got} == {"unknown_version"}
    assert all("v is 99, expected one of 1" in answer["detail"] for answer in got)


def test_messages_of_a_later_version_are_dead_letters_and_disturb_nothing(tmp_path: Path) -> None:
    """Every twentieth message comes a second time as a later version would write it."""
    with Recording(INCIDENT) as recording:
        begin_us = recording.manifest.start_us
        kept = [line for line in recording.lines() if line.arrival_us <= begin_us + BEGINNING_US]
    for name, every in (("alone", 0), ("mixed", 20)):
        with RecordingWriter(tmp_path / name, level=1) as writer:
            for number, line in enumerate(kept):
                writer.write(line.topic, line.key or "", line.arrival_us, Fragment(line.raw))
                if every and number % every == 0:
                    writer.write(line.topic, line.key or "", line.arrival_us, Fragment(later(line.raw)))
            span_us = (begin_us, begin_us + BEGINNING_US)
            writer.finish(about(name, "For tests.", span_us, "test", "Apache-2.0"))
    alone, mixed = replayed(tmp_path / "alone"), replayed(tmp_path / "mixed")
    sent = len(kept[::20])
    assert sent > 100 and alone.refused == {}
    assert mixed.refused == {"unknown_version": sent}
    assert (mixed.emitted, mixed.admissions) == (alone.emitted, alone.admissions)
    assert all(re.search(": v is 7[12], expected one of 1", refusal.detail) for refusal in mixed.refusals)


def later(raw: bytes) -> bytes:
    """A message as version 71 would write it."""
    return raw.replace(b'"v":', b'"v":7', 1)


def replayed(path: Path) -> ReplayOutcome:
    with Recording(path) as recording:
        return LocalReplay(Settings().parameters).run(recording)
