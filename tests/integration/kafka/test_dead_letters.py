"""Records that can't be used land in their dead-letter topics, each with its reason, and disturb nothing else.

The real stages run, as the command ``work``. Good and bad records are mixed; the same good ones alone must give the
same output, and the local engine must refuse the same records for the same reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from skeletonhunter.recordings.manifest import Manifest
from skeletonhunter.recordings.reader import Line, Recording
from skeletonhunter.recordings.writer import about
from skeletonhunter.reference.examples import examples
from skeletonhunter.replaying.kafka import Cast, replay_with
from skeletonhunter.replaying.kafka_services import skeletonhunter
from skeletonhunter.replaying.local import LocalReplay
from skeletonhunter.replaying.outcome import ReplayOutcome, incident_lines
from skeletonhunter.replaying.request import ReplayRequest
from skeletonhunter.settings import Settings
from streams.stages import STAGES
from streams.topology import pipeline
from tests.contract.malformed import ARRIVAL_US, MALFORMED
from tests.kafka_bench import kafka_settings

pytestmark = pytest.mark.kafka

READ = pipeline(tuple(STAGES), 1).raw


@dataclass
class Listed:
    """A recording that is a list of lines, which a file could not hold: some are no JSON."""

    listed: list[Line]
    skipped: tuple[str, ...] = ()

    @property
    def files(self) -> list[str]:
        return sorted({line.topic for line in self.listed})

    @property
    def manifest(self) -> Manifest:
        return about("listed", "", (ARRIVAL_US - 400_000_000, ARRIVAL_US), "", "")

    def lines(self) -> Iterator[Line]:
        yield from self.listed

    def place(self, topic: str, number: int | None = None) -> str:
        return f"{topic}:{number}"


def recording(with_bad_ones: bool) -> Recording:
    """A valid example of every topic that a stage reads; after them, if asked for, every malformed record."""
    lines: list[Line] = []

    def add(topic: str, key: str | None, raw: bytes) -> None:
        number = 1 + sum(line.topic == topic for line in lines)
        lines.append(Line(ARRIVAL_US, topic, number, key, ARRIVAL_US, raw))

    for topic, found in examples().items():
        example = found.get("typical.valid")
        if example is not None and topic in READ:
            add(topic, example.key, bytes(example.value))
    for bad in MALFORMED if with_bad_ones else ():
        add(bad.topic, bad.key, bad.raw)
    return cast(Recording, Listed(lines))


def replayed(broker: str, folder: Path, lines: Recording) -> ReplayOutcome:
    """What comes out of the real stages."""
    settings = Settings(kafka=kafka_settings(broker, partitions=2))
    return replay_with(Cast((skeletonhunter("work"),)), ReplayRequest(lines, settings, None, broker=broker))


def reasons(outcome: ReplayOutcome) -> Counter[tuple[str, str]]:
    """Topic and reason of every refusal."""
    return Counter((refusal.place.partition(":")[0], refusal.reason) for refusal in outcome.refusals)


def everything(outcome: ReplayOutcome) -> Any:
    """What came out, without what was refused."""
    return incident_lines(outcome.updates), outcome.emitted


def test_each_bad_record_lands_with_its_reason_and_nothing_else_is_disturbed(broker: str, tmp_path: Path) -> None:
    mixed = replayed(broker, tmp_path, recording(with_bad_ones=True))
    assert reasons(mixed) == Counter((bad.topic, bad.reason) for bad in MALFORMED)
    for bad in MALFORMED:
        words = [refusal.detail for refusal in mixed.refusals if refusal.place.startswith(f"{bad.topic}:")]
        assert any(bad.words in detail for detail in words), bad.name
    clean = replayed(broker, tmp_path, recording(with_bad_ones=False))
    assert not clean.refused
    assert everything(mixed) == everything(clean)
    local = LocalReplay(Settings().parameters).run(recording(with_bad_ones=True))
    assert {(r.place, r.reason, r.detail) for r in mixed.refusals} == {
        (r.place, r.reason, r.detail) for r in local.refusals
    }
